# SPDX-License-Identifier: Apache-2.0
"""Rules about commands: which are refused before they run, and by which rule."""
import json
import os

from document_004 import CAMPAIGN, DEFAULT_LIST
from harness import check, contains, equal

GIT = "[commands.git]\nblocked = ['push --force', 'reset --hard', 'clean -fd']\n"

REFUSED = ("push --force", "push -f", "push origin +main", "push --force-with-lease", "reset --hard", "clean -df", "clean -f -d",
           "clean -ffdx", "-C . -c k=v push --force-with-lease", "push --forc", "reset --har")


def register(suite):
    test = suite.test

    @test("a blocked subcommand is refused in every spelling, and nothing runs", root=True)
    def _(box):
        box.write("p.toml", GIT)
        box.write("ws/keep", "mine\n")
        for words in REFUSED:
            done = box.run("--policy", f"{box.dir}/p.toml", "--", "git", *words.split()).exited(126)
            done.said("the policy blocks", f"{box.dir}/p.toml:2", "--set commands.git.blocked=")
            done = box.run("--policy", f"{box.dir}/p.toml", "-c", f"touch ran; git {words}").exited(126)
            done.said("the policy blocks")
        check(not box.exists("ws/ran"), "a command of the string ran")
        result = box.json("--policy", f"{box.dir}/p.toml", "--", "git", "push", "-f")
        equal(result["reason"], "refused", "the reason")
        box.run("--policy", f"{box.dir}/p.toml", "--", "git", "--version").exited(0)
        box.run("--policy", f"{box.dir}/p.toml", "--set", "commands.git.blocked=!push --force", "-c",
                "git push -f 2>/dev/null; touch ran").exited(0)
        check(box.exists("ws/ran"), "an exception has no effect")

    @test("the rules of document 004 are read as they are written, in YAML, JSON and TOML", root=True)
    def _(box):
        box.write("list.yaml", DEFAULT_LIST)
        entry = {"description": "Version control", "subcommand_restrictions": {"blocked": ["push --force", "reset --hard", "clean -fd"]}}
        box.write("list.json", json.dumps({"commands": {"git": entry, "just": {"subcommand_restrictions": "none"}, "make": None}}))
        box.write("list.toml", GIT + "[commands.just]\n[commands.make]\n")
        for name in ("list.yaml", "list.json", "list.toml"):
            box.corral_("policy", "check", f"{box.dir}/{name}").exited(0)
            shown = box.corral_("policy", "show", "--policy", f"{box.dir}/{name}").exited(0).out
            contains(shown, "commands.git.blocked = [", name)
            contains(shown, "commands.just", name)
            box.write("again.toml", shown)
            again = box.corral_("policy", "show", "--no-config", "--policy", f"{box.dir}/again.toml").exited(0).out
            equal(again.splitlines()[0], shown.splitlines()[0], f"the hash of {name}, read back")
            box.corral_("check", "command", "--policy", f"{box.dir}/{name}", "--", "git", "push", "-f").exited(1)
            box.corral_("check", "command", "--policy", f"{box.dir}/{name}", "--", "just", "build").exited(0)

    @test("check command: text, JSON, and the status")
    def _(box):
        box.write("p.toml", GIT)
        policy = ("--policy", f"{box.dir}/p.toml")
        contains(box.corral_("check", "command", *policy, "--", "git", "status").exited(0).out, "allowed: git status", "text")
        done = box.corral_("check", "command", *policy, "--json", "-c", "true && git push -f").exited(1).json
        equal([done["allowed"], done["verdict"], done["command"], done["rule"]],
              [False, "refused", "git push -f", "commands.git.blocked: push --force"], "JSON")
        contains(done["origin"], "p.toml:2", "origin")
        done = box.corral_("check", "command", *policy, "--json", "-c", "git push $x").exited(0).json
        equal([done["allowed"], done["verdict"]], [True, "undecided"], "undecided")
        box.corral_("check", "command", *policy).exited(2).said("no command given")
        box.corral_("check", "command", "--write", "ls").exited(2).said("check path")
        box.corral_("check", "path", "-c", "ls", "x").exited(2).said("check command")

    @test("a command that cannot be decided is a note; strict and deny refuse it")
    def _(box):
        box.write("p.toml", GIT)
        policy = ("--policy", f"{box.dir}/p.toml")
        script = "x=true; $x"
        notes = box.json(*policy, "-c", script)["notes"]
        check(any("cannot decide" in note for note in notes), f"{notes}")
        box.run(*policy, "-v", "-c", script).exited(0).said("undecided: $x")
        check("undecided" not in box.run(*policy, "-c", script).exited(0).err, "a note without -v")
        box.run(*policy, "--profile", "strict", "-c", script).exited(126).said("expansion")
        box.run(*policy, "--set", "commands.default=deny", "-c", script).exited(126).said("expansion")
        box.run(*policy, "--set", "commands.default=deny", "-c", "git 'x").exited(126).said("parsed")

    @test("an untrusted project file narrows; to list a command it needs trust", root=True)
    def _(box):
        box.write("ws/.corral.toml", "[commands.git]\nblocked = ['log']\n")
        box.run("git", "log").exited(126).said("the policy blocks", ".corral.toml:2")
        box.write("ws/.corral.toml", "[commands.touch]\n")
        box.run("--profile", "minimal", "true").exited(126).said("touch", "corral policy trust")
        box.corral_("policy", "trust", f"{box.dir}/ws/.corral.toml").exited(0)
        box.run("--profile", "minimal", "touch", "made").exited(0)
        check(box.exists("ws/made"), "not written")

    @test("deny: the kernel executes listed programs only, also for descendants", root=True)
    def _(box):
        box.write("ws/script", "git --version\nls >list\n/usr/bin/touch made\ntouch made\necho ended\n")
        listed = ("--set", "commands.default=deny", "--allow-command", "sh", "--allow-command", "git")
        done = box.run(*listed, "sh", "script").exited(0)
        contains(done.out, "git version", "a listed program")
        contains(done.out, "ended", "the script")
        check(not box.exists("ws/made"), "a program that is not listed ran")
        equal(box.read("ws/list"), "", "output of a program that is not listed")
        box.run(*listed, "--allow-command", "touch", "sh", "script").exited(0)
        check(box.exists("ws/made"), "a listed program did not run")

    @test("deny: git with its own programs, and a language runtime, work when they are listed")
    def _(box):
        listed = ("--set", "commands.default=deny", "--allow-command", "git", "--allow-command", "python3")
        box.run(*listed, "-c", "git init -q . && git add . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x "
                "&& git log --oneline && git gc -q").exited(0)
        equal(box.run(*listed, "python3", "-c", "import json, math, sqlite3, ssl; print(1)").exited(0).out, "1\n", "python")

    @test("--require exec: enforced at level full, refused at standard and where every program may run")
    def _(box):
        listed = ("--set", "commands.default=deny", "--allow-command", "true", "--require", "exec")
        rows = {row["name"]: row for row in box.json("true")["guarantees"]}
        equal(rows["exec"]["state"], "absent", "without deny")
        box.run("--require", "exec", "true").exited(125).said("exec is required", "commands.default")
        box.run(*listed, "--level", "standard", "true").exited(125).said("exec", "dynamic loader")
        if box.json("true")["level"] == "full":
            box.run(*listed, "true").exited(0)

    @test("campaign: file tools and path arguments stay in the workspace", root=True)
    def _(box):
        box.write("ws/file", "text\n")
        box.corral_("check", "path", "--profile", "campaign", "file").exited(0)
        done = box.corral_("check", "path", "--profile", "campaign", "/etc/passwd").exited(1)
        contains(done.out, "outside the workspace", "the reason")
        equal(box.corral_("check", "path", "--json", "--profile", "campaign", "/usr").exited(1).json["error"], "outside", "error")
        box.corral_("check", "path", "/etc/passwd").exited(0)
        box.run("--profile", "campaign", "cat", "/etc/passwd").exited(126).said("/etc/passwd", "outside the workspace", "fs.tools")
        box.run("--profile", "campaign", "-c", "cat file >/etc/x").exited(126).said("/etc/x")
        equal(box.run("--profile", "campaign", "cat", "./file").exited(0).out, "text\n", "a path in the workspace")

    @test("path arguments are resolved as the kernel does: symlinks, .. behind them, files that do not exist yet", root=True)
    def _(box):
        box.mkdir("ws/sub/deep")
        box.write("ws/file", "text\n")
        for name, target in (("out", "/etc"), ("out-file", "/etc/passwd"), ("in", "sub/deep"), ("here", f"{box.ws}/file"),
                             ("chain", "out-file"), ("nowhere", "/no/such"), ("loop", "loop")):
            os.symlink(target, f"{box.ws}/{name}")
        for level in ("full", "standard"):
            words = ("--level", level, "--profile", "campaign", "--allow-command", "touch", "cat")
            for bad, leads in (("out-file", "/etc/passwd"), ("./out-file", "/etc/passwd"), ("chain", "/etc/passwd"), ("out/new", "/etc/new"),
                               ("out/../etc/passwd", "/etc/passwd"), ("in/../../../../../../../../etc/passwd", "/etc/passwd"), ("nowhere", "/no/such"),
                               (f"{box.ws}/out-file", "/etc/passwd")):
                done = box.run(*words, bad).exited(126)
                done.said(f"the argument {bad} leads to {leads}, outside the workspace", "fs.tools", "use a path in the workspace")
                box.run(*words[:-1], "-c", f"cat <{bad}").exited(126).said(leads)
            for good in ("file", "here", "in/../../file", "./in/../deep/../../file", f"{box.ws}/sub/../file"):
                equal(box.run(*words, good).exited(0).out, "text\n", f"{level}: {good}")
            box.run(*words[:-1], "touch", "in/made").exited(0)
            check(box.exists("ws/sub/deep/made"), "a new file behind a symlink that stays inside")
            os.unlink(f"{box.ws}/sub/deep/made")
            box.run(*words, "loop").exited(1)
            box.run("--level", level, "cat", "out-file").exited(0)  # without fs.tools = workspace

    @test("campaign: .campaign/sandbox.yaml of document 004 widens the list, so it needs trust", root=True)
    def _(box):
        box.write("ws/.campaign/sandbox.yaml", CAMPAIGN)
        check_go = ("check", "command", "--profile", "campaign", "--", "go")
        done = box.corral_(*check_go, "test", "./...").exited(126)
        done.said("sandbox.yaml", "lists the command go", "corral policy trust")
        box.run("--profile", "campaign", "cat", "/dev/null").exited(126).said("corral policy trust")
        box.run("cat", "/dev/null").exited(0)  # other profiles do not read it
        box.corral_("policy", "trust", f"{box.dir}/ws/.campaign/sandbox.yaml").exited(0)
        box.corral_(*check_go, "test", "./...").exited(0)
        for words, rule in ((("install", "x"), "commands.go.blocked"), (("run", "x"), "commands.go.allowed")):
            done = box.corral_("check", "command", "--json", "--profile", "campaign", "--", "go", *words).exited(1).json
            contains(done["rule"], rule, "the rule")
            contains(done["origin"], "sandbox.yaml:", "the origin")
        for words in (("npm", "run", "build"), ("make", "all"), ("git", "status")):
            box.corral_("check", "command", "--profile", "campaign", "--", *words).exited(0)
        for words in (("rm", "x"), ("npm", "publish"), ("git", "push", "-f"), ("go", "test", "/etc")):
            box.corral_("check", "command", "--profile", "campaign", "--", *words).exited(1)
        box.run("--profile", "campaign", "--allow-command", "touch", "touch", ".campaign/sandbox.yaml").exited(1)
        box.write("ws/.campaign/sandbox.yaml", CAMPAIGN + "  rm:\n")
        box.run("--profile", "campaign", "cat", "/dev/null").exited(126).said("corral policy trust")

    @test("commands import prints the manifest of a program as rules, and runs it without rights", root=True)
    def _(box):
        manifest = {"description": 'A "tool"', "subcommands": ["list", {"name": "show", "description": "one\nline"},
                                                              {"name": "drop", "blocked": True}]}
        box.write("ws/tool", "#!/bin/sh\ntest \"$1\" = __manifest || exit 3\necho x >made; cat <<'E'\n" + json.dumps(manifest) + "\nE\n", 0o755)
        text = box.corral_("commands", "import", "./tool").exited(0).out
        check(not box.exists("ws/made"), "the program wrote a file")
        contains(text, 'allowed = [\n  "list",\n  "show",  # one?line\n]\nblocked = [\n  "drop",\n]', "the rules")
        box.write("p.toml", text)
        box.corral_("policy", "check", f"{box.dir}/p.toml").exited(0)
        box.corral_("check", "command", "--policy", f"{box.dir}/p.toml", "--", "tool", "drop").exited(1)
        box.corral_("check", "command", "--policy", f"{box.dir}/p.toml", "--", "tool", "show").exited(0)

    @test("commands import refuses output that is no manifest")
    def _(box):
        for output in ("", "[]", "{}", '{"subcommands": [1]}', '{"subcommands": ["a b"]}', '{"subcommands": ["--x"]}',
                       '{"subcommands": ["a\\"]"]}', '{"subcommands": [{"name": "a", "blocked": 1}]}', "no JSON"):
            box.write("ws/tool", f"#!/bin/sh\ncat <<'E'\n{output}\nE\n", 0o755)
            done = box.corral_("commands", "import", "./tool")
            check(done.status == 126 and done.out == "", f"{output}: {done}")
            done.said("manifest: ./tool __manifest: ", "  remedy: ")
        box.corral_("commands", "import", "true").exited(126).said("true __manifest: it printed no manifest: the output is empty")
        box.corral_("commands", "import", "false").exited(126).said("no manifest")
        box.corral_("commands", "import").exited(2).said("exactly one")
