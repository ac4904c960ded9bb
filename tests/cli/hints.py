# SPDX-License-Identifier: Apache-2.0
"""Every kind of refusal, provoked for real: the remedy that the hint prints is applied, and the same command succeeds; or the
hint says that no option opens it."""
import os
import re
import shlex
import shutil
import tempfile

from floors import administered, prepare
from harness import Skip, check, contains, equal
from network import CONNECT, UnixServer, WebServer

LEVELS = ("full", "standard")
NONE = re.compile(r"no (single )?option|do this step outside")


def hint(done):
    """The rule and the text of the one hint of a run that failed."""
    check(done.status != 0, f"it succeeds: {done}")
    found = re.findall(r"^corral: hint: ([^:]+): (.*)$", done.err, re.M)
    equal(len(found), 1, f"hints of {done}")
    return found[0]


def option(text):
    """The first option that a hint prints, as a shell reads it."""
    found = re.search(r"(--[a-z-]+) ('(?:[^']|'\\'')*'|[^\s;)]+)", text)
    check(found, f"no option in {text!r}")
    return shlex.split(found.group(0))


def helps(box, rule, words, command, runner=None):
    """The command fails with a hint of this rule; with its remedy it succeeds."""
    run = runner or box.run
    told, text = hint(run(*words, "--", *command))
    equal(told, rule, f"rule of {text!r}")
    check(not NONE.search(text), f"it says that nothing helps: {text}")
    done = run(*words, *option(text), "--", *command)
    check(done.status == 0, f"{option(text)} of {text!r} does not help: {done}")
    return text


def says_none(box, rule, words, command, runner=None):
    told, text = hint((runner or box.run)(*words, "--", *command))
    equal(told, rule, f"rule of {text!r}")
    check(NONE.search(text), f"it does not say that no option opens it: {text}")
    return text


def at(level, *words):
    return ("--no-config", "--level", level, *words)


def elsewhere(box):
    """A directory of the caller's own that is neither in HOME nor in /tmp."""
    path = os.path.realpath(tempfile.mkdtemp(prefix="corral-test-", dir="/var/tmp"))
    os.chmod(path, 0o755)
    with open(f"{path}/f", "w", encoding="utf-8") as out:
        out.write("far\n")
    box.own(path)
    box.own(f"{path}/f")
    return path


def sh(script):
    return ("sh", "-c", script)


