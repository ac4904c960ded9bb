# SPDX-License-Identifier: Apache-2.0
"""What lies in examples/: compiled by the build, run here, each in a scratch project as an ordinary user."""
import json
import os
import re
import subprocess

from harness import check, contains, equal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = f"{ROOT}/examples"


def copied(box, source, name, mode=0o755):
    """The clone may lie where the ordinary user cannot go.  A process of its own copies: a descriptor of ours that is
    open for writing could be inherited by another test's command, and execve(2) then fails with ETXTBSY."""
    path = os.path.join(box.dir, name)
    subprocess.run(["install", "-m", f"{mode:o}", source, path], check=True)
    return box.own(path)


def agent_loop(box, build):
    box.write("home/.ssh/id_ed25519", "a private key\n", 0o600)
    program = copied(box, f"{build}/examples/agent_loop", "agent_loop")
    script = copied(box, f"{PLACE}/agent_loop.script", "script", 0o644)
    done = box.execute([program, box.ws, script]).exited(0)
    results = [json.loads(line) for line in done.out.splitlines()]
    equal([result["reason"] for result in results], ["exit"] * 4, "reasons")
    equal([result["exit_code"] for result in results], [0, 0, 1, 3], "exit codes")
    equal(results[1]["stdout"], "main.c\n", "output of the second command")
    check("a private key" not in done.out, "a command read the key")
    check(box.exists("ws/main.c"), "the workspace has no file of the first command")


def agent_loop_failures(box, build):
    program = copied(box, f"{build}/examples/agent_loop", "agent_loop")
    refused = box.execute([program, "/", "-"], stdin="true\n").exited(0).json
    equal(refused["exit_code"], None, "a workspace that is refused")
    check(refused["reason"] in ("refused", "setup"), f"reason {refused['reason']}")
    box.execute([program, box.ws, f"{box.dir}/nowhere"]).exited(1)
    box.execute([program]).exited(2)


def hook(box, **more):
    path = copied(box, f"{PLACE}/hook.sh", "hook.sh")
    return box.execute([path], **more)


def hook_wraps(box):
    said = hook(box, stdin=json.dumps({"id": 7, "tool_input": {"command": "echo 'it is' \"$PWD\"; cat ~/key"}})).exited(0).json
    box.write("home/key", "a private key\n")
    equal(said["id"], 7, "the other field")
    done = box.sh(said["tool_input"]["command"])
    equal(done.out, f"it is {box.ws}\n", "output of the wrapped command")
    equal(done.status, 1, "status of the wrapped command")
    box.env["CORRAL_OPTIONS"] = f"--read {box.home}/key"
    said = hook(box, stdin='{"tool_input":{"command":"cat ~/key"}}').exited(0).json
    equal(box.sh(said["tool_input"]["command"]).out, "a private key\n", "with an option")


def hook_refuses(box):
    for text in ("", "{}", "no JSON", '{"tool_input":{"command":7}}'):
        equal(hook(box, stdin=text).exited(2).out, "", f"hook on {text!r}")
    box.env["CORRAL"] = f"{box.dir}/nowhere"
    contains(hook(box, stdin='{"tool_input":{"command":"true"}}').exited(2).err, "not installed", "stderr")


def policies(box):
    listed = re.search(r"start from a profile:\n(.*?)\n +--", box.corral_("help", "run").exited(0).out, re.DOTALL)
    profiles = re.findall(r"^ +([a-z-]+)  ", listed.group(1), re.MULTILINE)
    check(len(profiles) > 3, f"found only {profiles}")
    equal(sorted(os.listdir(f"{PLACE}/policy")), sorted(f"{name}.toml" for name in profiles), "a policy for each profile")
    for name in profiles:
        file = copied(box, f"{PLACE}/policy/{name}.toml", f"{name}.toml", 0o644)
        box.corral_("policy", "check", file).exited(0)
        shown = json.loads(box.corral_("policy", "show", "--json", "--policy", file).exited(0).out)
        contains(json.dumps(shown), f'"{name}"', "the profile in `policy show`")
        box.run("--policy", file, "--", "ls").exited(0)  # listed where commands are


def register(suite, build):
    test = suite.test
    test("examples: the agent loop runs each command inside", root=True)(lambda box: agent_loop(box, build))
    test("examples: the agent loop reports what it cannot run")(lambda box: agent_loop_failures(box, build))
    test("examples: the hook wraps a command, whatever it holds")(hook_wraps)
    test("examples: the hook refuses what it does not understand")(hook_refuses)
    test("examples: a policy file for every profile, and each can be used")(policies)
