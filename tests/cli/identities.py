# SPDX-License-Identifier: Apache-2.0
"""Who the caller is: one user, one group, and no more privileges than its own."""
import os
import re
import stat
import struct
import subprocess

from harness import Skip, check, contains, equal

# Real, effective and saved ids of the caller; execve(2) copies the effective one to the saved.
DIFFERING = [
    ("seteuid(user) by a daemon of root", lambda u, g: os.setresuid(0, u, 0), "user id"),
    ("a set-user-id caller", lambda u, g: os.setresuid(u, 0, 0), "user id"),
    ("setegid(group) by a daemon of root", lambda u, g: os.setresgid(0, g, 0), "group id"),
    ("a set-group-id caller", lambda u, g: (os.setresgid(g, 0, 0), os.setresuid(u, u, u)), "group id"),
    ("both ids", lambda u, g: (os.setresgid(0, g, 0), os.setresuid(0, u, 0)), "user id"),
]

VERBS = [
    ["run", "--", "true"], ["run", "--level", "standard", "--", "true"], ["run", "--json", "--", "true"],
    ["explain"], ["explain", "--json"], ["status"], ["status", "--json"], ["test"],
    ["check", "path", "/etc/passwd"], ["check", "url", "https://example.org/"],
    ["diff"], ["apply", "abc"], ["discard", "--all"], ["policy", "show"], ["policy", "check", "/etc/shadow"],
    ["policy", "trust", "/etc/shadow"],
]

CAP_DAC_OVERRIDE = 1


def probe_word():
    """The inner word of the self-test's probe, from its header."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/data/acts.h")
    with open(path, encoding="utf-8") as file:
        return re.search(r'#define PROBE_WORD "(.*)"', file.read()).group(1)


def refused(done, part):
    done.exited(125)
    text = done.out + done.err
    contains(text, part, f"{done}")
    contains(text, "identity", f"the layer of {done}")
    check("root:" not in text, f"a line of /etc/shadow: {text[:200]}")


def copy_of_corral(box, name, change):
    path = f"{box.dir}/{name}"
    # Not shutil: a process that another thread forks meanwhile would hold the file open for writing.
    subprocess.run(["/bin/cp", box.corral, path], check=True)
    os.chown(path, 0, 0)
    os.chmod(path, 0o755)
    change(path)
    if os.statvfs(box.dir).f_flag & os.ST_NOSUID:
        raise Skip("this directory is mounted nosuid")
    return path


def set_file_capability(path):
    caps = 1 << CAP_DAC_OVERRIDE
    os.setxattr(path, "security.capability", struct.pack("<IIIII", 0x02000001, caps, 0, 0, 0))


SET_ID = [
    ("set-user-id", lambda path: os.chmod(path, 0o4755), "more than one user id"),
    ("set-group-id", lambda path: os.chmod(path, 0o2755), "more than one group id"),
    ("with file capabilities", set_file_capability, "more privileges"),
]


def register(suite):
    test = suite.test
    if not suite.root:
        return

    for what, become, part in DIFFERING:
        @test(f"a caller with differing ids is refused: {what}", user=False, root=True)
        def _(box, become=become, part=part):
            user = suite.user
            box.own(box.ws)
            for words in VERBS[:5]:
                done = box.corral_(*words, preexec_fn=lambda: become(user.uid, user.gid))
                refused(done, f"more than one {part}")

    for what, change, part in SET_ID:
        @test(f"a corral that is {what} does nothing for its caller")
        def _(box, change=change, part=part):
            program = copy_of_corral(box, "corral-x", change)
            rows = VERBS + [[probe_word(), "read", "/etc/shadow"]]
            for words in rows:
                done = box.execute([program, *words])
                refused(done, part)

    @test("a caller's supplementary groups open nothing that is hidden, at both levels", user=False, root=True)
    def _(box):
        user, shadow = suite.user, os.stat("/etc/shadow").st_gid
        if shadow == 0 or not os.stat("/etc/shadow").st_mode & stat.S_IRGRP:
            raise Skip("/etc/shadow has no group of its own here")
        os.chown(box.ws, user.uid, user.gid)
        os.chown(box.home, user.uid, user.gid)

        def become():
            os.setgroups([shadow])
            os.setresgid(user.gid, user.gid, user.gid)
            os.setresuid(user.uid, user.uid, user.uid)
        box.execute(["/bin/cat", "/etc/shadow"], preexec_fn=become).exited(0)
        for level in ("full", "standard"):
            done = box.run("--level", level, "cat", "/etc/shadow", preexec_fn=become)
            check(done.status != 0 and done.out == "", f"{level}: {done.status}")

    @test("a caller's capabilities are not the command's, at both levels", user=False, root=True)
    def _(box):
        secret = box.write("ws/secret", "hidden", 0o600)
        user = suite.user
        raised = ["/usr/bin/setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups",
                  "--inh-caps=+dac_override,+net_raw", "--ambient-caps=+dac_override,+net_raw"]
        if not os.path.exists(raised[0]):
            raise Skip("setpriv is not installed")
        os.chown(box.ws, user.uid, user.gid)
        equal(box.execute([*raised, "cat", secret]).out, "hidden", "control: outside the capability counts")
        for level in ("full", "standard"):
            done = box.execute([*raised, box.corral, "run", "--level", level, "-c",
                                "grep ^Cap /proc/self/status; cat secret"])
            check("hidden" not in done.out, f"{level}: {done}")
            for line in done.out.splitlines():
                name, value = line.split()
                check(name == "CapBnd:" or int(value, 16) == 0, f"{level}: {line}")
            equal(len(done.out.splitlines()), 5, f"{level}: lines of {done}")
        equal(stat.S_IMODE(os.stat(secret).st_mode), 0o600, "mode of the file")
