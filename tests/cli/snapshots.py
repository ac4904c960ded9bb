# SPDX-License-Identifier: Apache-2.0
"""Plans for hosts that are files: `corral status --snapshot` writes one, `corral explain --host` reads it."""
import json
import os
import re
import shutil

from harness import Skip, check, contains, equal

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hosts", "snapshots")

OPTIONS = [
    (),
    ("--level", "standard"),
    ("--deny", "*.key", "--protect", "Makefile", "--read", "/var"),
    ("--net", "filtered", "--allow-host", "example.com", "--allow-host", "@remotes"),
    ("--level", "standard", "--net", "filtered", "--allow-host", "@registries"),
    ("--memory", "1G", "--processes", "50", "--cpus", "1"),
    ("--mode", "read-only", "--home", "ephemeral", "--pass-env", "API_KEY"),
    ("--cow",),
    ("--profile", "strict"),
]

# What must not be in a snapshot, wherever the host has it.
SECRET = "s3cretS3CRET"

GIT = f"""[core]
\trepositoryformatversion = 0
[remote "origin"]
\turl = https://ann:{SECRET}@git.example.com/ann/app.git
[http]
\textraHeader = Authorization: Basic {SECRET}
"""


def without_chance(text):
    """A run's own directory has a random name."""
    return re.sub(r"/corral-\d+-[0-9a-f]{16}\b", "/corral-RUN", text)


def project(box):
    """A repository with logins in it, and settings of package managers."""
    box.write("ws/.git/HEAD", "ref: refs/heads/main\n")
    box.write("ws/.git/config", GIT)
    box.mkdir("ws/.git/hooks")
    box.write("home/.npmrc", f"registry=https://npm.example.com/\n//npm.example.com/:_authToken={SECRET}\n")
    box.write("home/.config/pip/pip.conf", f"[global]\nindex-url = https://u:{SECRET}@pypi.example.com/simple\n")
    box.write("home/.gitconfig", f"[user]\n\tname = {SECRET}\n\temail = {SECRET}@example.com\n")
    box.env.update(API_KEY=SECRET, UNUSED_KEY=SECRET, GOPROXY=f"https://u:{SECRET}@go.example.com/{SECRET}",
                   GOSUMDB="off", LC_TIME=SECRET)


def record(box, *words, name="host.json"):
    done = box.corral_("status", "--snapshot", *words).exited(0)
    equal(done.err, "", "stderr")
    return box.write(name, done.out), done.json


def planned(box, found, *words):
    """The plan for an edited snapshot."""
    path = box.write("edited.json", json.dumps(found))
    return box.corral_("explain", "--json", "--host", path, *words).exited(0).json["plan"]


def state(plan, name):
    return next(row["state"] for row in plan["guarantees"] if row["name"] == name)


def register_round_trip(test):
    for words in OPTIONS:
        def round_trip(box, words=words):
            project(box)
            path, _ = record(box, *words)
            for form in ((), ("--json",)):
                here = box.corral_("explain", *form, *words, "--", "true").exited(0)
                there = box.corral_("explain", *form, "--host", path, *words, "--", "true").exited(0)
                equal(without_chance(there.out), without_chance(here.out), f"explain {' '.join(form)}")
        test(f"a snapshot gives the plan of its host: {' '.join(words) or 'no options'}", root=True)(round_trip)

    @test("a snapshot has no secret of files, variables and git's settings", root=True)
    def _(box):
        project(box)
        for words in OPTIONS:
            path, found = record(box, *words)
            check(SECRET not in box.read(path), f"the secret, with {words}")
            check("UNUSED_KEY" not in found["caller"]["environ"], "a variable that no plan uses")

    @test("explain --host opens the snapshot and no file of this host")
    def _(box):
        if shutil.which("strace") is None:
            raise Skip("strace is not installed")
        path, _ = record(box, "--level", "standard")
        log = box.mkdir("log") + "/calls"
        box.execute(["strace", "-f", "-e", "trace=%file,getdents64,clone,clone3,fork,vfork", "-o", log, box.corral, "explain",
                     "--level", "standard", "--host", path, "--", "true"]).exited(0)
        calls = [line.split(maxsplit=1)[1] for line in box.read(log).splitlines() if "(" in line][1:]
        left = [line for line in calls if path not in line and "/dev/urandom" not in line]
        equal(left, [], "other calls")


