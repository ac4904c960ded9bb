# SPDX-License-Identifier: Apache-2.0
"""The sandboxes that agents bring along, inside a run with --allow-nested: sandbox-runtime and Codex's own."""
import json
import os
import shlex

import packages
from harness import Skip, check, contains, equal, needs

SRT = ("@anthropic-ai/sandbox-runtime@0.0.83", "node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js")
SETTINGS = {"network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": ["kept"]}}
# Both sandboxes are to refuse the last two, and Corral's rules the first two.
SCRIPT = "echo made >made; echo x >.envrc; echo x >.git/config; echo x >kept; rm -f kept; echo x >/usr/x; true"


def prepared(box, *programs):
    needs(box, "bwrap", "git", *programs)
    if box.json("true")["level"] != "full":
        raise Skip("this host does not reach level full")
    box.write("ws/kept", "old\n")
    box.execute(["git", "init", "-q", box.ws]).exited(0)
    return box.read("ws/.git/config")


def judged(box, done, config):
    equal(done.exited(0) and box.read("ws/made"), "made\n", "the file that may be written")
    equal((box.read("ws/.git/config"), os.path.exists(f"{box.ws}/.envrc")), (config, False), "Corral's rules")
    left = sorted(set(os.listdir(box.ws)) - {".git", "kept", "made", "srt.json"})
    check(left == [], f"left in the workspace: {left}")


def node(place):
    path, why = packages.install(f"{place}/node", *packages.NODE)
    if path is None:
        raise Skip(why)
    return path


def runtime(box, place):
    program, why = packages.install(f"{place}/srt", *SRT)
    if program is None:
        raise Skip(why)
    config = prepared(box, "socat", "rg")
    box.write("ws/srt.json", json.dumps(SETTINGS))
    done = box.run("--allow-nested", "--read", place, "--", node(place), program, "-s", "srt.json", "-c", SCRIPT)
    judged(box, done, config)
    equal(box.read("ws/kept"), "old\n", "the rule of sandbox-runtime")


def codex(box, place):
    directory, why = packages.wrapper(place, "codex")
    if directory is None:
        raise Skip(why)
    config = prepared(box)
    words = ("--allow-nested", "--read", place, "--", f"{directory}/codex", "sandbox", "-c", 'sandbox_mode="workspace-write"', "--",
             "sh", "-c", SCRIPT.replace("rm -f kept; ", "").replace("echo x >kept; ", ""))
    judged(box, box.run(*words), config)
    done = box.run(*words[:6], "-c", 'sandbox_mode="read-only"', "--", "sh", "-c", "echo x >kept")
    contains(done.err, "Read-only", shlex.join(words))
    equal(box.read("ws/kept"), "old\n", "Codex's own rule")


def register(suite, place):
    suite.test("sandbox-runtime inside: both sandboxes' rules hold, and nothing is left")(lambda box: runtime(box, place))
    # Not in /tmp: Codex makes no helpers there.
    suite.test("codex sandbox inside: both sandboxes' rules hold, and nothing is left", base="/var/tmp")(
        lambda box: codex(box, place))
