# SPDX-License-Identifier: Apache-2.0
"""What the host has, and the proof of it: `corral status` and `corral test`."""
import json
import os
import pty
import re

from harness import PATIENCE, Skip, check, contains, equal, wait_until
from results import GUARANTEES

MECHANISMS = ["apparmor", "cgroups", "container", "core_dumps", "inside_corral", "landlock", "ptrace_scope", "seccomp",
              "user_namespaces"]
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STATUS = ["backend", "backends", "depth", "engine", "error", "guarantees", "here", "kernel", "level", "mechanisms", "other_builds",
          "remedies", "starts", "version"]
CHECK = ["allowed", "guarantee", "inside", "name", "outside", "reason", "reported", "required", "state",
         "succeeded_inside", "succeeded_outside", "tried"]

# What issue and manual promise to try.
TRIED = ["write-inside", "write-read-only", "write-outside", "read-secret", "read-denied", "tcp", "unix-socket",
         "see-process", "signal-process", "environment", "child-write", "child-read", "child-tcp", "time-out",
         "lifetime", "trace-process", "read-memory", "read-other-run", "write-other-run", "no-new-privs", "set-id-bit",
         "parent", "nothing-left"]
# The same, where the control is root's alone, or needs a user namespace of the host, a device, another group.
TRIED_ALONE = ["open-device", "device-node", "mount", "mount-api", "user-namespace", "capabilities", "set-id-program"]
PRIVILEGES = ["device-node", "mount", "mount-api", "user-namespace", "no-new-privs", "capabilities", "set-id-bit",
              "set-id-program"]

# A host without user namespaces, for anybody who can still make one: its own ceiling is 0.
WITHOUT_NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount-proc", "--pid", "--fork", "--", "/bin/sh", "-c",
                      "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"", "sh"]


def status(box, *words, **more):
    """The object of `corral status --json`, with its shape checked."""
    done = box.execute([*words, box.corral, "status", "--json"], **more)
    found = done.json
    equal(sorted(found), STATUS, "keys")
    equal(sorted(found["mechanisms"]), MECHANISMS, "mechanisms")
    equal(found["version"], 1, "version")
    done.exited(0 if found["starts"] else 1)
    equal(done.err, "", "stderr")
    equal(done.out.count("\n"), 1, "lines")
    check((found["level"] is None) == (not found["starts"]), f"level {found['level']}")
    check((found["error"] is None) == found["starts"], f"error {found['error']}")
    for key in ("landlock", "user_namespaces"):
        mechanism = found["mechanisms"][key]
        check(mechanism["usable"] or mechanism["why"], f"{key} has no reason")
    return found


def with_place(box):
    """The bait of each test in a place of its own, where what is left is noticed."""
    return {**box.env, "TMPDIR": box.mkdir("bait", 0o700)}


def tested(box, *words, exit_status=0, **more):
    """The object of `corral test --json`, with its shape checked."""
    done = box.corral_("test", "--json", *words, env=with_place(box), **more).exited(exit_status)
    found = done.json
    equal(os.listdir(f"{box.dir}/bait"), [], "bait that is left")
    equal(done.err, "", "stderr")
    equal([found["version"], found["ok"]], [1, exit_status == 0], "version and verdict")
    for row in found["checks"]:
        equal(sorted(row), CHECK, f"keys of {row['name']}")
        check(row["state"] == "pass" or row["reason"], f"{row['name']} has no reason")
    for state, count in found["counts"].items():
        equal(len([row for row in found["checks"] if row["state"] == state]), count, f"count of {state}")
    return found, {row["name"]: row for row in found["checks"]}


