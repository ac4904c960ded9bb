# SPDX-License-Identifier: Apache-2.0
"""Grants: read-only islands, optional paths, links of dotfile managers, files that the host replaces."""
import os
import re
import time

from harness import PATIENCE, Skip, check, contains, equal, needs, wait_until

LEVELS = ("full", "standard")

# Says what it reads whenever that changes, until it reads "end" or a time is over.
READER = """
import sys, time
until, last = time.monotonic() + 120, None
while time.monotonic() < until:
    try:
        with open(sys.argv[1]) as file:
            text = file.read().strip()
    except OSError as error:
        text = error.strerror
    if text != last:
        print(text, flush=True)
        last = text
    if text == "end":
        break
    time.sleep(0.01)
"""


def replace(box, path, text):
    """As editors save: a new file, renamed over the old one."""
    os.rename(box.write(f"{path}.new", f"{text}\n"), os.path.join(box.dir, path))


def await_sign(box):
    """Until the command says, by a file, that it runs and has seen the old state."""
    check(wait_until(lambda: box.exists("ws/begun")), "the command does not begin")
    os.unlink(f"{box.ws}/begun")


def with_submodule(box):
    """Two repositories beside the workspace: "project" has the other one, "lib", as a submodule."""
    needs(box, "git")
    box.write("home/.gitconfig", "[protocol \"file\"]\n\tallow = always\n[user]\n\tname = a\n\temail = b\n")
    box.env["GIT_ALLOW_PROTOCOL"] = "file"
    box.write("home/.config/corral/corral.toml", "[env.set]\nGIT_ALLOW_PROTOCOL = \"file\"\n")
    box.sh("cd .. && git init -q lib && cd lib && echo x >x && git add x && git commit -qm x && git init -q ../project && cd ../project "
           "&& git submodule --quiet add ../lib lib && git commit -qm lib").exited(0)


class Reading:
    """A command that reads one file over and over, and what it has said so far."""

    def __init__(self, box, path, *options):
        box.write("ws/reader.py", READER)
        self.path = os.path.join(box.dir, path)
        self.process = box.start([box.corral, "run", *options, "--", "python3", "reader.py", self.path])
        os.set_blocking(self.process.stdout.fileno(), False)
        self.said = ""

    def sees(self, text):
        check(wait_until(lambda: text in self.lines()), f"{text!r} is not seen: {self.said!r}")

    def lines(self):
        self.said += (self.process.stdout.read() or b"").decode()
        return self.said.splitlines()

    def finish(self):
        self.process.wait(PATIENCE)
        return self.lines()


def islands(test, level):
    def run(box, *words):
        box.write("ws/sub/file", "kept\n")
        box.write("ws/sub/deep/file", "kept\n")
        box.mkdir("ws/sub/deep/out")
        return box.run("--level", level, *words)

    @test(f"{level}: a read-only island in the workspace, and nothing around it")
    def _(box):
        run(box, "--read", "sub", "-c", "echo x >sub/file; rm -rf sub; mv sub sub2; touch sub/new; ln sub/file link; "
            "echo fine >beside; mkdir -p other/deep").exited(0)
        equal(box.read("ws/sub/file"), "kept\n", "the island's file")
        equal(sorted(os.listdir(f"{box.ws}/sub")), ["deep", "file"], "the island")
        equal(sorted(os.listdir(box.ws)), ["beside", "other", "sub"], "the workspace")

    @test(f"{level}: islands nest, in whatever order they are written")
    def _(box):
        grants = [["--read", "sub"], ["--write", "sub/deep"], ["--read", "sub/deep/out"]]
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            words = [word for i in order for word in grants[i]]
            done = run(box, *words, "-c", "touch sub/a; touch sub/deep/a; touch sub/deep/out/a; mv sub/deep/out x; "
                       "find . -name a")
            equal(done.out, "./sub/deep/a\n", f"what was made with {words}")
            os.unlink(f"{box.ws}/sub/deep/a")

    @test(f"{level}: a file is an island too")
    def _(box):
        box.write("ws/one", "kept\n")
        run(box, "--read", "one", "-c", "echo x >one; echo x >two; mv two one; rm -f one; ln one three; chmod 777 one")
        equal(box.read("ws/one"), "kept\n", "the file")

    @test(f"{level}: an optional path that is missing is skipped and noted, any other is an error")
    def _(box):
        done = run(box, "-v", "--read", f"{box.dir}/nothing?", "--write", "sub/none?", "-c", "echo ran").exited(0)
        equal(done.out, "ran\n", "stdout")
        done.said(f"note: skipped, does not exist: {box.dir}/nothing (--read)", f"{box.ws}/sub/none (--write)")
        run(box, "--read", f"{box.dir}/nothing", "true").exited(2).said(f"{box.dir}/nothing", "remedy")


