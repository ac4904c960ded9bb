# SPDX-License-Identifier: Apache-2.0
"""`corral learn`: the proposal is applied by script, and the command that failed passes with it; what it must not propose it
lists for a person, and the workspace and the host stay as they were."""
import os
import shutil
import tomllib

from harness import check, contains, equal
from hints import elsewhere, sh


def grants(text):
    """The proposal as a policy file."""
    return tomllib.loads(text)


def register(suite):
    test = suite.test

    @test("learn: one run proposes the first refusal, and changes nothing", root=True)
    def _(box):
        far = elsewhere(box)
        try:
            before = box.tree()
            command = sh(f"echo x >made; cat {far}/f && touch {far}/new")
            done = box.corral_("learn", "--no-config", "--", *command).exited(1)
            equal(grants(done.out), {"fs": {"read": [f"{far}/f"]}}, "proposal")
            contains(done.out, "# Not proven", "head")
            contains(done.out, f"# open for read {far}/f", "reason")
            equal({path for path in box.tree() if path not in before and "/corral" not in path and "/.local" not in path}, set(), "left")
            check(not os.path.exists(f"{far}/new"), "it wrote outside")
        finally:
            shutil.rmtree(far)

    @test("learn --replay: a proven proposal, with which the command passes", root=True)
    def _(box):
        far = elsewhere(box)
        box.write("home/notes", "x\n")
        try:
            os.mkdir(f"{far}/out")
            box.own(f"{far}/out")
            command = sh(f"cat {far}/f {box.home}/notes && echo x >{far}/out/new && rm {far}/out/new && ls {far}/out")
            check(box.run("--no-config", "--", *command).status != 0, "it passes without grants")
            done = box.corral_("learn", "--no-config", "--replay", "--", *command).exited(0)
            contains(done.out, "# Proven", "head")
            equal(grants(done.out), {"fs": {"read": [f"{far}/f", f"{box.home}/notes"], "write": [f"{far}/out"]}}, "proposal")
            policy = box.write("proposal.toml", done.out)
            box.run("--no-config", "--policy", policy, "--", *command).exited(0)
        finally:
            shutil.rmtree(far)

    @test("learn: a directory of HOME that a command wants to write in is proposed, those of programs' files are not", root=True)
    def _(box):
        for path in ("docs", ".tool", ".cache"):
            box.mkdir(f"home/{path}")
        done = box.corral_("learn", "--replay", "-c", "echo x >~/docs/new").exited(0)
        contains(done.out, "# Proven", "the proposal")
        equal(grants(done.out), {"fs": {"write": [f"{box.home}/docs"]}}, "the grants")
        script = "for d in .tool .cache; do echo x >~/$d/f || { mkdir -p ~/$d && echo x >~/$d/f; } || exit; done; mkdir -p ~/new/d"
        done = box.corral_("learn", "-c", script).exited(0)
        check("fs.write" not in done.out, f"directories that programs create: {done}")
        for level in ("full", "standard"):
            (record,) = box.json("--level", level, "--home", "ephemeral", "-c", "echo x >~/docs/other")["denials"]
            # Without namespaces the user's directory has another path than that in HOME.
            option = f"--write {box.home}/docs"
            equal(record["allow_with"], option if level == "full" else None, f"{level}: the option")
            box.run("--level", level, *option.split(), "-c", f"echo x >~/docs/{level}").exited(0)
            equal(box.read(f"home/docs/{level}"), "x\n", "on the host")
            equal(box.json("--level", level, "--home", "ephemeral", "-c", script + "; false")["denials"], [], f"{level}: records")

    @test("learn: credentials, protected names and HOME are listed, not proposed")
    def _(box):
        box.write("home/.ssh/id_rsa", "x\n")
        command = sh(f"cat {box.home}/.ssh/id_rsa; mkdir -p .git && echo x >.envrc; exit 1")
        done = box.corral_("learn", "--no-config", "--replay", "--", *command).exited(1)
        equal(grants(done.out), {}, "proposal")
        for part in ("# Refused, and not proposed", ".ssh/id_rsa", ".envrc"):
            contains(done.out, part, "comments")
        check(not box.exists("ws/.git"), "the workspace changed")

    @test("learn: a command that passes needs nothing; stdout has the proposal alone")
    def _(box):
        box.write("home/notes", "x\n")
        done = box.corral_("learn", "--no-config", "--", *sh(f"cat {box.home}/notes; echo out; exit 0")).exited(0)
        equal(grants(done.out), {}, "proposal")
        contains(done.out, "passes without a further grant", "head")
        contains(done.out, f"#   open for read {box.home}/notes", "what was refused")
        contains(done.err, "out\n", "the command's output")

    @test("learn: names with control characters and quotes stay names")
    def _(box):
        far = elsewhere(box)
        try:
            name = f"{far}/a\"\\ '\n[fs]\nwrite = ['x']"
            with open(name, "w", encoding="utf-8") as out:
                out.write("x\n")
            box.own(name)
            done = box.corral_("learn", "--no-config", "--replay", "--", "cat", name).exited(0)
            pattern = name.replace("\\", "\\\\").replace("[", "\\[")
            equal(grants(done.out), {"fs": {"read": [pattern]}}, "proposal")
            policy = box.write("proposal.toml", done.out)
            box.run("--no-config", "--policy", policy, "--", "cat", name).exited(0)
        finally:
            shutil.rmtree(far)

    @test("learn: usage")
    def _(box):
        box.corral_("learn").exited(2).said("no command given")
        box.corral_("learn", "--json", "--", "true").exited(2)
        box.corral_("learn", "--", "no-such-command-here").exited(127)
