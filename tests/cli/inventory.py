# SPDX-License-Identifier: Apache-2.0
"""Live runs and private homes, as `corral ps` and `corral home` tell of them and remove them."""
import json
import os
import pty
import shutil

from harness import PATIENCE, check, contains, equal, wait_until

# What a command can leave in its home: deep, closed, linked and oddly named.
HOSTILE = """
import os
os.chdir(os.environ["HOME"])
top = os.getcwd()
open("plain", "w").write("x" * 100000)
os.symlink({outside!r}, "link"); os.symlink("/", "root"); os.symlink("loop", "loop")
os.mkfifo("fifo"); open("new\\nline \\x1b[31m", "w").close()
os.mkdir("closed"); open("closed/file", "w").close(); os.chmod("closed", 0)
os.mkdir("fixed"); os.mkdir("fixed/in"); open("fixed/in/file", "w").close(); os.chmod("fixed", 0o500)
for _ in range(1500):
    os.mkdir("d"); os.chdir("d")
open("bottom", "w").close()
"""


def runs(box):
    return box.corral_("ps", "--json").exited(0).json["runs"]


def homes(box):
    return box.corral_("home", "list", "--json").exited(0).json["homes"]


def begin(box, *options, cwd=None):
    """A run that has begun and goes on until ws/go is there."""
    script = f"touch {box.ws}/ready; while [ ! -e {box.ws}/go ]; do sleep 0.02; done"
    process = box.start([box.corral, "run", *options, "-c", script, "a\x1bb"], cwd=cwd or box.ws)
    check(wait_until(lambda: box.exists("ws/ready")), "the run has not begun")
    os.unlink(f"{box.ws}/ready")
    return process


def answer(box, text):
    """`home clean` at a terminal that types this."""
    ours, theirs = pty.openpty()
    process = box.start([box.corral, "home", "clean"], stdin=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, text)
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    return process.returncode, out.decode()