def register_edited(test):
    @test("the facts of the kernel can be edited: older Landlock", root=True)
    def _(box):
        _, found = record(box)
        found["kernel"]["landlock_abi"] = 3
        plan = planned(box, found)
        equal([plan["level"], plan["landlock_abi"]], ["standard", 3], "plan")
        found["kernel"].update(landlock_abi=7, user_namespaces=True)
        equal(planned(box, found)["level"], "full", "level")

    @test("the facts of the kernel can be edited: no user namespaces", root=True)
    def _(box):
        _, found = record(box)
        found["kernel"].update(user_namespaces=False, user_namespaces_why="edited", landlock_abi=3)
        plan = planned(box, found)
        equal([plan["level"], plan["engine"], plan["landlock_abi"]], ["standard", "landlock", 3], "plan")
        equal(state(plan, "pid"), "weaker", "pid")
        found["kernel"]["landlock_abi"] = 0
        path = box.write("edited.json", json.dumps(found))
        box.corral_("explain", "--host", path).exited(125).said("Landlock ABI 0")

    @test("the examples are hosts with other kernels")
    def _(box):
        wanted = {
            "debian-11": ["standard", "namespaces", 0, "enforced"],
            "debian-12": ["standard", "namespaces", 2, "enforced"],
            "macos-15": ["standard", "seatbelt", 0, "weaker"],  # by hand: no Mac was recorded
            "ubuntu-24.04": ["standard", "landlock", 4, "weaker"],
        }
        equal(sorted(os.listdir(EXAMPLES)), [f"{name}.json" for name in sorted(wanted)], "examples")
        for name, facts in wanted.items():
            path = box.write("host.json", open(f"{EXAMPLES}/{name}.json", "rb").read())
            for words in ((), ("--allow-host", "@remotes"), ("--deny", "*.key")):
                plan = box.corral_("explain", "--json", "--host", path, *words).exited(0).json["plan"]
                equal([plan["level"], plan["engine"], plan["landlock_abi"], state(plan, "pid")], facts, name)
                home = "/Users/user" if name == "macos-15" else "/home/user"
                equal(plan["workspace"]["source"], f"{home}/project", "workspace")
        contains(box.corral_("explain", "--host", path, "--memory", "1G").exited(0).out, "limits.memory     enforced  cgroup",
                 "a scope")


def register_refusals(test):
    @test("a question that the snapshot has no answer for is an error with the path")
    def _(box):
        box.mkdir("ws/sub")
        path, _ = record(box)
        box.corral_("explain", "--host", path, "--read", f"{box.ws}/sub").exited(2).said(
            f"{box.ws}/sub", "no answer", "corral status --snapshot")
        box.corral_("explain", "--host", path, "--read", f"{box.home}/none").exited(2).said(f"{box.home}/none", "No such file")

    @test("a file that is no snapshot is refused with the place of the error")
    def _(box):
        path, found = record(box)
        text = box.read(path)
        wrong = {
            text[:len(text) // 2]: "host.json:",
            text.replace('"seccomp"', '"secomp"', 1): "kernel.secomp: unknown key",
            text.replace('"corral_snapshot": 1', '"corral_snapshot": 2'): "corral_snapshot: this version of Corral",
            text.replace('"kind": "dir"', '"kind": "door"', 1): "files./: the kind",
            "": "host.json:", "[]": "expected an object", "{}": "corral_snapshot: the key is missing",
        }
        for content, said in wrong.items():
            box.write("host.json", content)
            box.corral_("explain", "--host", path).exited(2).said("snapshot: ", said)
        box.corral_("explain", "--host", box.dir).exited(2).said("cannot read the snapshot", box.dir)
        box.corral_("explain", "--host", f"{box.dir}/none").exited(2).said(f"{box.dir}/none", "No such file")

    @test("a missing key is an error if the manual names it, and means none otherwise")
    def _(box):
        path, found = record(box)
        needed = ("corral_snapshot", "kernel", "caller", "files", "kernel.landlock_abi", "kernel.seccomp",
                  "kernel.user_namespaces", "kernel.notify", "kernel.sockets", "caller.uid", "caller.gid", "caller.cwd")
        for name in needed + ("git", "kernel.release", "kernel.cgroup", "kernel.scope", "caller.user"):
            copy = json.loads(json.dumps(found))
            *above, last = name.split(".")
            (copy[above[0]] if above else copy).pop(last, None)
            done = box.corral_("explain", "--host", box.write("host.json", json.dumps(copy)))
            if name in needed:
                done.exited(2).said(f"{name}: the key is missing")
            else:
                done.exited(0)

    @test("a snapshot has no policy files; --policy is the caller's file")
    def _(box):
        path, _ = record(box)
        box.write("home/.config/corral/corral.toml", "[limits]\nmemory = \"77M\"\n")
        box.write("ws/.corral.toml", "[limits]\ndisk = \"78M\"\n")
        out = box.corral_("explain", "--host", path).exited(0).out
        check("80740352" not in out and "81788928" not in out, "policy files of this host")
        box.write("ws/own.toml", "[limits]\nmemory = \"79M\"\n")
        contains(box.corral_("explain", "--host", path, "--policy", "own.toml").exited(0).out, "82837504", "--policy")
        contains(box.corral_("explain", "--host", path, "--policy", "-", stdin="[limits]\nmemory = \"79M\"\n").exited(0).out,
                 "82837504", "--policy -")
        box.corral_("status", "--snapshot", "--policy", "-", stdin="").exited(2).said("stream")

    @test("policy options of status need --snapshot, and only explain takes --host")
    def _(box):
        box.corral_("status", "--net", "full").exited(2).said("--net only with --snapshot")
        box.corral_("status", "-w", box.ws).exited(2).said("--workspace only with --snapshot")
        box.corral_("status", "--snapshot", "--json").exited(2).said("--json")
        box.corral_("status", "--snapshot", "word").exited(2).said("word")
        box.corral_("status", "--host", "x").exited(2).said("--host")
        box.run("--host", "x", "--", "true").exited(2).said("--host")
        box.corral_("explain", "--host", "x", "--host", "y").exited(2).said("--host is given twice")
        box.corral_("status", "--snapshot", "--level", "impossible").exited(2).said("impossible")


def register(suite):
    register_round_trip(suite.test)
    register_edited(suite.test)
    register_refusals(suite.test)
