# SPDX-License-Identifier: Apache-2.0
"""The JSON object of a run."""
import json
import os
import re

from harness import LONG, PATIENCE, Skip, check, contains, equal, in_time, wait_until

GUARANTEES = ["fs.write", "fs.read", "fs.deny", "net", "net.names", "ipc", "pid", "env", "limits.time",
              "limits.output", "limits.memory", "limits.processes", "limits.cpu", "limits.disk", "lifetime",
              "exec", "privileges", "leaks"]

NUMBER, TEXT, NULL = int, str, type(None)
KEYS = {
    "version": NUMBER, "reason": TEXT, "exit_code": (NUMBER, NULL), "signal": (NUMBER, NULL),
    "duration_ms": NUMBER, "stdout": TEXT, "stderr": TEXT, "truncated": dict, "level": (TEXT, NULL),
    "id": (TEXT, NULL), "started": (TEXT, NULL), "workspace": (TEXT, NULL), "mode": (TEXT, NULL), "net": (TEXT, NULL),
    "agent": (TEXT, NULL), "session": (TEXT, NULL), "engine": (TEXT, NULL), "depth": (NUMBER, NULL),
    "policy_sha256": (TEXT, NULL),
    "guarantees": list, "notes": list, "hint": (dict, NULL), "denials": list, "grants": (list, NULL),
    "leaks": list, "leaks_more": NUMBER, "network": list, "network_more": NUMBER, "network_failed": (TEXT, NULL), "usage": dict,
    "timings": (list, NULL),
}


def shape(result):
    """Every key of the contract with its type, whatever happened."""
    for key, kind in KEYS.items():
        check(key in result, f"{key} is missing")
        check(isinstance(result[key], kind) and not isinstance(result[key], bool), f"{key} is {result[key]!r}")
    equal(result["version"], 1, "version")
    equal(sorted(result["truncated"]), ["stderr", "stdout"], "truncated")
    for key in ("cpu_ms", "max_rss_kb", "processes_peak"):
        check(key in result["usage"], f"usage.{key} is missing")
    for guarantee in result["guarantees"]:
        check(guarantee["state"] in ("enforced", "weaker", "absent"), f"{guarantee}")
        check(isinstance(guarantee["by"], list), f"{guarantee}")
        check(guarantee["state"] == "enforced" or guarantee.get("why"), f"no reason: {guarantee}")
    return result


def steps_of(result):
    """The names of a run's steps, each with a time that it can have taken."""
    steps = result["timings"]
    for step in steps:
        equal(sorted(step), ["step", "us"], "keys of a step")
        check(isinstance(step["us"], int) and 0 <= step["us"] < PATIENCE * 1000000, f"{step}")
    return [step["step"] for step in steps]


def in_order(steps, *names):
    places = [steps.index(name) if name in steps else -1 for name in names]
    check(-1 not in places and places == sorted(places), f"{names} in the order of {steps}")


