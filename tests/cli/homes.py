"""HOME: private, kept per workspace, toolchains shown, credentials not."""
import os
from concurrent.futures import ThreadPoolExecutor

from harness import Skip, check, contains, equal, needs

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

    @test("--home ephemeral begins empty and leaves nothing", root=True)
    def _(box):
        box.run("-c", "echo kept >~/file").exited(0)
        before = box.tree()
        done = box.run("--home", "ephemeral", "-c", "ls -A ~; echo gone >~/gone; cat ~/gone").exited(0)
        equal(done.out, "gone\n", "inside")
        equal(box.tree(), before, "files outside")
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
        os.chmod(box.home, 0o555)
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
