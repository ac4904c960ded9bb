"""The administrator's file and its floor, shown to corral in a mount namespace of the test's own."""
import json
import os
import shutil

from harness import Skip, check, contains, equal

SYSTEM = """
[limits]
timeout = 44
open_files = 2000

[floor]
min_level = "standard"
require = ["pid"]

[floor.net]
mode = "none"

[floor.limits]
processes = 100
"""


def prepare(box, text):
    """A copy of /etc with the administrator's file in it."""
    if not box.suite.root:
        raise Skip("needs root to show another /etc")
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        raise Skip("unshare or setpriv is missing")
    os.mkdir(f"{box.dir}/etc")
    box.execute(["cp", "-a", "/etc/.", f"{box.dir}/etc"], user=0, group=0).exited(0)
    os.makedirs(f"{box.dir}/etc/corral", exist_ok=True)
    with open(f"{box.dir}/etc/corral/policy.toml", "w", encoding="utf-8") as file:
        file.write(text)


def administered(box, *words):
    script = (f"mount --bind {box.dir}/etc /etc && exec setpriv --reuid {box.user.uid} --regid {box.user.gid} "
              "--clear-groups \"$@\"")
    return box.execute(["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh", box.corral, *words],
                       user=0, group=0)


def shown(box, *words):
    return administered(box, "policy", "show", "--json", *words).exited(0).json["values"]


def register(suite):
    test = suite.test

    @test("the system's file lies below the user's, its floor above everything")
    def _(box):
        prepare(box, SYSTEM)
        rows = shown(box)
        equal([rows["limits.timeout"]["value"], rows["limits.processes"]["value"]], ["44s", 100], "values")
        contains(rows["limits.processes"]["origin"], "floor", "origin")
        equal(rows["require"]["value"], ["pid"], "require")
        box.write("home/.config/corral/corral.toml", "[limits]\ntimeout = 33\n")
        equal(shown(box)["limits.timeout"]["value"], "33s", "the user's file")
        administered(box, "run", "-c", "touch made").exited(0)
        check(box.exists("ws/made"), "it did not run")

    @test("nothing goes beyond the floor: option, file, pinned project file, --no-config")
    def _(box):
        prepare(box, SYSTEM)
        box.write("ws/p.json", json.dumps({"net": {"mode": "full"}}))
        for words in (("--net", "full"), ("--processes", "101"), ("--processes", "none"), ("--policy", "p.json"),
                      ("--no-config", "--net", "full"), ("--min-level", "none"), ("--profile", "data-analysis")):
            done = administered(box, "run", *words, "--", "touch", "ran").exited(126)
            done.said("floor", "policy.toml", "remedy")
        box.write("ws/.corral.toml", "[net]\nmode = \"full\"\n")
        administered(box, "policy", "trust", ".corral.toml").exited(0)
        administered(box, "run", "--", "touch", "ran").exited(126).said("floor")
        check(not box.exists("ws/ran"), "something ran")
        os.unlink(f"{box.ws}/.corral.toml")
        administered(box, "run", "--processes", "50", "true").exited(0)
        equal(shown(box, "--no-config")["limits.processes"]["value"], 100, "the floor under --no-config")
        equal(shown(box, "--no-config")["limits.open_files"]["value"], 4096, "the rest is not read")

    @test("a broken system file stops every run")
    def _(box):
        prepare(box, "[limits\n")
        for words in ((), ("--no-config",)):
            administered(box, "run", *words, "--", "touch", "ran").exited(2).said("/etc/corral/policy.toml")
        check(not box.exists("ws/ran"), "something ran")