def register(suite):
    test = suite.test

    @test("ps lists the runs that are alive, at every level, and no other", root=True)
    def _(box):
        equal(runs(box), [], "before")
        equal(box.corral_("ps").exited(0).out, "no run is alive\n", "before")
        first = begin(box)
        second = begin(box, "--level", "standard", "--home", "ephemeral", "--write", box.ws)
        listed = runs(box)
        equal([(run["pid"], run["level"], run["net"], run["workspace"], run["command"][0], run["command"][-1]) for run in listed],
              [(first.pid, "full", "none", box.ws, "/bin/sh", "a\x1bb"), (second.pid, "standard", "none", box.ws, "/bin/sh", "a\x1bb")], "runs")
        check(all(run["command_complete"] and run["since"].startswith("20") for run in listed), f"{listed}")
        text = box.corral_("ps").exited(0).out
        contains(text, str(first.pid), "pid")
        contains(text, box.ws, "workspace")
        check("\x1b" not in text, "a control character of the command")
        second.kill()
        second.wait()
        equal([run["pid"] for run in runs(box)], [first.pid], "after one was killed")
        box.write("ws/go", "")
        first.communicate(timeout=PATIENCE)
        equal(runs(box), [], "after")

    @test("ps cuts a long command, and explain and status are no runs")
    def _(box):
        script = f"touch {box.ws}/ready; while [ ! -e {box.ws}/go ]; do sleep 0.02; done"
        process = box.start([box.corral, "run", "-c", script, "x" * 5000, *["word"] * 3000])
        check(wait_until(lambda: box.exists("ws/ready")), "the run has not begun")
        box.corral_("explain").exited(0)
        run, = runs(box)
        check(not run["command_complete"] and run["command"][2] == script and len(run["command"]) < 2000, f"{run}")
        box.write("ws/go", "")
        process.communicate(timeout=PATIENCE)

    @test("home list has every private home with workspace, size and last use", root=True)
    def _(box):
        equal(box.corral_("home", "list").exited(0).out, "there are no private homes\n", "before")
        box.mkdir("other")
        box.run("-c", "head -c 300000 /dev/zero >~/big").exited(0)
        box.run("true", cwd=f"{box.dir}/other").exited(0)
        found = {home["workspace"]: home for home in homes(box)}
        equal(set(found), {box.ws, f"{box.dir}/other"}, "workspaces")
        check(300000 <= found[box.ws]["bytes"] < 400000 and found[box.ws]["bytes_complete"], f"{found}")
        check(found[box.ws]["workspace_exists"] and not found[box.ws]["in_use"], f"{found}")
        shutil.rmtree(f"{box.dir}/other")
        found = {home["workspace"]: home for home in homes(box)}
        check(not found[f"{box.dir}/other"]["workspace_exists"], f"{found}")
        lines = box.corral_("home", "list").exited(0).out.splitlines()
        check(any(line.endswith("/other  gone") for line in lines), f"{lines}")

    @test("home clean removes homes whose workspace is gone, and asks or is told --yes", root=True)
    def _(box):
        box.mkdir("other")
        box.run("-c", "echo kept >~/file").exited(0)
        box.run("touch", "x", cwd=f"{box.dir}/other").exited(0)
        equal(box.corral_("home", "clean").exited(0).out, "nothing to remove\n", "nothing is gone")
        shutil.rmtree(f"{box.dir}/other")
        box.corral_("home", "clean").exited(2).said("--yes", "/other")
        equal(len(homes(box)), 2, "homes")
        contains(box.corral_("home", "clean", "--dry-run").exited(0).out, "/other", "what would go")
        equal(answer(box, b"n\n"), (0, ""), "answered no")
        equal(len(homes(box)), 2, "homes")
        status, out = answer(box, b"y\n")
        equal(status, 0, "answered yes")
        contains(out, "removed", "what is told")
        equal([home["workspace"] for home in homes(box)], [box.ws], "homes")
        equal(box.run("cat", f"{box.home}/file").exited(0).out, "kept\n", "the other home")

    @test("home clean takes an id, the beginning of one, a workspace, or --all", root=True)
    def _(box):
        for name in ("one", "two", "three"):
            box.mkdir(name)
            box.run("true", cwd=f"{box.dir}/{name}").exited(0)
        ids = {os.path.basename(home["workspace"]): home["id"] for home in homes(box)}
        box.corral_("home", "clean", ids["one"], "none-such").exited(2).said("none-such", "corral home list")
        equal(len(homes(box)), 3, "nothing is removed when one name is wrong")
        box.corral_("home", "clean", ids["one"][:4]).exited(2)
        done = box.corral_("home", "clean", "--json", ids["one"], ids["two"][:8]).exited(0).json
        equal([home["removed"] for home in done["homes"]], [True, True], "removed")
        box.corral_("home", "clean", "../three").exited(0)
        equal(homes(box), [], "homes")
        box.run("true").exited(0)
        box.corral_("home", "clean", "--all").exited(2).said("--yes")
        box.corral_("home", "clean", "--all", "x").exited(2)
        box.corral_("home", "clean", "--all", "--yes").exited(0)
        equal(os.listdir(f"{box.home}/.local/state/corral/homes"), [], "on the disk")
        box.run("-c", "test ! -e ~/file && touch ~/file").exited(0)

    @test("a home is not removed while a run uses it", root=True)
    def _(box):
        for level in ("full", "standard"):
            process = begin(box, "--level", level)
            check(homes(box)[0]["in_use"], "not listed as in use")
            for words in ((box.ws,), ("--all", "--yes")):
                done = box.corral_("home", "clean", *words).exited(1).said("corral ps")
                contains(done.out, "kept", "what is told")
            equal(box.run("-c", "touch ~/file").exited(0).out, "", "a second run")
            box.write("ws/go", "")
            process.communicate(timeout=PATIENCE)
            os.unlink(f"{box.ws}/go")
            box.corral_("home", "clean", ".").exited(0)
            equal(homes(box), [], "homes")

    @test("a home that a command filled with malice is measured and removed, and nothing outside", root=True)
    def _(box):
        box.write("outside/file", "precious\n")
        for level in ("full", "standard"):
            box.run("--level", level, "/usr/bin/python3", "-c", HOSTILE.format(outside=f"{box.dir}/outside")).exited(0)
            home, = homes(box)
            check(home["bytes"] >= 100000 and not home["bytes_complete"], f"{home}")
            contains(box.corral_("home", "list").exited(0).out, ">", "a size that is not all")
            box.corral_("home", "clean", box.ws).exited(0)
            equal(os.listdir(f"{box.home}/.local/state/corral/homes"), [], "on the disk")
            equal(box.read("outside/file"), "precious\n", "where the link leads")

    @test("a home without a record, or of another kind, is listed and not taken for one that is gone")
    def _(box):
        box.run("true").exited(0)
        top = f"{box.home}/.local/state/corral/homes"
        name, = os.listdir(top)
        os.unlink(f"{top}/{name}/workspace")
        os.symlink(f"{box.dir}/ws", f"{top}/link")
        home, = homes(box)
        equal((home["workspace"], home["workspace_exists"]), (None, False), "without a record")
        equal(box.corral_("home", "clean", "--yes").exited(0).out, "nothing to remove\n", "clean")
        box.corral_("home", "clean", name).exited(0)
        equal(os.listdir(top), ["link"], "left")
        check(box.exists("ws"), "the link was followed")

    @test("the words of both verbs are checked")
    def _(box):
        box.corral_("ps", "x").exited(2)
        box.corral_("home", "list", "x").exited(2)
        box.corral_("home").exited(2).said("corral home list|clean")
        box.corral_("home", "lst").exited(2).said("corral home list")
        for shell in ("bash", "zsh", "fish"):
            script = box.corral_("completion", shell).exited(0).out
            check("home" in script and "clean" in script and "dry-run" in script, shell)
        equal(json.loads(box.corral_("home", "clean", "--json", "--yes").exited(0).out)["homes"], [], "JSON of nothing")