def register(suite):
    test = suite.test

    @test("hint: a file that is not granted, read and written", root=True)
    def _(box):
        far = elsewhere(box)
        try:
            for level in LEVELS:
                helps(box, "fs.read", at(level), ("cat", f"{far}/f"))
                helps(box, "fs.write", at(level, "--read", far), sh(f"echo x >{far}/f"))
                helps(box, "fs.write", at(level, "--read", far), sh(f"echo x >{far}/new-{level}"))
                helps(box, "fs.read", at(level), sh(f"ls {far}"))
        finally:
            shutil.rmtree(far)

    @test("hint: of a path that the sandbox does not show it is not said that the host has it")
    def _(box):
        box.write("home/there", "x\n")
        for level in LEVELS:
            for path, words in ((f"{box.home}/NAME", "outside"), ("/tmp/NAME", ""), ("/srv/NAME/y", "if it exists outside")):
                told = {hint(box.run(*at(level), "--", "cat", path.replace("NAME", name)))[1].replace(name, "NAME") for name in ("there", "nowhere")}
                equal(len(told), 1, f"{path} at {level}")
                contains(told.pop(), words or "if ", f"{path} at {level}")

    @test("hint: what the kernel refuses to read in /proc is not taken for a write")
    def _(box):
        done = box.run(*at("standard"), "--", "cat", "/proc/1/environ")
        check(done.status == 1 and "fs.write" not in done.err, str(done))
        contains(hint(box.run(*at("standard"), "--", *sh("echo 1 >/proc/sys/kernel/hostname")))[1], "Corral generates it", "a write")

    @test("hint and denial: a symlink that would lead out of a git repository", root=True)
    def _(box):
        box.sh("git init -q . && git config user.name x && git config user.email x@x && git commit -q --allow-empty -m 1").exited(0)
        target = f"{box.home}/.bashrc"
        for level in LEVELS:
            for command in (("ln", "-s", target, ".git/made"), ("python3", "-c", f"import os; os.symlink('{target}', '.git/made')"),
                            sh(f"ln -s {target} here; mv here .git/made")):
                rule, text = hint(box.run(*at(level), "--", *command))
                equal(rule, "fs.protect", text)
                contains(text, f"{box.ws}/.git/made: cannot become a symlink that leads out of its git repository", level)
                contains(text, "create the symlink outside", level)
            denied = box.json(*at(level), "--", "ln", "-s", target, ".git/made")["denials"]
            equal([(d["path"], d["rule"]) for d in denied], [(f"{box.ws}/.git/made", "fs.protect")], level)
            contains(denied[0]["why"], "leads out of its git repository", level)
            box.run(*at(level), *option(hint(box.run(*at(level), "--", "ln", "-s", target, ".git/made"))[1]), "--", "ln", "-s", target, ".git/made").exited(0)
            box.sh("rm .git/made here").exited(0)
            box.run(*at(level), "--", "ln", "-s", "HEAD", ".git/made").exited(0)  # its remedy: a target within
            box.sh("rm .git/made").exited(0)

    @test("hint: a file that exists outside only, in HOME and in /tmp", root=True)
    def _(box):
        box.write("home/.ssh/id_rsa", "key\n")
        box.write("home/notes", "x\n")
        box.write("beside", "x\n")
        helps(box, "fs.home", at("full"), ("cat", f"{box.home}/notes"))
        helps(box, "fs.read", at("standard"), ("cat", f"{box.home}/notes"))
        for level in LEVELS:
            helps(box, "fs.deny", at(level), ("cat", f"{box.home}/.ssh/id_rsa"))
        contains(hint(box.run(*at("standard"), "--", *sh("cat $HOME/.ssh/id_rsa")))[1], f"--read {box.home}/.ssh/id_rsa", "text")
        for level in LEVELS:
            helps(box, "fs.read", at(level), ("cat", f"{box.dir}/beside"))
        contains(says_none(box, "fs.home", at("standard"), sh("cat $HOME/notes")), "own path", "text")
        done = box.run(*at("full"), "--", "cat", f"{box.ws}/none")
        check("hint" not in done.err, f"a hint for a file that is missing in the workspace: {done}")

    @test("hint: what is written beside a workspace in HOME, and beside a file that alone is granted", root=True)
    def _(box):
        box.write("home/top/ws/a", "x\n")
        box.write("home/one/f", "x\n")
        for level in LEVELS:
            helps(box, "fs.write", at(level, "--workspace", f"{box.home}/top/ws"), sh("echo r >../result"))
            # Directories that neither side has: the directory that is granted is one that exists.
            told, text = hint(box.run(*at(level, "--workspace", f"{box.home}/top/ws"), "--", *sh("mkdir ../new && mkdir ../new/deep")))
            equal(told, "fs.write", text)
            contains(text, f"--write {box.home}/top", text)
        check(f"--write {box.home}/top;" in hint(box.run(*at("full", "--workspace", f"{box.home}/top/ws"), "--", "touch", "../no/f/g"))[1],
              "not the directory above the workspace")
        check(f"existing directory above it: --write {box.home}/top" in
              hint(box.run(*at("standard", "--workspace", f"{box.home}/top/ws"), "--", "touch", f"{box.home}/top/no/g"))[1]
              + "\n", "not the nearest directory that exists")
        # At full the directory is one of the private HOME.
        helps(box, "fs.write", at("standard", "--write", f"{box.home}/one/f"), ("touch", f"{box.home}/one/.f.new"))
        helps(box, "fs.write", at("standard", "--write", f"{box.home}/one/f"), ("sed", "-i", "s/x/y/", f"{box.home}/one/f"))
        equal(box.read("home/one/f"), "y\n", "what sed saved")

    @test("hint: what lies beside a workspace in HOME, read, cloned and executed", root=True)
    def _(box):
        box.write("home/top/ws/a", "x\n")
        box.write("home/top/other/f", "x\n")
        box.write("home/top/other/tool", "#!/bin/sh\necho ran\n")
        os.chmod(f"{box.home}/top/other/tool", 0o755)
        box.execute(["git", "init", "-q", f"{box.home}/top/repo"]).exited(0)
        at_top = ("--workspace", f"{box.home}/top/ws")
        for level, rule in (("full", "fs.home"), ("standard", "fs.read")):
            helps(box, rule, at(level, *at_top), ("cat", "../other/f"))
            helps(box, rule, at(level, *at_top), ("git", "ls-remote", f"{box.home}/top/repo"))
            for command in ("../other/tool", f"{box.home}/top/other/tool"):
                done = box.run(*at(level, *at_top), "--", command)
                check(done.status in (126, 127), f"{done}")
                equal(box.run(*at(level, *at_top), *option(done.err), "--", command).exited(0).out, "ran\n", f"{level}: {command}")
        # Whether the host has it is not told.
        found = [hint(box.run(*at("full", *at_top), "--", *sh(f"echo x >../{name}/g")))[1].replace(name, "NAME") for name in ("other", "absent")]
        equal(found[0], found[1], "the hint tells what exists")
        text = says_none(box, "fs.home", at("standard", *at_top), sh("git ls-remote $HOME/top/repo"))
        contains(text, f"--read {box.home}/top/repo", "the caller's own path")
        check("push" not in text, f"how to push to what no option opens: {text}")

    @test("hint: git submodule update writes the configuration of a submodule anew")
    def _(box):
        for path in ("lib", "top"):
            box.execute(["git", "init", "-q", f"{box.ws}/{path}"]).exited(0)
            box.execute(["git", "-C", f"{box.ws}/{path}", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty",
                         "-m", "x"]).exited(0)
        box.execute(["git", "-C", f"{box.ws}/top", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"{box.ws}/lib",
                     "sub"]).exited(0)
        def in_top(*words):
            return box.run(*words, cwd=f"{box.ws}/top")
        for level in LEVELS:
            if in_top(*at(level), "git", "submodule", "update").status == 0:
                raise Skip("this git does not write it")
            helps(box, "fs.protect", at(level), ("git", "submodule", "update"), in_top)

    @test("hint: a denied path, pattern, set and credential", root=True)
    def _(box):
        for name in ("secret", "dir/in/a", "a.pem", ".env"):
            box.write(f"ws/{name}", "x\n")
        box.write("home/.aws/credentials", "x\n")
        for level in LEVELS:
            for rule, path in (("secret", "secret"), (f"{box.ws}/secret", "secret"), ("dir", "dir/in/a"), ("*.pem", "a.pem"),
                               ("@sensitive", ".env"), ("**/dir", "dir/in/a")):
                helps(box, "fs.deny", at(level, "--deny", rule), ("cat", path))
            helps(box, "fs.deny", at(level, "--deny", "*.key"), sh("echo x >new.key && rm new.key"))
            helps(box, "fs.deny", at(level, "--read", f"{box.home}"), ("cat", f"{box.home}/.aws/credentials"))

    @test("hint: the program that speaks is not what it failed on")
    def _(box):
        # Without a namespace a program is started although a pattern denies to read it (LM08a).
        os.mkdir(f"{box.ws}/bin")
        shutil.copy("/bin/cat", f"{box.ws}/bin/cat")
        box.write("ws/closed", "x\n")
        os.chmod(f"{box.ws}/closed", 0)
        done = box.run(*at("standard", "--deny", "**/cat"), "--", "bin/cat", "closed")
        contains(done.exited(1).err, "closed: Permission denied", "the file's mode")
        check("hint" not in done.err, f"a rule is blamed for a file's mode: {done}")
        contains(hint(box.run(*at("standard", "--deny", "closed"), "--", "bin/cat", "closed"))[1], "closed", "the file")

    @test("hint: a protected name, of the built-in sets, of git and of the caller's", root=True)
    def _(box):
        box.execute(["git", "init", "-q", box.ws]).exited(0)
        box.write("ws/kept/a", "x\n")
        box.write("ws/sub/n/.git/config", "")
        for level in LEVELS:
            for script in ("echo x >.envrc && rm .envrc", "mkdir .vscode && rmdir .vscode",
                           "echo x >>sub/n/.git/config", "echo x >.git/hooks/pre-commit && rm .git/hooks/pre-commit",
                           "git config corral.test x"):
                helps(box, "fs.protect", at(level), sh(script))
            helps(box, "fs.protect", at(level, "--protect", "kept"), sh("echo x >kept/a"))
            helps(box, "fs.protect", at(level, "--protect", "*.rc"), sh("echo x >a.rc && rm a.rc"))
        box.write("ws/.corral.toml", "")
        for level in LEVELS:
            says_none(box, "fs.protect", ("--level", level), sh("echo x >.corral.toml"))

    @test("hint: a read-only mode, a read-only system and what Corral makes itself", root=True)
    def _(box):
        for level in LEVELS:
            helps(box, "mode", at(level, "--mode", "read-only"), sh("echo x >a"))
            helps(box, "mode", at(level, "--mode", "read-only"), ("touch", "b"))
            if box.user.uid != 0:
                says_none(box, "fs.write", at(level), ("touch", "/etc/corral-new"))
                says_none(box, "fs.write", at(level), sh("echo x >/usr/corral-new"))
            # The file's own mode refuses it: no rule of the sandbox does.
            box.write("ws/closed", "x")
            os.chmod(f"{box.ws}/closed", 0)
            done = box.run(*at(level), "--", "cat", "closed")
            check("hint" not in done.err, f"a hint for a file's mode: {done}")
            os.unlink(f"{box.ws}/closed")

    @test("hint: the mode of an agent's table or of a skill is lifted by no option", root=True)
    def _(box):
        policy = box.write("home/.config/corral/corral.toml", '[agent.reviewer]\nmode = "read-only"\n', 0o600)
        skill = box.write("skill/skill.toml", 'name = "s"\n[requires]\nmode = "read-only"\n')
        for level in LEVELS:
            for barrier, words, origin in (("agent", ("--agent", "reviewer"), policy), ("skill", ("--skill", skill), skill)):
                text = says_none(box, "mode", ("--level", level, *words), sh("echo x >a"))
                contains(text, origin, "the remedy names the file")
                check("--mode" not in text, f"an option that does not help: {text}")
                done = box.run("--level", level, *words, "--json", "--", "sh", "-c", "echo x >a")
                equal([d["allow_with"] for d in done.json["denials"]], [None], f"denials of {done}")
                found = box.corral_("why", "--json", "--level", level, *words, "a", "--write").exited(1).json
                equal([found["forbidden_by"], found["grant"]], [barrier, None], f"{found}")

    @test("hint: with a skill no option opens a path alone", root=True)
    def _(box):
        far = elsewhere(box)
        try:
            for level in LEVELS:
                less = ("--level", level, "--skill", box.write("less/skill.toml", 'name = "s"\n'))
                more = ("--level", level, "--skill", box.write("more/skill.toml", f'name = "s"\n[requires]\nfs.read = ["{far}"]\n'))
                says_none(box, "skill", more, ["cat", f"{far}/f"])
                text = says_none(box, "skill", (*less, "--read", far), ["cat", f"{far}/f"])
                check("--read" not in text, f"an option that does not help: {text}")
                found = box.corral_("why", "--json", *less, f"{far}/f").exited(1).json
                equal([found["forbidden_by"], found["grant"]], ["skill", None], f"{found}")
                box.run(*more, "--read", far, "--", "cat", f"{far}/f").exited(0)
        finally:
            shutil.rmtree(far)

    @test("hint: in mode read-only a grant to write names the mode too, which it contradicts", root=True)
    def _(box):
        policy = box.write("home/.config/corral/corral.toml", '[agent.reviewer]\nmode = "read-only"\n', 0o600)
        far = elsewhere(box)
        try:
            for level in LEVELS:
                command = sh(f"echo x >{far}/f")
                denial, = box.run(*at(level, "--mode", "read-only", "--read", far), "--json", "--", *command).json["denials"]
                equal(denial["allow_with"], f"--mode workspace-write --write {far}/f", "the options")
                box.run(*at(level, "--mode", "read-only", *denial["allow_with"].split()), "--", *command).exited(0)
                text = says_none(box, "mode", ("--level", level, "--agent", "reviewer", "--read", far), command)
                contains(text, policy, "the remedy names the file")
        finally:
            shutil.rmtree(far)

    @test("hint: what cannot be moved")
    def _(box):
        box.execute(["git", "init", "-q", box.ws]).exited(0)
        for name in ("sub/in/a", "plain", ".vscode/a"):
            box.write(f"ws/{name}", "x\n")
        for level in LEVELS:
            for rule in ("--protect", "--deny"):
                for name in ("sub", "sub/in"):
                    says_none(box, "fs.protect", at(level, rule, name), ("mv", "sub", "gone"))
            helps(box, "fs.protect", at(level, "--protect", "plain"), sh("mv plain gone && mv gone plain"))
            helps(box, "fs.protect", at(level, "--protect", "sub"), sh("rm sub/in/a && echo x >sub/in/a"))
            helps(box, "fs.deny", at(level, "--deny", "sub"), sh("rm sub/in/a && echo x >sub/in/a"))
            helps(box, "fs.protect", at(level), sh("rm .vscode/a && echo x >.vscode/a"))
            says_none(box, "fs.protect", at(level), ("mv", ".git", "gone"))
        says_none(box, "fs.protect", at("full"), ("mv", box.ws, f"{box.ws}.2"))

    @test("hint: a git remote that is a path outside")
    def _(box):
        far = elsewhere(box)
        try:
            box.execute(["git", "init", "-q", "--bare", f"{far}/r.git"]).exited(0)
            box.execute(["git", "init", "-q", box.ws]).exited(0)
            for words in (("-C", box.ws, "remote", "add", "far", f"{far}/r.git"),
                          ("-C", box.ws, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x")):
                box.execute(["git", *words]).exited(0)
            for level in LEVELS:
                helps(box, "fs.read", at(level), ("git", "ls-remote", "far"))
                helps(box, "fs.read", at(level), sh(f"git clone -q {far}/r.git copy && rm -rf copy"))
                told, text = hint(box.run(*at(level), "git", "push", "-q", "far", "HEAD:x"))
                equal(told, "fs.read", text)
                write = re.search(r"--write [^\s;)]+", text).group(0).split()
                box.run(*at(level), *write, "git", "push", "-q", "far", f"HEAD:x-{level}").exited(0)
        finally:
            shutil.rmtree(far)

    @test("hint: what the floor says is lifted by no option", root=True)
    def _(box):
        far = elsewhere(box)
        try:
            box.write("ws/a.key", "x\n")
            box.write("ws/kept", "x\n")
            prepare(box, '[floor.fs]\ndeny = ["*.key"]\nprotect = ["kept"]\n[floor.net]\nmode = "none"\n[floor.limits]\n'
                    'open_files = 64\n')

            def run(*words):
                return administered(box, "run", *words)
            for level in LEVELS:
                says_none(box, "fs.deny", ("--level", level), ("cat", "a.key"), run)
                says_none(box, "fs.protect", ("--level", level), sh("echo x >kept"), run)
                says_none(box, "net.mode", ("--level", level), sh("echo Could not resolve host: x.test >&2; exit 6"), run)
                says_none(box, "limits.open_files", ("--level", level), OPEN, run)
        finally:
            shutil.rmtree(far)

    @test("hint: the limits of files, processes and private directories")
    def _(box):
        for level in LEVELS:
            helps(box, "limits.open_files", at(level, "--open-files", "64"), OPEN)
            helps(box, "limits.file_size", at(level, "--max-file-size", "64K"),
                  ("/usr/bin/python3", "-c", "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                   "open('big', 'wb', 0).write(b'x' * 100000); open('big', 'ab', 0).write(b'x' * 10000)"))
        helps(box, "limits.tmp_size", at("full", "--tmp-size", "1M"), ("dd", "if=/dev/zero", "of=/tmp/x", "bs=64K", "count=24"))
        if box.user.uid != 0:
            helps(box, "limits.processes", at("full", "--processes", "32"),
                  ("/usr/bin/python3", "-c", "import os, signal\nfor n in range(40):\n    if os.fork() == 0:\n        signal.pause()\n"))

    @test("hint: a service of the host's loopback, and a unix socket", root=True)
    def _(box):
        fetch = ("import sys, urllib.request\n"
                 "try:\n    urllib.request.urlopen(sys.argv[1], timeout=10).read()\n"
                 "except OSError as error:\n    sys.exit(f'{sys.argv[1]}: {error}')\n")
        with WebServer() as port:
            for level in LEVELS:
                helps(box, "net.mode", at(level), ("/usr/bin/python3", "-c", fetch, f"http://127.0.0.1:{port}/"))
            # Only 127.0.0.1 and ::1 are passed: for another address the same option would not help.
            for level in LEVELS:
                for more in ((), ("--host-port", str(port))):
                    command = ("/usr/bin/python3", "-c", fetch, f"http://127.89.8.99:{port}/")
                    told, text = hint(box.run(*at(level, *more), "--", *command))
                    equal(told, "net.mode", text)
                    contains(text, "127.89.8.99 is the sandbox's own loopback, and no option passes this address", "the hint")
                    contains(text, f"connect to 127.0.0.1:{port} with --host-port {port};", "what helps")
                found = box.corral_("why", "--json", *at(level, "--host-port", str(port)), f"127.89.8.99:{port}").exited(1).json
                equal(found["grant"], None, f"{found}")
                contains(found["advice"], f"connect to 127.0.0.1:{port}, and use --host-port {port}", "why")
        connect = CONNECT.replace("s.connect(sys.argv[1])",
                                  "\ntry:\n    s.connect(sys.argv[1])\nexcept OSError as e:\n    sys.exit(f'{sys.argv[1]}: {e}')")
        far = elsewhere(box)
        try:
            with UnixServer(f"{far}/x.sock"), UnixServer(f"{box.dir}/y.sock"):
                for level in LEVELS:
                    for path in (f"{far}/x.sock", f"{box.dir}/y.sock"):
                        helps(box, "net.sockets", at(level), ("/usr/bin/python3", "-c", connect, path))
        finally:
            shutil.rmtree(far)

    @test("hint: what no option opens says so: rights, namespaces, other processes, system calls", root=True)
    def _(box):
        for level in LEVELS:
            for rule, words in ((None, ("unshare", "-r", "true")), ("privileges", ("chroot", "/", "true"))):
                told, text = hint(box.run(*at(level), *words))
                check(rule in (None, told) and "--" not in text, f"{words}: {told}: {text}")
            box.write("ws/a", "x")
            if shutil.which("chattr"):
                says_none(box, "fs.write", at(level), ("chattr", "+i", "a"))
        told, text = hint(box.run(*at("standard"), "kill", "-0", "1"))
        equal(told, "pid", text)

    @test("hint: a call that seccomp.extra_deny refuses, by its name and origin")
    def _(box):
        words = ("/usr/bin/python3", "-c", "import os; os.getpgid(0)")
        for level in LEVELS:
            told, text = hint(box.run(*at(level), "--set", "seccomp.extra_deny=getpgid", *words))
            equal(told, "seccomp.extra_deny", text)
            contains(text, "getpgid (--set", "text")
        told, text = hint(box.run("--set", "seccomp.extra_deny=ptrace", "chroot", "/", "true"))
        contains(text, "needs root", "another cause")


OPEN = ("/usr/bin/python3", "-c", "a = [open('/dev/null') for _ in range(80)]")
