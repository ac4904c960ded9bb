# SPDX-License-Identifier: Apache-2.0
"""What a run leaves on the host that could run later is listed in the result."""
import os

from harness import check, contains, equal, needs

LEVELS = ("full", "standard")

MAKE = r"""
printf '#!/bin/sh\n' >tool && chmod +x tool
install -m 755 tool installed
cp -p tool copied
ln tool linked
echo x >first && ln first second && chmod +x first
echo x >gone && ln gone stays && exec 3<gone && rm gone && mv stays moved && chmod +x /proc/self/fd/3 3<&3
echo x >only-text && ln only-text text-too
mkdir early && cp tool early/inner && mv early late
mkfifo pipe
ln -s ~/.ssh/id_ed25519 leads-out
ln -s /usr/bin/env leads-to-the-system
ln -s tool leads-here
mkdir nested && echo x >nested/.bashrc
echo x >start.desktop
cp tool removed && rm removed
cp tool quiet && chmod a-x quiet
cp tool /tmp/private
cp tool ~/in-the-private-home
echo text >plain
chmod +x there-before-and-executable
"""

WANTED = {
    "nested/.bashrc": "startup", "start.desktop": "startup", "tool": "executable",
    "installed": "executable", "copied": "executable", "linked": "executable", "late/inner": "executable",
    "first": "executable", "second": "executable", "moved": "executable",
    "leads-out": "symlink", "pipe": "fifo",
}


def created(box, result):
    check(result["created_recorded"], f"nothing was recorded: {result}")
    return {os.path.relpath(item["path"], box.ws): item["kind"] for item in result["created"]}


def listed(test, level):
    @test(f"{level}: what could run later is listed, and nothing else", root=True)
    def _(box):
        box.write("ws/there-before-and-executable", "x\n", 0o755)
        result = box.json("--level", level, "-c", MAKE)
        equal(result["exit_code"], 0, result["stderr"])
        equal(created(box, result), WANTED, "created")
        equal(result["created_more"], 0, "created_more")
        order = [item["kind"] for item in result["created"]]
        equal(order[0], "startup", "the gravest")
        equal(order.index("executable"), 2, "where the programs begin")

    @test(f"{level}: a repository and its hooks are listed, git's own samples are not")
    def _(box):
        needs(box, "git")
        result = box.json("--level", level, "-c",
                          "git init -q made && echo x >made/.git/hooks/pre-commit && echo y >made/file")
        equal(created(box, result), {"made/.git": "repository", "made/.git/hooks/pre-commit": "hook"}, "created")

    @test(f"{level}: names with control characters are escaped in the object and on the terminal")
    def _(box):
        script = r"""printf x >"$(printf 'a\ncorral: all is well\033[2Jb.desktop')" """
        result = box.json("--level", level, "-c", script)
        equal(created(box, result), {"a\ncorral: all is well\x1b[2Jb.desktop": "startup"}, "created")
        os.unlink(f"{box.ws}/a\ncorral: all is well\x1b[2Jb.desktop")
        done = box.run("--level", level, "-v", "-c", script).exited(0)
        check("\x1b" not in done.err, f"an escape: {done.err!r}")
        check("\ncorral: all is well" not in done.err, f"words of ours: {done.err!r}")
        contains(done.err, "b.desktop (startup)", "stderr")

    @test(f"{level}: many programs are counted, and do not hide a hook")
    def _(box):
        needs(box, "git")
        box.write("ws/many.py", """import os
for n in range(6000):
    os.close(os.open(f"program-with-a-long-name-{n:060}", os.O_CREAT | os.O_WRONLY, 0o755))
""")
        result = box.json("--level", level, "-c", "git init -q r && python3 many.py && echo x >r/.git/hooks/late",
                          timeout=120)
        kinds = [item["kind"] for item in result["created"]]
        equal(kinds[:2], ["hook", "repository"], "the first two")
        equal(len(kinds), 100, "how many are listed")
        equal(result["created_more"], 6000 + 2 - 100, "created_more")

    @test(f"{level}: what was made before a time-out is listed too")
    def _(box):
        result = box.json("--level", level, "--timeout", "1s", "-c", "echo >x.service; sleep 30")
        equal(result["reason"], "timeout", "reason")
        equal(created(box, result), {"x.service": "startup"}, "created")

    @test(f"{level}: a person is told of three at most, and of programs with -v alone")
    def _(box):
        program = "for n in 1 2 3 4 5; do echo >t$n; chmod +x t$n; done"
        equal(box.run("--level", level, "-c", program).exited(0).err, "", "stderr")
        done = box.run("--level", level, "-v", "-c", f"rm t*; {program}").exited(0)
        done.said(f"{box.ws}/t1 (executable), {box.ws}/t2 (executable), {box.ws}/t3 (executable) and 2 more")
        equal(box.run("--level", level, "-c", "echo >x.desktop").exited(0).err, "", "stderr")
        done = box.run("--level", level, "-v", "-c", f"rm t* x*; {program}; echo >x.desktop").exited(0)
        done.said(f"corral: the command created files that run later on the host: {box.ws}/x.desktop (startup), ", " and 3 more")


def register(suite):
    for level in LEVELS:
        listed(suite.test, level)

    @suite.test("standard: a socket that a program binds is listed")
    def _(box):
        script = "import socket; socket.socket(socket.AF_UNIX).bind('sock')"
        equal(created(box, box.json("--level", "standard", "--", "python3", "-c", script)), {"sock": "socket"}, "created")

    @suite.test("a directory that takes a name that others obey is looked at again, and an access list is a mode")
    def _(box):
        acl = "0200000001000700ffffffff04000500ffffffff20000500ffffffff"
        script = ("mkdir x && echo x >x/pre-commit && mv x .githooks && mkdir -p y/hooks && echo x >y/hooks/post-merge && mv y b.git && "
                  f"echo x >t && python3 -c \"import os; os.setxattr('t', 'system.posix_acl_access', bytes.fromhex('{acl}'))\"")
        for level in LEVELS:
            equal(created(box, box.json("--level", level, "-c", script + "; rm -rf z; true")),
                  {".githooks/pre-commit": "hook", "b.git/hooks/post-merge": "hook", "t": "executable"}, f"created at {level}")
            box.run("rm", "-rf", ".githooks", "b.git", "t").exited(0)

    @suite.test("a path is the host's, where the workspace has another one inside")
    def _(box):
        result = box.json("--profile", "strict", "-c", "echo >/workspace/x.desktop")
        if result["created_recorded"]:
            equal(created(box, result), {"x.desktop": "startup"}, "created")

    @suite.test("the fields are there when nothing ran, and say that nothing was recorded")
    def _(box):
        result = box.run("--json", "--", "no-such-command").json
        equal((result["created"], result["created_more"], result["created_recorded"]), ([], 0, False), "fields")
