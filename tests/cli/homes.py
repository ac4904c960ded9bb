# SPDX-License-Identifier: Apache-2.0
"""HOME: private, kept per workspace, toolchains shown, credentials not."""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from harness import PATIENCE, Skip, check, contains, equal, needs, wait_until

# Files of a home that no command may see, wherever its PATH leads.
CREDENTIALS = [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
               ".docker/config.json", ".kube/config", ".gnupg/private.key", ".config/gh/hosts.yml",
               ".cargo/credentials.toml", ".cargo/credentials", ".bash_history", ".pgpass", ".azure/token",
               ".mozilla/cookies", ".local/share/keyrings/login", ".m2/settings.xml", "Documents/private.txt",
               "other-project/source.c", ".bashrc", ".nvm/.npmrc", ".rustup/credentials.json"]

TOOLCHAINS = [".cargo/bin/cargo-tool", ".rustup/toolchains/x/bin/rustc-tool", ".local/bin/own-tool",
              ".pyenv/shims/py-tool", ".nvm/versions/node/v1/bin/node-tool", "go/bin/go-tool", ".deno/bin/deno-tool",
              ".volta/bin/volta-tool", ".bun/bin/bun-tool"]


def furnish(box):
    for name in CREDENTIALS:
        box.write(f"home/{name}", f"secret of {name}\n", 0o600)
    for name in TOOLCHAINS:
        box.write(f"home/{name}", f"#!/bin/sh\necho tool {os.path.basename(name)}\n", 0o755)


def beside_home(box):
    """What lies beside the private home of the box's workspace."""
    homes = f"{box.home}/.local/state/corral/homes"
    home, = os.listdir(homes)
    return sorted(os.listdir(f"{homes}/{home}"))


def waiting(box, *options):
    """A run that has begun, reads a granted file when ws/go is there, and ends."""
    script = "touch ready; while [ ! -e go ]; do sleep 0.02; done; cat ~/data.csv"
    process = box.start([box.corral, "run", *options, "-c", script])
    check(wait_until(lambda: box.exists("ws/ready"), 20), "the run has not begun")
    return process