def moves(test, level):
    @test(f"{level}: a rename into a repository that fails keeps the file in its place")
    def _(box):
        needs(box, "git")
        with open("/proc/sys/fs/protected_hardlinks", encoding="ascii") as file:
            if os.getuid() != 0 or file.read() != "1\n":
                raise Skip("a file that the command cannot link needs root, and fs.protected_hardlinks")
        box.sh("git init -q . && echo kept >.git/kept").exited(0)
        os.chown(box.write("ws/foreign", "foreign\n"), 0, 0)
        rename = "import os, sys; os.rename(*sys.argv[1:])"
        done = box.run("--level", level, "--", "python3", "-c", rename, "foreign", ".git/kept").exited(1)
        contains(done.err, "Invalid cross-device link", "stderr")
        equal(box.read("ws/.git/kept"), "kept\n", "the file in its place")
        equal(box.read("ws/foreign"), "foreign\n", "the file that was to be moved")
        box.run("--level", level, "-c", "echo new >own && mv own .git/kept && test ! -e own").exited(0)
        equal(box.read("ws/.git/kept"), "new\n", "the file that was moved")
        check(not [name for name in os.listdir(f"{box.ws}/.git") if name.startswith(".corral")], "a name is left behind")


def links(test, level):
    @test(f"{level}: dotfiles that are links work at their own path and where they lead")
    def _(box):
        target = box.write("home/dotfiles/vimrc", "set x\n")
        box.write("home/dotfiles/private", "secret\n")
        box.mkdir("home/store/generation")
        os.symlink("dotfiles/vimrc", f"{box.home}/.vimrc")
        os.symlink("../../dotfiles/vimrc", f"{box.home}/store/generation/vimrc")
        os.symlink(f"{box.home}/store/generation", f"{box.home}/current")
        os.symlink("current/vimrc", f"{box.home}/.chain")
        for name in (".vimrc", ".chain"):
            path = f"{box.home}/{name}"
            done = box.run("--level", level, "--read", path, "-c", f"cat {path} {target}; cat {box.home}/dotfiles/private")
            equal(done.exited(1).out, "set x\nset x\n", name)

    @test(f"{level}: a directory that is a link, and a path through it")
    def _(box):
        box.write("home/dotfiles/app/settings", "a\n")
        box.mkdir("home/.config")
        os.symlink("../dotfiles/app", f"{box.home}/.config/app")
        path = f"{box.home}/.config/app"
        for grant in (path, f"{path}/settings"):
            done = box.run("--level", level, "--read", grant, "-c",
                           f"cat {path}/settings {box.home}/dotfiles/app/settings").exited(0)
            equal(done.out, "a\na\n", grant)

    @test(f"{level}: toolchains and programs that are links")
    def _(box):
        box.write("home/tools/cargo/bin/linked-tool", "#!/bin/sh\necho tool\n", 0o755)
        box.write("home/dotfiles/bin/linked-script", "#!/bin/sh\necho script\n", 0o755)
        box.write("home/dotfiles/bin/beside", "#!/bin/sh\necho beside\n", 0o755)
        box.write("home/notes.txt", "secret\n")
        os.symlink("tools/cargo", f"{box.home}/.cargo")
        box.mkdir("home/.local/bin")
        os.symlink("../../dotfiles/bin/linked-script", f"{box.home}/.local/bin/linked-script")
        os.symlink("../../notes.txt", f"{box.home}/.local/bin/notes")
        env = {**box.env, "PATH": f"{box.home}/.local/bin:{box.home}/.cargo/bin:{box.env['PATH']}"}
        done = box.run("--level", level, "-c", f"linked-tool; linked-script; cat {box.home}/.local/bin/notes; "
                       f"cat {box.home}/dotfiles/bin/beside; true", env=env).exited(0)
        equal(done.out, "tool\nscript\n", "stdout")

    @test(f"{level}: a link to a program, put there by a command, opens nothing")
    def _(box):
        box.write("home/.local/bin/plain", "#!/bin/sh\n", 0o755)
        box.write("home/private/run.sh", "secret\n", 0o755)
        env = {**box.env, "PATH": f"{box.home}/.local/bin:{box.env['PATH']}"}
        words = ("--level", level, "--write", f"{box.home}/.local/bin", "-c")
        script = f"ln -sf {box.home}/private/run.sh {box.home}/.local/bin/run.sh; cat {box.home}/.local/bin/run.sh; true"
        for time_of in ("the first time", "the next time"):
            equal(box.run(*words, script, env=env).exited(0).out, "", time_of)

    @test(f"{level}: git's identity is found where ~/.gitconfig is a link")
    def _(box):
        needs(box, "git")
        box.write("home/dotfiles/gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.org\n")
        os.symlink("dotfiles/gitconfig", f"{box.home}/.gitconfig")
        equal(box.run("--level", level, "-c", "git config user.name; git config user.email").exited(0).out,
              "Ann\nann@example.org\n", "identity")

    @test(f"{level}: a link that a command left in the workspace does not redirect a grant")
    def _(box):
        box.write("outside/file", "secret\n")
        box.run("--level", level, "-c", f"ln -s {box.dir}/outside link; ln -s {box.dir}/outside/file file").exited(0)
        for grant in ("link", "file", "link/file"):
            done = box.run("--level", level, "--read", grant, "-c", f"cat {grant}").exited(2)
            done.said("a symlink in a writable tree", f"{box.dir}/outside")