def register_status(test):
    @test("status tells level, mechanisms and guarantees on one screen", root=True)
    def _(box):
        done = box.corral_("status").exited(0)
        lines = done.out.splitlines()
        check(re.match(r"level +(full|standard|minimal), engine ", lines[0]), lines[0])
        for name in ("landlock", "seccomp", "user namespaces", "control groups", "ptrace", "apparmor"):
            check(any(line.startswith(f"  {name} ") for line in lines), f"no line for {name}")
        for name in GUARANTEES:
            contains(done.out, name, "text")
        check(len(lines) <= 40, f"{len(lines)} lines")
        equal(done.err, "", "stderr")

    @test("status is one JSON object and agrees with a run", root=True)
    def _(box):
        found, run = status(box), box.json("true")
        for key in ("level", "engine"):
            equal(found[key], run[key], key)
        equal(found["guarantees"], run["guarantees"], "guarantees")
        seccomp = found["mechanisms"]["seccomp"]
        equal([seccomp["usable"], seccomp["actions"]], [True, dict.fromkeys(("kill_process", "errno", "user_notif"), True)],
              "seccomp")
        equal(found["kernel"], os.uname().release, "kernel")
        equal(found["mechanisms"]["inside_corral"], False, "inside_corral")

    @test("status, README and threat model say that enforcement on macOS and Windows has not been run", root=True)
    def _(box):
        text, found = box.corral_("status").exited(0).out, status(box)
        for name, said in (("macos", "macOS"), ("windows", "Windows")):
            contains(found["other_builds"][name], f"{said}: enforcement has not been run", name)
            contains(text, f"{name}: {found['other_builds'][name]}", "text")
            check(name not in found["backends"], f"{name} is a backend of this build")
        for path in ("README.md", "docs/THREAT_MODEL.md", "docs/macos.md", "docs/windows.md"):
            with open(os.path.join(TREE, path), encoding="utf-8") as source:
                said = " ".join(source.read().split())
            check(re.search("[Ee]nforcement has not been run", said), f"{path} does not say it")

    @test("status names no limit as one to be raised that it reports as enforced", root=True)
    def _(box):
        found = status(box)
        enforced = {row["name"] for row in found["guarantees"] if row["state"] == "enforced"}
        for row in found["remedies"]:
            equal(enforced & set(row["raises"].split(", ")) - {"ipc", "pid"}, set(), row["do"])

    @test("status answers where no run can be made, and says so", root=True)
    def _(box):
        equal(status(box)["here"], None, "here, in a workspace")
        for place in (box.home, "/"):
            found = status(box, cwd=place)
            check(found["starts"] and found["here"], f"in {place}: {found['here']}")
            contains(found["here"]["message"], "cannot be the workspace", place)
            contains(box.corral_("status", cwd=place).exited(0).out, "but not in this directory", place)

    @test("status leaves home and workspace as they were", root=True)
    def _(box):
        before = box.tree()
        status(box)
        box.corral_("status").exited(0)
        equal(box.tree(), before, "files")

    @test("status says that it runs inside Corral")
    def _(box):
        found = box.run("--json", "--read", box.corral, "--", box.corral, "status", "--json").json
        inner = json.loads(found["stdout"])
        equal(inner["mechanisms"]["inside_corral"], True, "inside_corral")
        equal(inner["mechanisms"]["user_namespaces"]["usable"], False, "user namespaces")
        check(any("inside Corral" in row["do"] for row in inner["remedies"]), f"{inner['remedies']}")
        check(not any("sysctl" in row["do"] for row in inner["remedies"]), f"{inner['remedies']}")

    @test("status names the switch that stands in the way")
    def _(box):
        if box.execute([*WITHOUT_NAMESPACES, "true"]).status != 0:
            raise Skip("no user namespace with a ceiling of its own can be made here")
        found = status(box, *WITHOUT_NAMESPACES)
        userns = found["mechanisms"]["user_namespaces"]
        equal(userns["usable"], False, "user namespaces")
        contains(userns["why"], "max_user_namespaces", "why")
        check(any("sysctl -w user.max_user_namespaces" in row["do"] for row in found["remedies"]), f"{found['remedies']}")

    @test("status warns of core dumps that go to a socket", user=False, root=True)
    def _(box):
        pattern = box.write("pattern", "")
        script = 'mount --bind "$1" /proc/sys/kernel/core_pattern && shift && exec "$@"'
        around = ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh", pattern]
        if box.execute([*around, "true"]).status != 0:
            raise Skip("no mount namespace can be made here")
        for text, kind in (("core", "file"), ("|/usr/lib/handler %P", "pipe"), ("@/run/dumps.socket", "socket")):
            box.write("pattern", text + "\n")
            found = status(box, *around)
            leaves = kind == "socket"
            equal(found["mechanisms"]["core_dumps"], {"destination": kind, "leave": leaves}, text)
            equal(any(row["raises"] == "core dumps" for row in found["remedies"]), leaves, f"{text}: remedies")
            text = box.execute([*around, box.corral, "status"]).exited(0).out
            equal("warning: the kernel sends them to a socket" in text, leaves, f"text for {kind}")

    @test("status exits 1 where a run with the defaults does not start", root=True)
    def _(box):
        box.write("home/.config/corral/corral.toml", "require = [\"net.names\"]\n")
        box.run("true").exited(125)
        found = status(box)
        equal([found["starts"], found["level"], found["engine"], found["guarantees"]], [False, None, None, []], "report")
        contains(found["error"]["message"], "net.names", "error")
        done = box.corral_("status").exited(1)
        contains(done.out, "a run with the defaults does not start", "text")
        contains(done.out, "net.names", "text")

    @test("status takes no policy and no word")
    def _(box):
        box.corral_("status", "--net", "full").exited(2).said("--net")
        box.corral_("status", "word").exited(2).said("word")

    @test("status reports a policy that is wrong as wrong")
    def _(box):
        box.write("home/.config/corral/corral.toml", "tmeout = 3\n")
        box.corral_("status").exited(2).said("tmeout")