def register(suite):
    test = suite.test

    @test("HOME is private: nothing written there appears in the real one", root=True)
    def _(box):
        box.write("home/visible.txt", "mine\n")
        done = box.run("-c", "cd; pwd; test -e visible.txt && echo leaked; echo x >written; mkdir -p .cache/y").exited(0)
        equal(done.out, f"{box.home}\n", "the home inside")
        check(not box.exists("home/written") and not box.exists("home/.cache"), "it was written to the real home")

    @test("git signs commits as outside, and learns no more of ~/.gitconfig", root=True)
    def _(box):
        needs(box, "git")
        box.write("home/.config/git/config", "[user]\n\tname = Not Her\n\temail = ann@example.org\n")
        box.write("home/.gitconfig", "[github]\n\ttoken = hunter2\n[user]\n\tname = \"Ann \\\"A\\\" Example\"\n")
        script = "git init -q . && git commit -q --allow-empty -m one && git log --format='%an <%ae>'"
        equal(box.run("-c", script).exited(0).out, "Ann \"A\" Example <ann@example.org>\n", "author")
        done = box.run("-c", "git config user.name; git config github.token; git config --global user.name Ben; "
                       "git config user.name; git config --local user.name Cid; git config user.name").exited(0)
        equal(done.out, "Ann \"A\" Example\nBen\nBen\n", "who has precedence; the repository's settings are kept")
        box.run("--profile", "strict", "-c", "test ! -e /.corral && test -z \"$GIT_CONFIG_SYSTEM\"").exited(0)

    @test("the private home is kept for the next run in the same workspace", root=True)
    def _(box):
        box.run("-c", "echo kept >~/file; mkdir ~/.cache; echo c >~/.cache/c").exited(0)
        equal(box.run("-c", "cat ~/file ~/.cache/c").exited(0).out, "kept\nc\n", "the next run")
        box.mkdir("ws/sub")
        equal(box.run("-w", box.ws, "-c", "cat ~/file", cwd=f"{box.ws}/sub").out, "kept\n", "from below")

    @test("another workspace has another home")
    def _(box):
        box.mkdir("other")
        box.run("-c", "echo kept >~/file").exited(0)
        equal(box.run("-c", "ls -A ~", cwd=f"{box.dir}/other").exited(0).out, "", "the other home")

    @test("a home that belongs to another workspace, or to none, is refused", root=True)
    def _(box):
        box.mkdir("other")
        box.run("-c", "echo mine >~/file").exited(0)
        homes = f"{box.home}/.local/state/corral/homes"
        first = os.listdir(homes)[0]
        equal(len(first.split("-")[0]), 32, "length of the hash")
        equal(box.read(f"{homes}/{first}/workspace"), box.ws, "the record")
        box.run("-c", "true", cwd=f"{box.dir}/other").exited(0)
        second = next(name for name in os.listdir(homes) if name != first)
        os.rename(f"{homes}/{second}", f"{box.dir}/aside")
        for level in ("full", "standard"):
            box.execute(["cp", "-a", f"{homes}/{first}", f"{homes}/{second}"]).exited(0)
            done = box.run("--level", level, "-c", "cat ~/file", cwd=f"{box.dir}/other").exited(126)
            done.said("belongs to another workspace", box.ws, "rm -r", "--home ephemeral")
            box.corral_("check", "path", f"{box.home}/file", cwd=f"{box.dir}/other").exited(126)
            os.unlink(f"{homes}/{second}/workspace")
            done = box.run("--level", level, "-c", "cat ~/file", cwd=f"{box.dir}/other").exited(126)
            done.said("has no record")
            os.symlink(f"{box.dir}/aside/workspace", f"{homes}/{second}/workspace")
            box.run("--level", level, "-c", "cat ~/file", cwd=f"{box.dir}/other").exited(125)
            box.execute(["rm", "-r", f"{homes}/{second}"]).exited(0)
        box.run("--home", "ephemeral", "-c", "test ! -e ~/file", cwd=f"{box.dir}/other").exited(0)
        box.run("-c", "test ! -e ~/file && test ! -e ../workspace", cwd=f"{box.dir}/other").exited(0)
        for level in ("full", "standard"):
            done = box.run("--level", level, "-c", "cat ~/file; echo x >~/../workspace; mv ~/../workspace ~/away; rm -f ~/../workspace")
            equal(done.out, "mine\n", "the home")
        equal(box.read(f"{homes}/{first}/workspace"), box.ws, "the record")

    @test("many first runs at once agree on one home", root=True)
    def _(box):
        with ThreadPoolExecutor(8) as pool:
            for done in pool.map(lambda n: box.run("-c", f"echo {n} >~/{n}"), range(16)):
                done.exited(0)
        equal(box.run("-c", "ls ~ | wc -l").out.strip(), "16", "files")
        home, = os.listdir(f"{box.home}/.local/state/corral/homes")
        equal(sorted(os.listdir(f"{box.home}/.local/state/corral/homes/{home}")), ["home", "workspace"], "what is left")

    @test("runs with other grants in HOME do not use a home at the same time", root=True)
    def _(box):
        box.write(f"{box.home}/data/sub/file", "granted\n")
        grant = ("--level", "full", "--read", f"{box.home}/data/sub/file")
        homes = f"{box.home}/.local/state/corral/homes"
        box.run("--level", "full", "-c", "echo kept >~/file").exited(0)
        done = box.run(*grant, "-c", "cat ~/file ~/data/sub/file").exited(0)  # one after the other
        equal(done.out, "kept\ngranted\n", "the home")
        first, = os.listdir(homes)
        holder = box.start([box.corral, "run", *grant, "-c", "echo ready; read x; cat ~/data/sub/file"],
                           stdin=subprocess.PIPE)
        equal(holder.stdout.readline(), b"ready\n", "the first run")
        done = box.run(*grant, "-c", "cat ~/file; mv ~/data ~/x").exited(1)  # the same grants
        equal(done.out, "kept\n", "the home")
        check("busy" in done.err and "separate" not in done.err, done.err)
        done = box.run("--level", "full", "-c", "ls ~; echo other >~/other").exited(0).said("separate")
        equal(done.out, "", "another home")
        done = box.run("--level", "full", "--json", "-c", "cat ~/other")  # kept, for the same grants
        equal(done.json["stdout"], "other\n", "another home")
        box.run("--level", "standard", "-c", "cat ~/file").said("separate")
        holder.stdin.write(b"\n")
        equal(holder.communicate()[0], b"granted\n", "the grant")
        done = box.run("--level", "full", "-c", "ls ~; cat ~/file").exited(0)
        check("separate" not in done.err, done.err)
        equal(done.out, "file\nkept\n", "the mount points are gone")
        check(all(name.startswith(first) for name in os.listdir(homes)), "a home of the same workspace")
        equal(sorted(os.listdir(f"{homes}/{first}")), ["home", "workspace"], "what is left")

    @test("many runs with grants in HOME at once agree on one home", root=True)
    def _(box):
        box.write(f"{box.home}/data/file", "granted")
        with ThreadPoolExecutor(8) as pool:
            for done in pool.map(lambda n: box.run("--level", "full", "--read", f"{box.home}/data/file", "-c",
                                                   f"echo {n} >~/{n}; cat ~/data/file"), range(16)):
                check("separate" not in done.exited(0).err, done.err)
        equal(box.run("--level", "full", "-c", "ls ~ | wc -l").out.strip(), "16", "files")

    @test("--home ephemeral begins empty and leaves nothing", root=True)
    def _(box):
        box.run("-c", "echo kept >~/file").exited(0)
        before = box.files()
        done = box.run("--home", "ephemeral", "-c", "ls -A ~; echo gone >~/gone; cat ~/gone").exited(0)
        equal(done.out, "gone\n", "inside")
        equal(box.files(), before, "files outside")
        equal(box.run("-c", "ls ~").out, "file\n", "the kept home")

    @test("the state directory is private to the user and invisible inside")
    def _(box):
        box.run("-c", "echo kept >~/file").exited(0)
        state = f"{box.home}/.local/state/corral"
        check(os.path.isdir(state), "no state directory")
        for base, dirs, _ in os.walk(state):
            for name in dirs:
                if base == f"{state}/homes" or base == state:
                    equal(os.stat(f"{base}/{name}").st_mode & 0o077, 0, f"mode of {base}/{name}")
        done = box.run("-c", f"ls {state} 2>&1; ls ~/.local/state 2>&1")
        check("homes" not in done.out and "trusted" not in done.out, f"visible: {done}")

    @test("XDG_STATE_HOME moves the state")
    def _(box):
        box.mkdir("state")
        box.run("-c", "echo kept >~/file", env={**box.env, "XDG_STATE_HOME": f"{box.dir}/state"}).exited(0)
        check(os.path.isdir(f"{box.dir}/state/corral/homes"), "not there")
        check(not box.exists("home/.local"), "also in the home")

    @test("credentials of HOME are not there at all", root=True)
    def _(box):
        furnish(box)
        for name in CREDENTIALS:
            equal(box.sh(f"cat ~/{name}").exited(0).out, f"secret of {name}\n", "control")
        script = "cd; for f in %s; do cat \"$f\" 2>/dev/null && echo READ $f; done; grep -rl secret ~ 2>/dev/null; exit 0"
        done = box.run("-c", script % " ".join(CREDENTIALS)).exited(0)
        equal(done.out, "", "what could be read")

    @test("toolchains of HOME can be executed and not changed", root=True)
    def _(box):
        furnish(box)
        for name in TOOLCHAINS:
            tool = os.path.basename(name)
            done = box.run("-c", f"~/{name}").exited(0)
            equal(done.out, f"tool {tool}\n", name)
            done = box.run("-c", f"echo evil >>~/{name}; rm -f ~/{name}; mv ~/{name} ~/{name}.x; touch ~/{name}2")
            check(box.exists(f"home/{name}") and not box.exists(f"home/{name}2"), f"{name} was changed")
            contains(box.read(f"home/{name}"), f"tool {tool}\n", name)
            check("evil" not in box.read(f"home/{name}"), f"{name} was written")

    @test("a directory of PATH under HOME is a toolchain")
    def _(box):
        box.write("home/own/bin/mine", "#!/bin/sh\n. ~/own/lib/x\n", 0o755)
        box.write("home/own/lib/x", "echo from lib\n")
        box.write("home/bin/plain", "#!/bin/sh\necho plain\n", 0o755)
        box.write("home/private", "secret\n")
        env = {**box.env, "PATH": f"{box.home}/own/bin:{box.home}/bin:{box.env['PATH']}"}
        equal(box.run("mine", env=env).exited(0).out, "from lib\n", "program and its library")
        equal(box.run("plain", env=env).exited(0).out, "plain\n", "~/bin")
        box.run("-c", "cat ~/private", env=env).exited(1)

    @test("HOME itself, its root or a credential directory in PATH shows nothing")
    def _(box):
        furnish(box)
        env = {**box.env, "PATH": f"{box.home}:{box.home}/.ssh:{box.dir}:/:{box.env['PATH']}"}
        done = box.run("-c", "cat ~/.ssh/id_ed25519 ~/.bashrc ~/.netrc; exit 0", env=env).exited(0)
        equal(done.out, "", "what could be read")

    @test("a variable that moves a toolchain is followed and passed")
    def _(box):
        box.write("elsewhere/cargo/bin/tool", "#!/bin/sh\necho moved $CARGO_HOME\n", 0o755)
        box.write("elsewhere/cargo/credentials.toml", "secret\n")
        env = {**box.env, "CARGO_HOME": f"{box.dir}/elsewhere/cargo"}
        done = box.run("-c", f"{box.dir}/elsewhere/cargo/bin/tool", env=env).exited(0)
        equal(done.out, f"moved {box.dir}/elsewhere/cargo\n", "stdout")
        box.run("-c", f"cat {box.dir}/elsewhere/cargo/credentials.toml", env=env).exited(1)

    @test("--no-toolchains shows none")
    def _(box):
        furnish(box)
        box.run("--no-toolchains", "-c", "~/.cargo/bin/cargo-tool").exited(127)

    @test("a link in HOME does not lead to credentials")
    def _(box):
        furnish(box)
        os.symlink(f"{box.home}/.ssh", f"{box.home}/.cargo/registry")
        os.symlink(f"{box.home}/.ssh/id_ed25519", f"{box.home}/.local/bin/link")
        done = box.run("-c", "cat ~/.cargo/registry/id_ed25519 ~/.local/bin/link; exit 0").exited(0)
        equal(done.out, "", "what could be read")

    @test("a HOME that cannot be written is no obstacle, unless the home was to be kept")
    def _(box):
        if box.user.uid == 0:
            raise Skip("root writes everywhere")
        ws = box.mkdir("home/project")
        os.chmod(box.home, 0o555)
        for level in ("full", "standard"):
            box.run("--level", level, "-c", "touch ~/x", cwd=ws).exited(0).said("warning: the home is not kept", "XDG_STATE_HOME")
            done = box.run("--level", level, "--home", "ephemeral", "-c", "touch ~/x", cwd=ws).exited(0)
            check("not kept" not in done.err, f"it was asked for: {done}")
        told = box.run("-c", "touch ~/x", env={**box.env, "XDG_STATE_HOME": f"{box.dir}/state"}, cwd=ws).exited(0).err
        check("not kept" not in told and "~/x (kept in" in told, f"with the remedy: {told}")
        box.run("-c", "touch ~/x").exited(0)
        box.run("--home", "persistent", "true").exited(125).said("remedy: use --home ephemeral")
        box.run("--home", "ephemeral", "-c", "touch ~/x").exited(0)

    @test("what a command leaves where a toolchain goes does not stop the next one", root=True)
    def _(box):
        furnish(box)
        box.write("home/.cargo/env", "export X=1\n")
        box.run("--no-toolchains", "-c", "mkdir -p ~/.cargo/env/in/the/way; ln -s /etc ~/.rustup; echo x >~/.nvm; "
                "ln -s loop ~/.volta").exited(0)
        done = box.run("-c", "cat ~/.cargo/env; ls -d ~/.cargo/env/in; ls ~/.rustup ~/.nvm ~/.cargo/bin").exited(0)
        contains(done.out, "cargo-tool", "another part of the same toolchain")
        contains(done.out, "toolchains", "a toolchain whose place a link had taken")
        contains(done.out, "versions", "a toolchain whose place a file had taken")

    @test("many runs of one workspace at once share its home", root=True)
    def _(box):
        furnish(box)
        box.write("home/.cargo/env", "export X=1\n")
        with ThreadPoolExecutor(16) as pool:
            runs = list(pool.map(lambda _: box.run("-c", "cat ~/.cargo/env && ls ~/.cargo/bin"), range(48)))
        for done in runs:
            contains(done.exited(0).out, "export X=1", "a toolchain file")

    @test("a HOME that does not exist is no obstacle")
    def _(box):
        done = box.run("-c", "cd \"$HOME\" && touch x && echo fine", env={**box.env, "HOME": f"{box.dir}/nowhere"})
        equal(done.exited(0).out, "fine\n", "stdout")
        check(not box.exists("nowhere"), "it was made")

    @test("HOME as workspace needs --any-workspace and still hides credentials")
    def _(box):
        furnish(box)
        box.run("true", cwd=box.home).exited(2).said("--any-workspace")
        box.run("--any-workspace", "true", cwd=box.home).exited(126).said("remedy: create it first")
        box.mkdir("home/.local/state/corral", 0o700)
        box.mkdir("home/.config/corral", 0o700)
        done = box.run("--any-workspace", "-c", "cat .ssh/id_ed25519 .netrc .cargo/credentials.toml .aws/credentials; "
                       "cat Documents/private.txt; echo x >written", cwd=box.home).exited(0)
        equal(done.out, "secret of Documents/private.txt\n", "what could be read")
        check(box.exists("home/written"), "the workspace cannot be written")

    @test("a workspace beneath HOME shows itself and not its neighbours")
    def _(box):
        box.write("home/src/project/file", "mine\n")
        box.write("home/src/other/file", "secret\n")
        done = box.run("-c", "cat file; ls ..; cat ../other/file; echo y >new", cwd=f"{box.home}/src/project")
        contains(done.out, "mine\n", "own file")
        check("secret" not in done.out and "other" not in done.out, f"the neighbour is visible: {done.out!r}")
        check(box.exists("home/src/project/new"), "not written")

    @test("beside a workspace beneath HOME nothing is written without a grant, at both levels", root=True)
    def _(box):
        box.mkdir("home/src/deep/project")
        ws = f"{box.home}/src/deep/project"
        before = box.tree()
        for level in ("full", "standard"):
            for script in ("echo r >../result.txt", "mkdir ../wt", "echo r >../../x", f"touch {box.home}/src/y",
                           f"mkdir {box.home}/src/deep/z"):
                done = box.run("--level", level, "-c", script, cwd=ws)
                check(done.status != 0, f"{script} at {level}: {done}")
                done.said("hint:", "--write")
            done = box.corral_("check", "path", "../result.txt", "--write", "--level", level, cwd=ws).exited(1)
            contains(done.out, f"--write {box.home}/src/deep", "the remedy")
            box.run("--level", level, "-c", "touch file ~/own ~/.rc; mkdir -p ~/.cache/a ~/.npm ~/.config/b", cwd=ws).exited(0)
            box.run("--level", level, "--home", "ephemeral", "-c", "! echo r >../result.txt; touch ~/own", cwd=ws).exited(0)
            box.run("--level", level, "--write", f"{box.home}/src/deep", "-c", f"echo r >../result-{level}", cwd=ws).exited(0)
            equal(box.read(f"home/src/deep/result-{level}"), "r\n", "the granted directory of the host")
        made = {path for path in set(box.tree()) - set(before) if "/.local" not in path}
        equal(made, {f"{box.home}/src/deep/result-full", f"{box.home}/src/deep/result-standard", f"{ws}/file"}, "on the host")

    @test("a work tree beside the workspace is refused, or made where it was granted", root=True)
    def _(box):
        needs(box, "git")
        box.mkdir("home/src/project")
        ws = f"{box.home}/src/project"
        box.sh("git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x", cwd=ws).exited(0)
        for level in ("full", "standard"):
            done = box.run("--level", level, "git", "worktree", "add", f"../{level}", cwd=ws)
            check(done.status != 0, f"{done}")
            told = re.search(r"hint: .*(--write) ([^\s;]+)", done.err)
            check(told, f"{done}")
            box.sh(f"git worktree prune; git branch -D {level}", cwd=ws)
            box.run("--level", level, *told.groups(), "git", "worktree", "add", f"../{level}", cwd=ws).exited(0)
            check(box.exists(f"home/src/{level}/.git"), "the work tree is not on the host")

    @test("directories that programs keep caches in stay writable above a workspace")
    def _(box):
        for ws, cache in ((".cache/tool/ws", ".cache/npm"), (".local/share/x/ws", ".local/share/y"), ("go/src/ws", "go/pkg/mod")):
            box.mkdir(f"home/{ws}")
            box.run("-c", f"mkdir -p ~/{cache} && echo x >~/{cache}/f", cwd=f"{box.home}/{ws}").exited(0)

    @test("a grant in HOME leaves nothing in the private home for later runs", root=True)
    def _(box):
        box.write("home/data.csv", "data\n")
        box.write("home/set/in/file", "deep\n")
        box.mkdir("home/out")
        grants = ("--read", f"{box.home}/data.csv", "--read", f"{box.home}/set/in", "--write", f"{box.home}/out")
        for _ in range(2):
            done = box.run(*grants, "-c", "cat ~/data.csv ~/set/in/file; echo x >~/out/x; touch ~/own; mkdir -p ~/.cache").exited(0)
            equal(done.out, "data\ndeep\n", "the granted files")
            equal(box.run("-c", "ls -A ~").exited(0).out, ".cache\nown\n", "a later run")
            equal(beside_home(box), ["home", "workspace"], "records of mount points")
        check(box.exists("home/out/x"), "the granted directory was not written")

    @test("mount points of a run that was killed go with the next run", root=True)
    def _(box):
        box.write("home/data.csv", "data\n")
        process = waiting(box, "--read", f"{box.home}/data.csv")
        process.kill()
        process.wait()
        check("points" in beside_home(box), f"nothing is left to test with: {beside_home(box)}")
        equal(box.run("-c", "ls -A ~").exited(0).out, "", "the next run")
        equal(beside_home(box), ["home", "workspace"], "records of mount points")

    @test("a mount point stays while any run uses the home", root=True)
    def _(box):
        box.write("home/data.csv", "data\n")
        grant = ("--read", f"{box.home}/data.csv")
        first = waiting(box, *grant)
        box.run(*grant, "cat", f"{box.home}/data.csv").exited(0)
        box.run("true").exited(0)
        box.write("ws/go", "")
        out, _ = first.communicate(timeout=PATIENCE)
        equal(out, b"data\n", "what the first run reads")
        equal(box.run("-c", "ls -A ~").exited(0).out, "", "a later run")

    @test("a file that a command made is kept, whatever was mounted over it", root=True)
    def _(box):
        box.write("home/data.csv", "data\n")
        box.mkdir("home/dir")
        grants = ("--read", f"{box.home}/data.csv", "--read", f"{box.home}/dir")
        box.run("-c", ": >~/data.csv; mkdir ~/dir").exited(0)
        equal(box.run(*grants, "-c", "cat ~/data.csv").exited(0).out, "data\n", "the granted file")
        equal(box.run("-c", "ls -A ~; wc -c <~/data.csv; rm -r ~/data.csv ~/dir").exited(0).out, "data.csv\ndir\n0\n", "its own")
        first = waiting(box, *grants)
        box.run("-c", "echo mine >~/data.csv").exited(0).said("uses a separate one")
        box.write("ws/go", "")
        first.communicate(timeout=PATIENCE)
        equal(box.run("-c", "ls -A ~").exited(0).out, "", "nothing of ours is left, nor of the run with a separate home")

    @test("a run that is planned again prints each warning once", root=True)
    def _(box):
        box.write("home/data.csv", "data\n")
        first = waiting(box, "--read", f"{box.home}/data.csv")
        done = box.run("--pass-env", "ANTHROPIC_API_KEY", "true", env={**box.env, "ANTHROPIC_API_KEY": "x"}).exited(0)
        done.said("uses a separate one")
        equal(done.err.count("ANTHROPIC_API_KEY is passed to the command"), 1, f"warnings of {done}")
        box.write("ws/go", "")
        first.communicate(timeout=PATIENCE)
        for words, text in ((("--level", "none", "--accept-no-sandbox"), "NOTHING is protected"), (("--level", "minimal"), "files are NOT protected")):
            done = box.run(*words, "true").exited(0)
            equal(done.err.count(text), 1, f"warnings of {done}")

    @test("work that a command puts beside a workspace in a directory of programs' files is told", root=True)
    def _(box):
        # The directory of the private home stays writable there: ~/go holds caches too.
        for ws, name in (("go/src/me/proj", "go/src/me"), (".dotfiles/proj", ".dotfiles")):
            box.mkdir(f"home/{ws}")
            for write in ("echo r >../result", "echo again >../result", "mkdir ../wt"):
                told = f"~/{name}/{write.split('../')[1]}"
                done = box.run("-c", write, cwd=f"{box.home}/{ws}").exited(0)
                done.said("private HOME", told)
                equal(done.err.split(" (kept")[0].count("~/"), 1, f"names told: {done.err}")
            equal(box.run("-c", "ls ..; touch mine ~/.cache.x; mkdir -p ~/go/pkg", cwd=f"{box.home}/{ws}").exited(0).err, "", "quiet")
        box.mkdir("home/.config/proj")
        equal(box.run("-c", "touch ../settings", cwd=f"{box.home}/.config/proj").exited(0).err, "", "settings of programs")

    @test("a program that a command installs for its user is told: it is in the private HOME", root=True)
    def _(box):
        box.mkdir("home/project")
        ws = f"{box.home}/project"
        install = "mkdir -p ~/.local/bin ~/.local/share && install -m 755 /bin/true ~/.local/bin/{} && touch ~/.local/share/x"
        for level in ("full", "standard"):
            for name in ("tool", "other"):
                done = box.run("--level", level, "-c", install.format(name), cwd=ws).exited(0)
                done.said("private HOME", f"~/.local/bin/{name}", "--write DIR")
                check("to keep it" not in done.err, f"how to install what the command made: {done}")
                equal(done.err.split(" (kept")[0].count("~/"), 1, f"names told: {done.err}")
            equal(box.run("--level", level, "-c", "~/.local/bin/tool; mkdir ~/.local/lib", cwd=ws).exited(0).err, "", "a later run")
            box.corral_("home", "clean", ws).exited(0)

    @test("work that a command puts beside a grant in HOME is told, at both levels", root=True)
    def _(box):
        box.mkdir("home/project")
        box.write("home/set/in/file", "data\n")
        box.write("home/.tool/file", "data\n")
        ws = f"{box.home}/project"
        for level in ("full", "standard"):
            for option in ("--read", "--write"):
                grant = ("--level", level, option, f"{box.home}/set/in/file")
                quiet = box.run(*grant, "-c", "cat ~/set/in/file", cwd=ws).exited(0)
                equal((quiet.out, quiet.err), ("data\n", ""), "nothing is made")
                for path in ("set/in/result", "set/other"):
                    for text in ("r", "s"):
                        done = box.run(*grant, "-c", f"echo {text} >~/{path}", cwd=ws).exited(0)
                        done.said("private HOME", f"~/{path} (kept in", "--write")
                        kept = done.err.split("(kept in ")[1].split(")")[0]
                        equal(box.read(f"{kept}/{path}"), f"{text}\n", "where it is kept")
                        check(not box.exists(f"home/{path}"), "it is on the host")
                box.corral_("home", "clean", ws).exited(0)
            box.run("--level", level, "--write", f"{box.home}/set/in", "-c", f"touch {box.home}/set/in/{level}", cwd=ws).exited(0)
            check(box.exists(f"home/set/in/{level}"), "a granted directory")
            for grant in (f"{box.home}/set", f"{box.home}/set/in/file"):
                quiet = box.run("--level", level, "--write", f"{box.home}/set", "--read", grant, "-c",
                                f"touch {box.home}/set/in/more", cwd=ws).exited(0)
                equal(quiet.err, "", "beside a grant in a granted directory")
            quiet = box.run("--level", level, "--read", f"{box.home}/.tool/file", "-c", "touch ~/.tool/cache", cwd=ws).exited(0)
            equal(quiet.err, "", "beside a grant among settings")
            box.corral_("home", "clean", ws).exited(0)

    @test("the grant that is told for work in the private HOME keeps it", root=True)
    def _(box):
        needs(box, "git")
        box.mkdir("home/project")
        box.write("home/set/file", "data\n")
        ws = f"{box.home}/project"
        box.sh("git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x", cwd=ws).exited(0)
        for level in ("full", "standard"):
            for options, script, path, later in (((), "cd; echo r >{}.txt", "{}.txt", "{}.txt"), ((), "git worktree add -q ~/wt-{}", "wt-{}/.git", "wt-{}/f"),
                                                 (("--read", f"{box.home}/set/file"), "echo r >~/set/{}", "set/{}", "set/{}-2")):
                path, later = path.format(level), later.format(level)
                done = box.run("--level", level, *options, "-c", script.format(level), cwd=ws).exited(0)
                told = re.search(r"; to keep it: (mv -iT /\S+ ~/\S+); for later runs: --write ~/(\S+)$", done.err, re.M)
                check(told and not box.exists(f"home/{path}"), f"{script} at {level}: {done}")
                box.sh(told.group(1), cwd=ws).exited(0)
                check(box.exists(f"home/{path}"), f"{told.group(1)} at {level}")
                again = box.run("--level", level, *options, "--write", f"{box.home}/{told.group(2)}", "-c", f"echo s >~/{later}", cwd=ws).exited(0)
                equal((box.read(f"home/{later}"), again.err), ("s\n", ""), f"{script} at {level}")
            contains(box.sh("git worktree list", cwd=ws).exited(0).out, f"/wt-{level} ", "the work tree")
        box.write("home/work/mine", "mine\n")
        box.write("home/text", "mine\n")
        for script, path in (("mkdir -p ~/work/more; echo r >~/work/more/f", "work/more/f"), ("echo r >~/text", "text")):
            done = box.run("-c", script, cwd=ws).exited(0)
            told = re.search(r"; to keep it: (cp -r -iT /\S+ ~/\S+); for later runs: ", done.err)
            check(told, f"{script}: {done}")
            box.sh(f"{told.group(1)} </dev/null", cwd=ws)
            equal((box.read("home/work/mine"), box.read("home/text")), ("mine\n", "mine\n"), "what the user has")
            box.sh(f"yes | {told.group(1)}", cwd=ws).exited(0)
            equal((box.read(f"home/{path}"), box.read("home/work/mine")), ("r\n", "mine\n"), script)
        done = box.run("-c", "cd; echo r >'a b;c'", cwd=ws).exited(0).said("~/a b;c (kept", "--write DIR")

    @test("work that a command puts at the top of HOME is told, with the place where it is kept, and a file again when it changes",
          root=True)
    def _(box):
        box.mkdir("home/project")
        ws = f"{box.home}/project"
        for level in ("full", "standard"):
            quiet = box.run("--level", level, "-c", "mkdir -p ~/.cache/a ~/go/pkg; touch file ~/.rc; exit 0", cwd=ws).exited(0)
            equal(quiet.err, "", "caches, settings, and files of the workspace")
            done = box.run("--level", level, "-c", "cd; mkdir wt; echo r >wt/f; echo r >'re\x1bsult'", cwd=ws).exited(0)
            done.said("private HOME", "~/wt", "~/re?sult", "--write")
            kept = done.err.split("(kept in ")[1].split(")")[0]
            equal(box.read(f"{kept}/wt/f"), "r\n", "where it is kept")
            quiet = box.run("--level", level, "-c", "cd; echo more >>wt/f; touch wt/g", cwd=ws).exited(0)
            equal(quiet.err, "", "a later run")
            for write in ("echo r >plain", "echo s >plain", "cp plain new; mv new plain"):
                done = box.run("--level", level, "-c", f"cd; {write}", cwd=ws).exited(0)
                done.said("private HOME", "~/plain")
                check("~/wt" not in done.err, f"what did not change is told: {done}")
            result = box.json("--level", level, "-c", "touch ~/third", cwd=ws)
            equal(result["left_in_home"], {"path": kept, "names": ["third"], "more": 0}, "JSON")
            equal(box.json("--level", level, "true", cwd=ws)["left_in_home"], None, "JSON of nothing")
            box.corral_("home", "clean", ws).exited(0)