def replaced(test):
    @test("a file that the host replaces is seen inside while it runs, in the home and outside", root=True)
    def _(box):
        for place in ("granted/file", "home/.settings", "ws/island"):
            box.write(place, "old\n")
            reading = Reading(box, place, "--read", os.path.join(box.dir, place))
            reading.sees("old")
            replace(box, place, "new")
            reading.sees("new")
            replace(box, place, "end")
            equal(reading.finish(), ["old", "new", "end"], f"what was seen of {place}")

    @test("a granted file in a directory without a search bit stops no run, and stays out of reach", root=True, user=False, base="/srv")
    def _(box):
        path = box.write("ws/closed/inner/file", "content\n")
        words = ("--set", "fs.workspace_at=/workspace", "--set", "fs.view=host", "--deny", os.path.dirname(path),
                 "--read", path, "-c", f"cat {path}; echo end")
        os.chmod(f"{box.ws}/closed", 0o000)
        equal(box.sh(f"cat {path}").out, "content\n", "root outside has capabilities")
        inside = box.run(*words)
        equal((inside.status, inside.out), (0, "end\n"), inside.err)
        os.chmod(f"{box.ws}/closed", 0o755)
        equal(box.run(*words).out, "content\nend\n", "with the search bit")

    @test("a linked dotfile is followed at both of its paths")
    def _(box):
        box.write("home/dotfiles/rc", "old\n")
        os.symlink("dotfiles/rc", f"{box.home}/.rc")
        for path in ("home/.rc", "home/dotfiles/rc"):
            reading = Reading(box, path, "--read", f"{box.home}/.rc")
            reading.sees("old")
            replace(box, "home/dotfiles/rc", "end")
            equal(reading.finish(), ["old", "end"], path)
            replace(box, "home/dotfiles/rc", "old")

    @test("after it was replaced a read-only file is still read-only, and its neighbours are still closed", root=True)
    def _(box):
        for place in ("granted/file", "ws/island"):
            box.write(place, "old\n")
            box.write("granted/sibling", "secret\n")
            path = os.path.join(box.dir, place)
            process = box.start([box.corral, "run", "--read", path, "-c",
                                 f": >begun; until grep -q new {path}; do sleep 0.05; done; sleep 1; echo x >{path}; rm -f {path}; "
                                 f"mv {path} {path}2; cat {box.dir}/granted/sibling; ls {box.dir}/granted; "
                                 f"cat {path}; true"])
            await_sign(box)
            replace(box, place, "new")
            out, err = process.communicate(timeout=PATIENCE)
            out = out.decode()
            check("secret" not in out and "sibling" not in out, f"{place}: {out!r}")
            contains(out, "new\n", place)
            equal(box.read(place), "new\n", f"{place} on the host, {err!r}")

    @test("a read-only file in the workspace is not writable for a moment when the host replaces it")
    def _(box):
        path = box.write("ws/island", "0\n")
        box.write("ws/writer.py", """import os
open("begun", "w").close()
won = 0
while not os.path.exists("stop"):
    try:
        open("island", "a").close()
        won += 1
    except OSError:
        pass
print(won)
""")
        process = box.start([box.corral, "run", "--read", path, "--", "python3", "writer.py"])
        await_sign(box)
        for number in range(60):
            time.sleep(0.05)
            replace(box, "ws/island", str(number))
        box.write("ws/stop", "")
        equal(process.communicate(timeout=PATIENCE)[0].decode(), "0\n", "how often it could be opened for writing")

    @test("a hidden file or directory that the host replaces is hidden again", root=True)
    def _(box):
        box.write("home/.cargo/bin/tool", "#!/bin/sh\n", 0o755)
        box.write("home/.cargo/credentials.toml", "old secret\n", 0o600)
        box.write("home/.local/share/keyrings/login", "old secret\n", 0o600)
        box.write("home/.local/share/app/settings", "plain\n")
        reads = f"cat {box.home}/.cargo/credentials.toml {box.home}/.local/share/keyrings/login 2>/dev/null"
        process = box.start([box.corral, "run", "--read", f"{box.home}/.local/share", "--read", f"{box.home}/.cargo", "-c",
                             f"cat {box.home}/.local/share/app/settings; {reads}; : >begun; "
                             f"until test -e go; do sleep 0.05; done; sleep 1; {reads}; echo end"])
        await_sign(box)
        replace(box, "home/.cargo/credentials.toml", "new secret")
        box.write("home/new/login", "new secret\n")
        os.rename(f"{box.home}/.local/share/keyrings", f"{box.home}/old")
        os.rename(f"{box.home}/new", f"{box.home}/.local/share/keyrings")
        box.write("ws/go", "")
        equal(process.communicate(timeout=PATIENCE)[0].decode(), "plain\nend\n", "what was read")

    @test("a hidden file is hidden again after each way of replacing it, soon", root=True)
    def _(box):
        path = f"{box.home}/.cargo/credentials.toml"
        box.write("home/.cargo/bin/tool", "#!/bin/sh\n", 0o755)
        box.write(path, "old secret\n", 0o600)
        # In the second the mount moves with the name, which is no event of the table of mounts.
        ways = ("mv new credentials.toml", "mv credentials.toml away; cp other credentials.toml",
                "rm credentials.toml; sleep 0.3; cp other credentials.toml", "ln -sfT link1 credentials.toml",
                "ln -sfT link2 credentials.toml", "rm credentials.toml; cp other credentials.toml", "mv third credentials.toml")
        for name in ("new", "other", "third", "link1", "link2"):
            box.write(f"home/.cargo/{name}", "new secret\n", 0o600)
        process = box.start([box.corral, "run", "--read", f"{box.home}/.cargo", "-c",
                             f": >begun; for i in $(seq 0 {len(ways) - 1}); do until test -e go$i; do sleep 0.05; done; "
                             f"n=0; while [ $n != 100 ] && cat {path} >/dev/null 2>&1; do n=$((n+1)); sleep 0.1; done; "
                             f"cat {path}; : >done$i; done; echo end"])
        await_sign(box)
        for i, way in enumerate(ways):
            box.sh(f"cd {box.home}/.cargo && {way}").exited(0)
            box.write(f"ws/go{i}", "")
            check(wait_until(lambda i=i: box.exists(f"ws/done{i}")), f"the command did not read after: {way}")
        equal(process.communicate(timeout=PATIENCE)[0].decode(), "end\n", "what was read")

    @test("a writable file that was replaced is the new one that is written")
    def _(box):
        path = box.write("granted/file", "old\n")
        process = box.start([box.corral, "run", "--write", path, "-c",
                             f": >begun; until grep -q new {path}; do sleep 0.05; done; echo more >>{path}"])
        await_sign(box)
        replace(box, "granted/file", "new")
        equal(process.wait(PATIENCE), 0, "status")
        equal(box.read("granted/file"), "new\nmore\n", "on the host")

    @test("a granted directory of an agent is written, but for what the agent starts on the host")
    def _(box):
        box.write("home/.codex/config.toml", "kept\n")
        box.write("home/dotfiles/claude/settings.json", "kept\n")
        os.symlink("dotfiles/claude", f"{box.home}/.claude")
        script = ("cd $1; echo x >history.jsonl; echo planted >>$2; echo planted >n; mv n $2; "
                  "mkdir skills; echo planted >skills/x; mv ../$(basename $PWD) ../moved; rm -f n; ls -A")
        for level in LEVELS:
            for name, settings, at in ((".codex", "config.toml", ".codex"), (".claude", "settings.json", "dotfiles/claude")):
                path = f"{box.home}/{at}"
                done = box.run("--level", level, "--write", f"{box.home}/{name}", "--", "sh", "-c", script, "sh", path, settings)
                done.said(f"{path} is the directory of an agent", "are read-only", settings[:8], "--protect '!@agents'")
                equal(box.read(f"home/{at}/{settings}"), "kept\n", f"{level}: {settings}")
                equal(sorted(os.listdir(path)), sorted([settings, "history.jsonl"]), f"{level}: {at}")
            done = box.run("--level", level, "--write", f"{box.home}/.codex", "--protect", "!@agents", "-c",
                           f"echo more >{box.home}/.codex/hooks.json; rm {box.home}/.codex/hooks.json").exited(0)
            done.said("can change files that the agent runs")
            done = box.run("--level", level, "--read", f"{box.home}/.codex", "true").exited(0)
            check("agent" not in done.err, f"a warning without a grant for writing: {done.err}")

    @test("git's list of ignored names is shown inside, but not by a link, which a command may have turned")
    def _(box):
        needs(box, "git")
        secret = box.write("home/secret", "secret\n", 0o600)
        path = f"{box.mkdir('home/.config/git')}/ignore"
        box.write("home/.config/git/ignore", "*.junk\n")
        script = "git config core.excludesFile >f; test -s f && cat $(cat f); rm f"
        for level in LEVELS:
            equal(box.run("--level", level, "-c", script).out, "*.junk\n", f"{level}: a file")
        os.unlink(path)
        os.symlink(secret, path)
        for level in LEVELS:
            equal(box.run("--level", level, "-c", script).out, "", f"{level}: a link")

    @test("git submodule add fails before it has changed anything, and works where its files may change")
    def _(box):
        needs(box, "git")
        box.sh("git init -q . && git init -q lib && cd lib && git -c user.name=a -c user.email=b commit -q --allow-empty -m x").exited(0)
        add = ("--", "git", "-c", "protocol.file.allow=always", "submodule", "add", f"{box.ws}/lib", "sub")
        state = "git status --porcelain; ls -A; ls .git"
        before = box.sh(state).out
        for level in LEVELS:
            done = box.run("--level", level, *add)
            check(done.status != 0, "the submodule was added")
            done.said("--protect '!.gitmodules'")
            equal(box.sh(state).out, before, f"{level}: on the host")
        denied = next(one for one in box.json(*add)["denials"] if one["path"].endswith("/.git/modules"))
        equal(denied["allow_with"], None, "an option that would let it fail half-way")
        for words in (("check", "path", ".git/modules/sub", "--write"), ("why", ".git/modules/sub", "--write")):
            contains(box.corral_(*words).exited(1).out, denied["remedy"], words)
        told = re.findall(r"--protect '(!\S+)'", denied["remedy"])
        equal(told, [f"!{box.ws}/.gitmodules", f"!{box.ws}/.git/config"], "the exceptions of the record")
        box.run(*(word for one in told for word in ("--protect", one)), *add).exited(0)
        contains(box.read("ws/.git/config"), "submodule \"sub\"", "with the remedy of the hint")

    @test("git submodule add beside other submodules fails before it has changed anything")
    def _(box):
        with_submodule(box)
        state = "git status --porcelain; ls -A; ls .git .git/modules"
        box.sh("git clone -q --recurse-submodules ../project made && mv made/.git made/.gitmodules made/lib .").exited(0)
        before = box.sh(state).out
        for level in LEVELS:
            add = ("--level", level, "--read", f"{box.dir}/lib", "--", "git", "submodule", "add", f"{box.dir}/lib", "more")
            done = box.run(*add)
            check(done.status != 0, "the submodule was added")
            done.said("--protect '!.gitmodules' --protect '!.git/config'")
            equal(box.sh(state).out, before, f"{level}: on the host")
            check(box.run("--protect", "!.gitmodules", *add).status != 0, "without the configuration")
            equal(box.sh(state).out, before, f"{level}: with half of the remedy")
            done = box.run("--level", level, "-c", "echo x >>.git/modules/lib/config; mkdir .git/modules/x; mkdir .git/modules/lib/x")
            equal(box.sh("ls .git/modules; cat .git/modules/lib/config | grep -c ^x").out, "lib\n0\n", f"{level}: kept")
            box.sh("rmdir .git/modules/lib/x").exited(0)
        box.run("--protect", "!.gitmodules", "--protect", "!.git/config", *add).exited(0)
        contains(box.read("ws/.git/config"), "submodule \"more\"", "with the remedy of the hint")

    @test("git submodule update --init works, and the repository's configuration stays as it is")
    def _(box):
        with_submodule(box)
        grants = ("--read", f"{box.dir}/lib", "--read", f"{box.dir}/project")
        for level in LEVELS:
            box.sh("rm -rf .git .gitmodules lib && git clone -q ../project made && mv made/.git made/.gitmodules . && rmdir made/lib made "
                   "&& git reset -q --hard").exited(0)
            config = box.read("ws/.git/config")
            box.run("--level", level, *grants, "--", "git", "submodule", "update", "-q", "--init", "--recursive").exited(0)
            equal(box.read("ws/lib/x"), "x\n", f"{level}: its file")
            equal(box.read("ws/.git/config"), config, f"{level}: the configuration")
            box.sh("git submodule update -q --init && git submodule status").exited(0)
            equal(box.run("--level", level, "-c", "git init -q other && cd other && git config submodule.lib.url; rm -rf ../other").out, "",
                  f"{level}: the URL in another repository")

    @test("git inside has the URLs of submodules as init would write them, without a remote's login")
    def _(box):
        needs(box, "git")
        box.sh("git init -q .").exited(0)
        box.write("ws/.gitmodules", '[submodule "a"]\n\tpath = a\n\turl = ../a.git\n\tupdate = rebase\n'
                  '[submodule "b/c \\"d"]\n\tpath = b\n\turl = https://b.example/b\n\tupdate = !touch made\n')
        for base, wanted in (("https://ann:hunter2@code.example/x/y.git", "https://code.example/x/a.git"),
                             ("git@code.example:y.git", "git@code.example:a.git"), ("ssh://code.example/x/y/", "ssh://code.example/x/a.git"),
                             ("../near", None)):
            box.sh(f"git config remote.origin.url {base}").exited(0)
            for level in LEVELS:
                done = box.run("--level", level, "-c", "git config --get-regexp '^submodule[.]' ; cat $GIT_CONFIG_SYSTEM")
                check("hunter2" not in done.out, f"{level}: a password is shown")
                lines = [line for line in done.out.splitlines() if line.startswith("submodule.")]
                own = [] if wanted is None else [f"submodule.a.url {wanted}", "submodule.a.update rebase"]
                equal(lines, [*own, 'submodule.b/c "d.url https://b.example/b', 'submodule.b/c "d.update none'], f"{level}: {base}")
        box.sh("git remote add other https://other.example/y").exited(0)
        check("submodule.a.url" not in box.run("-c", "git config --get-regexp submodule").out, "which remote counts is not known")

    @test("git clone --local between two grants is refused whole, with a hint that helps")
    def _(box):
        needs(box, "git")
        lib = f"{box.home}/lib"
        box.sh(f"git init -q {lib} && cd {lib} && git -c user.name=a -c user.email=b commit -q --allow-empty -m x").exited(0)
        for level in LEVELS:
            done = box.run("--level", level, "--read", lib, "--", "git", "clone", "-q", "--local", lib, "copy")
            check(done.status != 0 and not box.exists("ws/copy"), "half a clone is left")
            done.said("each grant is a mount of its own; without --local")
            denied = box.json("--level", level, "--read", lib, "--", "git", "clone", "-q", "--local", lib, "copy")["denials"]
            equal([(one["op"], one["allow_with"]) for one in denied], [("link", None)], "an option that does not help")
            box.run("--level", level, "--read", lib, "--", "git", "clone", "-q", "--no-hardlinks", lib, f"{level}-copied").exited(0)
            box.run("--level", level, "--read", lib, "--", "git", "clone", "-q", lib, level).exited(0)
            check(box.exists(f"ws/{level}/.git/HEAD"), "no clone")
            box.run("--level", level, "--", "git", "clone", "-q", level, f"{level}-again").exited(0)
            box.run("--level", level, "-c", f"cd {level} && git clone -q . again && git clone -q --local again linked").exited(0)
            check(os.stat(f"{box.ws}/{level}/linked/.git/HEAD"), "no clone with links in one mount")

    @test("a save by rename reaches a file of HOME that is granted by itself, and only it", root=True)
    def _(box):
        path = box.write("home/.toolrc", "old\n", 0o640)
        done = box.run("--write", path, "-c", f"sed -i s/old/a-longer-new/ {path} && cat {path} && ls {box.home}").exited(0)
        equal(done.out, "a-longer-new\n", "inside")
        equal(box.read("home/.toolrc"), "a-longer-new\n", "on the host")
        equal(os.stat(path).st_mode & 0o777, 0o640, "its mode")
        box.run("--write", path, "-c", f"echo s >/tmp/x && mv /tmp/x {path} && test ! -e /tmp/x").exited(0)
        equal(box.read("home/.toolrc"), "s\n", "from another file system, and shorter")
        done = box.run("--read", path, "-c", f"echo t >~/t; mv ~/t {path}")
        check(done.status != 0, "a file that is only readable is replaced")
        equal(box.read("home/.toolrc"), "s\n", "on the host")

    @test("at level standard a save by rename reaches the file of HOME that the private home has a link to", root=True)
    def _(box):
        at = ("--level", "standard")
        for name in (".toolrc", "set/file"):
            path = box.write(f"home/{name}", "old\n", 0o640)
            done = box.run(*at, "--write", path, "-c", f"sed -i s/old/a-longer-new/ ~/{name} && cat {path} && ls -A ~/{name}*").exited(0)
            equal((done.out.split()[0], done.out.count("\n"), done.err), ("a-longer-new", 2, ""), "inside")
            equal(box.read(f"home/{name}"), "a-longer-new\n", "on the host")
            equal(os.stat(path).st_mode & 0o777, 0o640, "its mode")
            box.run(*at, "--write", path, "-c", f"echo n >n && mv n ~/{name} && echo more >>~/{name}").exited(0)
            equal(box.read(f"home/{name}"), "n\nmore\n", "from another directory, and open for writing after it")
            done = box.run(*at, "--read", path, "-c", f"echo t >~/t; mv ~/t ~/{name}")
            check(done.status != 0 and "~/t " in done.err, f"a file that is only readable is replaced: {done}")
            done = box.run(*at, "--write", path, "-c", f"mkdir ~/d; python3 -c 'import os; os.rename(\"d\", \"{name}\")'; rm -r ~/d; "
                           f"ln -s {path} ~/l; cd; echo x >y; mv y l; cat l; rm l; ln -s {box.home} away; echo z >away/z; cat away/z")
            check("x\n" in done.out and "z\n" not in done.out, f"links of the command's own: {done}")
            equal(box.read(f"home/{name}"), "n\nmore\n", "on the host")
            check(not box.exists("home/z"), "a file beside it is on the host")

    @test("a rename onto a granted file copies no file that has a second name, no link and no directory")
    def _(box):
        path = box.write("home/.toolrc", "old\n")
        for make in ("echo x >a; ln a b", "ln -s /etc/passwd a", "mkdir a", "mkfifo a"):
            done = box.run("--write", path, "--", "sh", "-c", f"{make}; python3 -c 'import os; os.rename(\"a\", \"{path}\")'; rm -rf a b")
            equal(box.read("home/.toolrc"), "old\n", make)

    @test("a rename onto a granted file does so at level standard too")
    def _(box):
        path = box.write("granted/file", "old\n")
        words = ("--level", "standard", "--write", path, "--", "python3", "-c")
        box.run(*words, f"import os; open('n', 'w').write('new'); os.rename('n', '{path}')").exited(0)
        equal(box.read("granted/file"), "new", "on the host")
        check(not box.exists("ws/n"), "the new file is still there")

    @test("what was open of a replaced file stays readable, and a program can be replaced too")
    def _(box):
        path = box.write("granted/file", "old\n")
        tool = box.write("granted/tool", "#!/bin/sh\necho one\n", 0o755)
        process = box.start([box.corral, "run", "--read", path, "--read", tool, "-c",
                             f"exec 3<{path}; : >begun; until grep -q new {path}; do sleep 0.05; done; cat <&3; "
                             f"until {tool} | grep two; do sleep 0.05; done"])
        await_sign(box)
        os.rename(box.write("granted/tool.new", "#!/bin/sh\necho two\n", 0o755), tool)
        replace(box, "granted/file", "new")
        equal(process.communicate(timeout=PATIENCE)[0].decode(), "old\ntwo\n", "stdout")

    @test("a symlink, a directory or nothing in its place leaves the old file, and a file shows again")
    def _(box):
        path = box.write("granted/file", "old\n")
        box.write("granted/secret", "secret\n")
        reading = Reading(box, "granted/file", "--read", path)
        reading.sees("old")
        os.symlink("secret", f"{path}.link")
        os.rename(f"{path}.link", path)
        time.sleep(1)
        os.unlink(path)
        time.sleep(1)
        os.mkdir(path)
        time.sleep(1)
        os.rmdir(path)
        box.write("granted/file", "end\n")
        equal(reading.finish(), ["old", "end"], "what was seen")

    @test("a file of another user in its place is not shown")
    def _(box):
        if os.getuid() != 0:
            raise Skip("giving a file away needs root")
        path = box.write("granted/file", "old\n")
        reading = Reading(box, "granted/file", "--read", path)
        reading.sees("old")
        stranger = box.write("granted/file.new", "strange\n")
        os.chown(stranger, 12345, 12345)
        os.rename(stranger, path)
        time.sleep(1.5)
        replace(box, "granted/file", "end")
        equal(reading.finish(), ["old", "end"], "what was seen")

    @test("a thousand replacements end with the last, and one mount")
    def _(box):
        path = box.write("granted/file", "0\n")
        script = (f"echo begun; until grep -q end {path}; do sleep 0.05; done; grep -c granted/file /proc/self/mountinfo; "
                  f"ls {box.dir}/granted")
        process = box.start([box.corral, "run", "--read", path, "-c", script])
        equal(process.stdout.readline(), b"begun\n", "stdout")
        for number in range(1000):
            replace(box, "granted/file", str(number))
            time.sleep(0.002)
        replace(box, "granted/file", "end")
        equal(process.communicate(timeout=PATIENCE)[0].decode(), "1\nfile\n", "mounts and names inside")
        equal(os.listdir(f"{box.dir}/granted"), ["file"], "on the host")

    @test("a supervisor that is killed while a file is replaced leaves nothing")
    def _(box):
        path = box.write("granted/file", "0\n")
        for _ in range(4):
            process = box.start([box.corral, "run", "--read", path, "sleep", "600"])
            for number in range(50):
                replace(box, "granted/file", str(number))
                time.sleep(0.01)
            process.kill()
            process.wait(PATIENCE)
        check(wait_until(lambda: not box.strays()), f"left: {box.remains()}")

    @test("standard: that a replaced file is not followed is said, and holds")
    def _(box):
        path = box.write("granted/file", "old\n")
        done = box.corral_("explain", "--level", "standard", "--read", path).exited(0)
        contains(done.out, f"{path} is a single file", "explain")
        reading = Reading(box, "granted/file", "--level", "standard", "--read", path)
        reading.sees("old")
        replace(box, "granted/file", "new")
        reading.sees("Permission denied")
        reading.process.terminate()
        reading.process.wait(PATIENCE)
        directory = os.path.dirname(path)
        reading = Reading(box, "granted/file", "--level", "standard", "--read", directory)
        reading.sees("new")
        replace(box, "granted/file", "end")
        equal(reading.finish()[-1], "end", "with its directory granted")


def register(suite):
    for level in LEVELS:
        islands(suite.test, level)
        moves(suite.test, level)
        links(suite.test, level)
    replaced(suite.test)