def register_test(test):
    @test("test proves every promise of a default run", root=True)
    def _(box):
        before = box.tree()
        found, rows = tested(box)
        equal(found["counts"]["fail"] + found["counts"]["skip"], 0, f"failures in {found['checks']}")
        for name in TRIED:
            check(rows[name]["state"] == "pass", f"{rows[name]}")
            check(rows[name]["succeeded_outside"], f"{name} has no control")
            equal(rows[name]["succeeded_inside"], name == "write-inside", f"{name} inside")
        for name in TRIED_ALONE:
            row = rows[name]
            equal((row["state"], row["succeeded_inside"]), ("pass", False), f"{row}")
            check(row["succeeded_outside"] or row["reason"].startswith("no control: "), f"{row}")
            check(row["succeeded_outside"] or box.user.uid != 0, f"{name} has no control for root: {row}")
        for name in PRIVILEGES:
            equal(rows[name]["guarantee"], "privileges", name)
        check(rows["write-read-only"]["inside"] in ("EROFS", "EACCES", "EPERM"), f"{rows['write-read-only']}")
        equal(box.tree(), before, "files of home and workspace")
        reported = {g["name"]: g["state"] for g in box.json("--timeout", "9", "true")["guarantees"]}
        for row in found["checks"]:
            if row["guarantee"]:
                equal(row["reported"], reported[row["guarantee"]], f"report of {row['name']}")

    @test("test prints a line a check and a sum", root=True)
    def _(box):
        done = box.corral_("test", env=with_place(box))
        lines = done.out.splitlines()
        check(done.status == 0, f"status {done.status}: {[line for line in lines if not line.startswith('pass')]}")
        for name in TRIED:
            check(any(re.match(rf"pass +{name} ", line) for line in lines), f"no line for {name}: {done}")
        check(re.search(r"^level \w+, engine \w+: \d+ checks in \d+ ms, .* 0 failed$", lines[-1]), lines[-1])
        equal(done.err, "", "stderr")

    for level in ("standard", "minimal"):
        @test(f"test proves what level {level} reports", root=True)
        def _(box, level=level):
            found, rows = tested(box, "--level", level, "--min-level", "none")
            equal(found["level"], level, "level")
            equal(found["counts"]["fail"] + found["counts"]["skip"], 0, f"failures in {found['checks']}")
            for name in ("write-inside", "tcp", "udp", "child-tcp", "time-out", "lifetime", "parent", "nothing-left"):
                equal(rows[name]["state"], "pass", name)
            protected = ("write-read-only", "write-outside", "write-protected", "read-secret", "read-outside",
                         "read-denied", "child-write", "child-read")
            for name in protected:
                equal(rows[name]["state"], "pass" if level == "standard" else "limit", name)
            equal(rows["see-process"]["state"], "limit", "see-process")
            for name in (*PRIVILEGES, "trace-process"):
                equal((rows[name]["state"], rows[name]["succeeded_inside"]), ("pass", False), name)
            # The memory of a process with capabilities, as root's, is closed to one without.
            check(rows["read-memory"]["state"] in (("pass",) if level == "standard" else ("pass", "limit")), "read-memory")
            for name in ("read-other-run", "write-other-run"):
                equal(rows[name]["state"], "pass" if level == "standard" else "limit", name)

    @test("test sees that a nested sandbox may create namespaces, and that this is reported")
    def _(box):
        _, rows = tested(box, "--allow-nested")
        row = rows["user-namespace"]
        if row["reported"] == "enforced":
            raise Skip("no namespaces here that a nested sandbox could have")
        equal((row["state"], row["reported"], row["succeeded_inside"]), ("limit", "weaker", True), f"{row}")
        for name in ("no-new-privs", "capabilities", "set-id-bit", "set-id-program", "device-node"):
            equal(rows[name]["state"], "pass", name)

    @test("test refuses a level that this policy cannot have")
    def _(box):
        box.corral_("test", "--level", "none").exited(126).said("--accept-no-sandbox")
        box.corral_("test", "--level", "standard", "--profile", "strict").exited(125).said("minimal")

    @test("test shows what the policy leaves open, and does not call it a failure")
    def _(box):
        found, rows = tested(box, "--net", "full")
        for name in ("tcp", "udp", "child-tcp"):
            equal([rows[name][key] for key in ("state", "reported", "required", "succeeded_inside")],
                  ["limit", "absent", False, True], name)
            contains(rows[name]["reason"], "net.mode is full", name)
        check(found["counts"]["limit"] >= 3, f"{found['counts']}")

    @test("test expects of a policy what it says")
    def _(box):
        for words in (("--mode", "read-only"), ("--profile", "readonly"), ("--profile", "strict"), ("--profile", "host-read")):
            _, rows = tested(box, *words)
            wanted = "strict" in words or "host-read" in words
            writable = box.run(*words, "--no-toolchains", "-c", "echo x >probe").status == 0
            equal(rows["write-inside"]["allowed"], writable, f"{words}: write-inside is allowed")
            equal(rows["write-inside"]["succeeded_inside"], writable, f"{words}: write-inside")
            check(not wanted or rows["read-secret"]["state"] == "pass", f"{words}: {rows['read-secret']}")

    @test("test keeps its bait where TMPDIR says, and removes it")
    def _(box):
        process = box.start([box.corral, "test"], env=with_place(box))
        seen = wait_until(lambda: os.listdir(f"{box.dir}/bait"))
        check(seen and seen[0].startswith("corral-selftest-"), f"the place of the bait: {seen}")
        process.communicate(timeout=PATIENCE)
        equal([process.returncode, os.listdir(f"{box.dir}/bait")], [0, []], "status, and what is left")
        done = box.corral_("test", env={**box.env, "TMPDIR": "/nowhere"}).exited(125)
        done.said("/nowhere", "TMPDIR")

    @test("test works on a terminal")
    def _(box):
        leader, follower = pty.openpty()
        try:
            os.set_blocking(leader, False)
            done = box.execute([box.corral, "test", "--json"], stdin=follower, env=with_place(box))
            equal(done.json["ok"], True, "verdict")
        finally:
            os.close(leader)
            os.close(follower)

    @test("test waits for no run that cannot start")
    def _(box):
        # Each check that needs a second run would wait half a minute for it.
        done = box.sh("ulimit -n 20; exec \"$CORRAL\" test", env={**with_place(box), "CORRAL": box.corral}).exited(1)
        contains(done.out, "the other run did not start", "the checks")
        check(done.seconds < 25, f"it took {done.seconds:.0f} s")

    @test("test refuses words and a policy that can be read only once")
    def _(box):
        box.corral_("test", "word").exited(2).said("word")
        box.corral_("test", "--policy", "-", stdin="mode = \"read-only\"\n").exited(2).said("once")

    @test("the probe of the test is no verb")
    def _(box):
        for words in (("help",), ("completion", "bash"), ("completion", "zsh"), ("completion", "fish")):
            check("test-probe" not in box.corral_(*words).exited(0).out, f"{words} names the probe")
        box.corral_("test-probe").exited(2)
        box.corral_("test-probe", "frobnicate", "x").exited(2)


def register(suite):
    register_status(suite.test)
    register_test(suite.test)
