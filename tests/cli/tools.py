# SPDX-License-Identifier: Apache-2.0
"""Installed tools: first in PATH, unchanged, and out of reach of every command."""
import os

from harness import check, contains, equal

LEVELS = ("full", "standard")
PROGRAM = "#!/bin/sh\necho tool $*\n"
ATTACKS = ("echo evil >$t", "cp $e $t", "rm -f $t", "mv $e $t", "ln -sf $e $t", "mv $d $d.old; mkdir $d; cp $e $t",
           "mv $d/.. $d/../../old; mkdir -p $d; cp $e $t", "chmod 777 $d $t; cp $e $t", "mount --bind . $d",
           "mkdir -p $d/../new; cp $e $d/../new/lint", "cp $e $d/ls", "cp $e $HOME/lint", "truncate -s0 $t")


def install(box, name="lint"):
    box.corral_("tool", "install", name, box.write("program", PROGRAM)).exited(0)
    return f"{box.env['HOME']}/.local/state/corral/tools/{name}/bin/{name}"


def register(suite):
    test = suite.test

    @test("a tool comes before all of PATH, at each level and view", root=True)
    def _(box):
        install(box)
        box.write("ws/bin/lint", "#!/bin/sh\necho planted\n", 0o755)
        env = {**box.env, "PATH": f"{box.ws}/bin:{box.env['PATH']}"}
        equal(box.run("lint", env=env).exited(0).out, "planted\n", "without the option")
        for level in LEVELS:
            equal(box.run("--level", level, "--tool", "lint", "lint", "a", "b", env=env).exited(0).out, "tool a b\n", level)
        for words in (["--set", "fs.view=minimal"], ["--set", "fs.view=host"], ["--profile", "strict"], ["--home", "workspace"]):
            equal(box.run(*words, "--tool", "lint", "lint").exited(0).out, "tool\n", str(words))

    @test("a command cannot change, replace or shadow a tool", root=True)
    def _(box):
        host = install(box)
        box.mkdir("home/.config/corral", 0o700)
        for level in LEVELS:
            for grants in ([], ["--write", box.env["HOME"]]):
                for attack in ATTACKS:
                    script = (f"t=$(command -v lint); d=${{t%/*}}; e=$PWD/evil; printf '#!/bin/sh\\necho evil\\n' >$e; chmod 755 $e; "
                              f"( {attack} ) 2>/dev/null; lint twin")
                    done = box.run("--level", level, *grants, "--tool", "lint", "-c", script)
                    equal(done.out, "tool twin\n", f"{level} {grants} {attack}")
                    equal(box.read(host), PROGRAM, f"{level} {grants} {attack}: the host's file")
        box.run("--tool", "lint", "lint").exited(0)

    @test("a changed tool refuses the run, and only a run that uses it")
    def _(box):
        host = install(box)
        os.chmod(host, 0o755)
        with open(host, "a", encoding="ascii") as out:  # the control: outside it can be changed
            out.write("echo more\n")
        box.run("--tool", "lint", "lint").exited(126).said("hash differs", "corral tool install lint FILE")
        box.corral_("explain", "--tool", "lint").exited(126)
        box.run("true").exited(0)
        check(not box.corral_("tool", "list", "--json").exited(0).json[0]["ok"], "list")
        install(box)
        box.run("--tool", "lint", "lint").exited(0)
        os.remove(host)
        os.symlink("/bin/true", host)
        box.run("--tool", "lint", "lint").exited(126).said("cannot be read")
        install(box)
        box.write(os.path.join(os.path.dirname(host), "ls"), "planted", 0o755)
        box.run("--tool", "lint", "lint").exited(126).said("other files")

    @test("names, files and callers of tool install are checked")
    def _(box):
        program = box.write("program", PROGRAM)
        for name in ("../x", "a/b", ".x", "-x", "", "x y", "x" * 65):
            box.corral_("tool", "install", "--", name, program).exited(2)
        box.corral_("tool", "install", "x", box.dir).exited(2).said("regular file")
        box.corral_("tool", "install", "x", f"{box.dir}/nowhere").said("cannot read")
        box.corral_("tool", "install", "x").exited(2)
        box.corral_("tool", "install", "x", program, env={**box.env, "CORRAL_LEVEL": "full"}).exited(126).said("inside a sandbox")
        box.run("--tool", "x", "true").exited(126).said("not installed")
        contains(box.corral_("tool", "list").exited(0).out, "no tools are installed", "nothing was installed")
        install(box, "a")
        install(box, "b")
        contains(box.corral_("tool", "list").exited(0).out, "b  ", "list")
        box.corral_("tool", "rm", "a", "b").exited(0)
        box.corral_("tool", "rm", "a").exited(2).said("no tool a")

    @test("a project's file cannot choose a tool")
    def _(box):
        install(box)
        box.write("ws/.corral.toml", 'env.tools = ["lint"]\n')
        box.run("true").exited(126).said("env.tools")