def register(suite):
    test = suite.test

    @test("--timings: the steps of a run in their order, at both levels, with the command's own time", root=True)
    def _(box):
        common = ("start", "options", "probe", "policy", "plan", "check", "records", "streams", "prepare", "clone", "signals")
        ends = ("server", "fork", "start seccomp", "execve", "command", "end", "report", "finish", "result")
        for level, own in (("full", ("enter user", "enter mounts", "enter network", "enter pivot", "enter landlock")),
                           ("standard", ("wardens", "enter scratch", "enter landlock"))):
            result = shape(box.json("--level", level, "--timings", "sleep", "0.2"))
            in_order(steps_of(result), *common, *own, *ends)
            command = sum(step["us"] for step in result["timings"] if step["step"] == "command")
            # The stamp of execve is late where pid 1 waits for a processor after it.
            check(command >= 100000, f"{level}: the command took {command} us")
            check(sum(step["us"] for step in result["timings"]) / 1000 >= result["duration_ms"] - 2, f"the sum of {result}")

    @test("--timings: a table on stderr, and none in a run without the option", root=True)
    def _(box):
        done = box.run("--timings", "-c", "echo out; exit 3").exited(3)
        equal(done.out, "out\n", "stdout")
        lines = [line for line in done.err.splitlines() if re.fullmatch(r"corral: +\d+ us  [a-z ]+", line)]
        in_order([line.split("us  ")[1] for line in lines], "start", "plan", "enter mounts", "execve", "command", "result", "total")
        numbers = [int(line.split()[1]) for line in lines]
        equal(sum(numbers[:-1]), numbers[-1], "total")
        equal([box.run("true").exited(0).err, box.json("true")["timings"]], ["", None], "without it")
        equal(shape(box.json("--timings", "/nowhere/command"))["timings"], None, "of a run that failed")

    @test("the result of a command that exits has every key and type", root=True)
    def _(box):
        result = shape(box.json("-c", "echo out; echo err >&2; exit 3"))
        equal([result[k] for k in ("reason", "exit_code", "signal", "stdout", "stderr")],
              ["exit", 3, None, "out\n", "err\n"], "ending")
        equal(result["truncated"], {"stdout": 0, "stderr": 0}, "truncated")
        equal([result["engine"], result["depth"]], ["namespaces", 1], "engine, depth")
        check(result["level"] in ("full", "standard"), f"level {result['level']}")
        check(re.fullmatch("[0-9a-f]{64}", result["policy_sha256"]), f"sha256 {result['policy_sha256']}")
        equal([g["name"] for g in result["guarantees"]], GUARANTEES, "guarantees")
        check(0 <= result["duration_ms"] < PATIENCE * 1000, f"duration {result['duration_ms']}")
        check("error" not in result, "an error for a run")

    @test("the files, the network and the processes are enforced by default", root=True)
    def _(box):
        states = {g["name"]: g for g in box.json("true")["guarantees"]}
        for name in ("fs.write", "fs.read", "fs.deny", "net", "pid", "env", "lifetime", "limits.time",
                     "limits.output"):
            equal(states[name]["state"], "enforced", name)
            check(states[name]["by"], f"{name} by nothing")

    @test("a failure that the sandbox caused comes with a hint", root=True)
    def _(box):
        done = box.run("touch", "/etc/new").exited(1).said("corral: hint: fs.write: /etc/new: ", "read-only in the sandbox")
        equal(done.err.count("hint"), 1, "hints")
        result = shape(box.json("touch", "/etc/new"))
        equal([result["hint"][k] for k in ("rule", "path")], ["fs.write", "/etc/new"], "hint")
        equal(result["hint"]["text"] in done.err, True, "the same text")
        box.write("ws/secret", "x")
        box.run("--deny", "secret", "cat", "secret").exited(1).said("hint: fs.deny: ", "/secret")

    @test("a protected name comes with the rule that keeps it, and with the option that lifts it", root=True)
    def _(box):
        box.write("ws/sub/n/.git/config", "")
        for level in ("full", "standard"):
            for script, name in (("echo x >.envrc", ".envrc"), ("mkdir .vscode", ".vscode"), ("echo x >a.rc", "a.rc"),
                                 ("echo x >>sub/n/.git/config", "sub/n/.git/config")):
                run = ("--no-config", "--level", level, "--protect", "*.rc")
                done = box.run(*run, "--", "sh", "-c", script)
                done.said("hint: fs.protect: ", f"--protect '!{box.ws}/{name}'")
                box.run(*run, "--protect", f"!{box.ws}/{name}", "--", "sh", "-c", f"{script} && rm -rf .envrc .vscode a.rc").exited(0)
            box.run("--no-config", "--level", level, "mv", "sub", "gone").exited(1).said("hint: fs.protect: ", "it is or contains ")

    @test("a protection that is not applied makes fs.deny weaker, and the result says why")
    def _(box):
        box.write("ws/.git/config", "[core]\n\thooksPath = .\n")
        box.write("ws/.git/HEAD", "ref: refs/heads/x\n")
        result = box.json("--no-config", "true")
        said = [note for note in result["notes"] if "the git hooks directory is" in note]
        equal(len(said), 1, "notes")
        deny = next(g for g in result["guarantees"] if g["name"] == "fs.deny")
        equal([deny["state"], deny["why"]], ["weaker", said[0]], "fs.deny")
        box.run("--no-config", "-v", "true").exited(0).said(said[0])
        box.run("--no-config", "--require", "fs.deny", "true").exited(125)

    @test("a hard link that was refused comes with a hint: another name is denied, or nobody knows", root=True)
    def _(box):
        box.write("ws/keys/a.key", "x\n")
        box.write("ws/one", "x\n")
        os.link(f"{box.ws}/keys/a.key", f"{box.ws}/alias")
        os.link(f"{box.ws}/one", f"{box.ws}/two")
        for level in ("full", "standard"):
            run = ("--level", level, "--deny", "*.key", "-c")
            box.run(*run, "cat two && cat alias").exited(1).said("hint: fs.deny: ", "/alias: ", "another hard link")
            box.run(*run, "cat two alias keys/a.key; cat two").exited(0)
            done = box.run(*run, "chmod 0 keys; cat two; rc=$?; chmod 700 keys; exit $rc").exited(1)
            done.said("hint: fs.deny: ", "/two: ", "the search was not complete")

    @test("success, an ordinary failure and a time-out have no hint")
    def _(box):
        for script, status in (("echo Read-only file system >&2", 0), ("cat nothing", 1), ("exit 3", 3)):
            done = box.run("-c", script).exited(status)
            check("hint" not in done.err, f"{script}: {done.err}")
        result = box.json("--timeout", "300ms", "--grace", "0", "-c", "echo Operation not permitted; sleep 600")
        equal([result["reason"], result["hint"]], ["timeout", None], "ending")

    @test("exit status and object of --json agree")
    def _(box):
        box.run("--json", "-c", "exit 9").exited(9)
        box.run("--json", "-c", "kill -TERM $$").exited(143)
        box.run("--json", "--timeout", "200ms", "--grace", "0", "sleep", "600").exited(124)

    @test("reason signal")
    def _(box):
        result = shape(box.json("-c", "kill -SEGV $$"))
        equal([result[k] for k in ("reason", "exit_code", "signal")], ["signal", None, 11], "ending")

    @test("reason timeout, with what was printed before", root=True)
    def _(box):
        result = shape(in_time(("400ms", "2s", "10s"), lambda limit: box.json("--timeout", limit, "-c",
                               f"echo before; sleep {LONG}"), lambda result: result["stdout"]))
        equal([result[k] for k in ("reason", "exit_code", "stdout")], ["timeout", None, "before\n"], "ending")
        check(350 <= result["duration_ms"] < PATIENCE * 1000, f"duration {result['duration_ms']}")

    @test("reason idle")
    def _(box):
        result = shape(in_time(("300ms", "2s", "10s"), lambda limit: box.json("--idle-timeout", limit, "-c",
                               f"echo before; sleep {LONG}"), lambda result: result["stdout"]))
        equal([result["reason"], result["stdout"]], ["idle", "before\n"], "ending")

    @test("reason limit for a file that grows too large")
    def _(box):
        result = shape(box.json("--max-file-size", "1M", "--", "dd", "if=/dev/zero", "of=big", "bs=1M", "count=3"))
        equal([result["reason"], result["signal"]], ["limit", 25], "ending")

    @test("reason limit for too much processor time")
    def _(box):
        result = shape(box.json("--cpu-time", "1s", "--timeout", "100", "--", "sh", "-c", "while :; do :; done"))
        equal(result["reason"], "limit", "reason")
        check(result["signal"] in (24, 9), f"signal {result['signal']}")
        check(700 <= result["usage"]["cpu_ms"] <= 3000, f"cpu_ms {result['usage']}")

    @test("reason setup for a command that does not exist")
    def _(box):
        done = box.run("--json", "--", "no-such-command").exited(127)
        result = shape(done.json)
        equal([result["reason"], result["exit_code"]], ["setup", None], "ending")
        contains(result["error"]["message"], "no-such-command", "message")
        check(result["error"]["layer"], "no layer")

    @test("reason setup and status 125 for a guarantee that cannot be enforced")
    def _(box):
        done = box.run("--json", "--require", "net.names", "--", "touch", "ran").exited(125)
        result = shape(done.json)
        equal(result["reason"], "setup", "reason")
        contains(result["error"]["message"], "net.names", "message")
        check(result["error"]["remedy"], "no remedy")
        check(not box.exists("ws/ran"), "something ran")

    @test("reason refused and status 126 for what the policy forbids")
    def _(box):
        box.write("ws/.corral.toml", "[net]\nmode = \"full\"\n")
        done = box.run("--json", "--", "touch", "ran").exited(126)
        result = shape(done.json)
        equal(result["reason"], "refused", "reason")
        contains(result["error"]["message"], ".corral.toml", "message")
        check(result["error"]["remedy"], "no remedy")
        check(not box.exists("ws/ran"), "something ran")

    @test("reason cancelled or signal after SIGTERM, and the object is still printed")
    def _(box):
        process = box.start([box.corral, "run", "--json", "-c", f"echo begun; : >begun; sleep {LONG}"])
        check(wait_until(lambda: box.exists("ws/begun")), "it does not begin")
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)
        result = shape(json.loads(out))
        check(result["reason"] in ("signal", "cancelled"), f"reason {result['reason']}")
        equal(result["stdout"], "begun\n", "stdout")

    @test("output that is not UTF-8 still makes valid JSON")
    def _(box):
        script = r"printf 'a\377\376b\300\200c\000d\033e\355\240\200f\r\n\t\042\134'"
        done = box.run("--json", "-c", script).exited(0)
        done.raw_out.decode("utf-8")
        text = done.json["stdout"]
        for part in ("a", "b", "c", "\0d", "\x1be", "f\r\n\t\"\\"):
            contains(text, part, "stdout")
        contains(text, "\ufffd", "replacement")
        equal(done.raw_out.count(b"\n"), 1, "lines of the object")

    @test("output cut within a character still makes valid JSON")
    def _(box):
        for size in (10, 11, 12, 13):
            done = box.run("--json", "--max-output", str(size), "-c", "for i in 1 2 3 4 5 6 7 8 9; do printf 'ü€😀'; done")
            done.raw_out.decode("utf-8")
            check(done.json["truncated"]["stdout"] > 0, "nothing was dropped")

    @test("the object is one line on stdout and nothing else")
    def _(box):
        done = box.run("--json", "-c", "echo x; echo y >&2").exited(0)
        equal(done.err, "", "stderr")
        equal(len(done.out.splitlines()), 1, "lines")

    @test("usage tells processor time and memory")
    def _(box):
        usage = box.json("--", "/usr/bin/python3", "-c", "x = bytearray(80 << 20); sum(range(3000000))")["usage"]
        check(usage["max_rss_kb"] > 70 * 1024, f"{usage}")
        check(10 <= usage["cpu_ms"] < 20000, f"{usage}")

    @test("--require of what is enforced runs")
    def _(box):
        box.run("--require", "fs.write,fs.read,net,pid,env,lifetime", "true").exited(0)
        box.run("--require", "limits.time", "--timeout", "5", "true").exited(0)
        box.run("--require", "limits.time", "true").exited(125).said("limits.time")

    @test("reason oom for a command beyond its memory", root=True, user=False)
    def _(box):
        words = ("--memory", "64M", "--", "/usr/bin/python3", "-c", "x = bytearray(400 << 20); print(len(x))")
        result = shape(box.json(*words))
        state = {g["name"]: g for g in result["guarantees"]}["limits.memory"]
        if state["state"] != "enforced":
            raise Skip(f"no memory controller: {state['why']}")
        equal([result["reason"], result["stdout"]], ["oom", ""], "ending")
