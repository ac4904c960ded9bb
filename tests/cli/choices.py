# SPDX-License-Identifier: Apache-2.0
"""Choices of the caller: the default workspace, the shell, profiles, denied calls, policies that are read back."""
import json

from harness import check, contains, equal

# getppid(2) by its own number: no library caches it.
ASK_PARENT = "import os; print(os.getppid())"


def register(suite):
    test = suite.test

    @test("CORRAL_WORKSPACE is the default workspace, below files and options", root=True)
    def _(box):
        for name in ("other", "third"):
            box.mkdir(name)
        box.env["CORRAL_WORKSPACE"] = f"{box.dir}/other"
        equal(box.run("pwd").exited(0).out, f"{box.dir}/other\n", "the variable")
        contains(box.corral_("policy", "show").exited(0).out, "# CORRAL_WORKSPACE", "origin")
        equal(box.run("--no-config", "pwd").exited(0).out, f"{box.dir}/other\n", "with --no-config")
        box.write("home/.config/corral/corral.toml", f'workspace = "{box.dir}/third"\n')
        equal(box.run("pwd").exited(0).out, f"{box.dir}/third\n", "a file")
        equal(box.run("-w", box.ws, "pwd").exited(0).out, f"{box.ws}\n", "-w")

    @test("CORRAL_WORKSPACE must be an absolute path of a directory that may be a workspace")
    def _(box):
        for value, text in (("ws", "absolute"), ("/usr", "programs and libraries"), (box.home, "HOME"),
                            (f"{box.dir}/none", "No such file")):
            done = box.run("touch", "ran", env={**box.env, "CORRAL_WORKSPACE": value})
            done.exited(2).said("CORRAL_WORKSPACE", text)
        check(not box.exists("ws/ran"), "it ran")
        equal(box.run("pwd", env={**box.env, "CORRAL_WORKSPACE": ""}).exited(0).out, f"{box.ws}\n", "empty: unset")

    @test("in a sandbox CORRAL_WORKSPACE reports the outer workspace and chooses none")
    def _(box):
        nested = box.env | {"CORRAL_WORKSPACE": box.home, "CORRAL_LEVEL": "full"}
        equal(box.run("pwd", env=nested).exited(0).out, f"{box.ws}\n", "the working directory")

    @test("--shell is the shell of -c and the value of SHELL", root=True)
    def _(box):
        done = box.run("--shell", "/bin/bash", "-c", 'echo ${BASH_VERSION:+bash} $SHELL $1', "zero", "one").exited(0)
        equal(done.out, "bash /bin/bash one\n", "stdout")
        equal(box.run("-c", "echo ${BASH_VERSION:-sh}").exited(0).out, "sh\n", "the default")
        box.run("--shell", "bash", "-c", "true").exited(2).said("absolute")
        box.run("--shell", "/bin/bash", "true").exited(2).said("needs -c")
        box.run("--shell", "/nowhere/sh", "-c", "true").exited(127)

    @test("seccomp.extra_deny refuses a call with EPERM and changes no other", root=True)
    def _(box):
        equal(box.run("python3", "-c", ASK_PARENT).exited(0).err, "", "the control")
        for level in ([], ["--level", "standard"]):
            script = "import os, ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.getpgid(0), ctypes.get_errno(), os.getpid() > 0)"
            equal(box.run(*level, "--set", "seccomp.extra_deny=getpgid", "python3", "-c", script).exited(0).out,
                  "-1 1 True\n", f"stdout at {level}")
        done = box.run("--set", "seccomp.extra_deny=wait4,ppoll,epoll_wait,poll,clock_gettime", "-c", "echo runs")
        equal(done.exited(0).out, "runs\n", "calls that pid 1 needs for itself")

    @test("seccomp.extra_deny takes names of system calls that a program can do without")
    def _(box):
        box.run("--set", "seccomp.extra_deny=gotuid", "true").exited(2).said("gotuid", "not the name of a system call")
        box.run("--set", "seccomp.extra_deny=execve", "true").exited(2).said("no command could start")
        box.run("--level", "none", "--accept-no-sandbox", "--set", "seccomp.extra_deny=ptrace", "true").exited(125).said(
            "cannot be enforced at level none")
        box.write("ws/.corral.toml", 'seccomp.extra_deny = ["getpgid"]\n')
        script = "import ctypes; print(ctypes.CDLL(None).getpgid(0))"
        equal(box.run("python3", "-c", script).exited(0).out, "-1\n", "an untrusted project file narrows")
        box.write("bad.toml", 'seccomp.extra_deny = ["gotuid"]\n')
        box.corral_("policy", "check", f"{box.dir}/bad.toml").exited(2)

    @test("policy check finds a contradiction within the file, as a run does", root=True)
    def _(box):
        box.mkdir("data")
        for text, parts in (('mode = "read-only"\nfs.write = ["{d}"]\n', ["mode read-only", "fs.write", "workspace-write"]),
                            ('fs.read = ["{d}"]\nfs.deny = ["{d}"]\n', ["fs.read", "fs.deny"]),
                            ('level = "minimal"\nmin_level = "full"\n', ["level minimal", "min_level full"]),
                            ('net.mode = "none"\nnet.allow = ["a.example"]\n', ["net.mode none", "net.allow"]),
                            ('mode = "full-access"\nnet.mode = "none"\n', ["mode full-access", "net.mode none"]),
                            ('audit.enabled = false\naudit.required = true\n', ["audit.enabled", "audit.required"])):
            file = box.write("p.toml", text.format(d=f"{box.dir}/data"))
            done = box.corral_("policy", "check", file).exited(2)
            for part in ("p.toml:", "remedy: ", *parts):
                contains(done.out, part, "what policy check prints")
            box.run("--policy", file, "true").exited(2).said(*parts)
        # One side alone, which another file may complete, is none.
        for text in ('mode = "read-only"\n', f'fs.write = ["{box.dir}/data"]\n', 'net.private = ["10.0.0.0/8"]\n', 'audit.required = true\n',
                     'min_level = "full"\n', f'[agent.a]\nmode = "read-only"\nfs.write = ["{box.dir}/data"]\n'):
            box.corral_("policy", "check", box.write("p.toml", text)).exited(0)

    @test("profile list and show print every profile, and what show prints is a policy file")
    def _(box):
        listed = box.corral_("profile", "list", "--json").exited(0).json["profiles"]
        text = box.corral_("profile", "list").exited(0).out
        for profile in listed:
            contains(text, f"{profile['name']} ", "the list")
            shown = box.corral_("profile", "show", profile["name"]).exited(0).out
            rows = box.corral_("profile", "show", profile["name"], "--json").exited(0).json
            check(all(row["reason"] in shown for row in rows["values"]), "a reason is missing")
            if not profile["usable"]:
                continue
            file = box.write(f"{profile['name']}.toml", shown)
            named = box.corral_("policy", "show", "--json", "--profile", profile["name"]).exited(0).json["values"]
            read = box.corral_("policy", "show", "--json", "--policy", file).exited(0).json["values"]
            different = [key for key in named if named[key]["value"] != read[key]["value"]]
            equal(different, ["profile"] if profile["name"] != "workspace" else [], profile["name"])

    @test("profile show names the nearest profile, and takes exactly one name")
    def _(box):
        box.corral_("profile", "show", "stict").exited(2).said("unknown profile: stict", "strict")
        box.corral_("profile", "show").exited(2)
        box.corral_("profile", "list", "strict").exited(2)
        box.corral_("profile").exited(2).said("list|show")

    @test("policy show --json is read back by --policy, value for value")
    def _(box):
        box.write("home/.config/corral/corral.toml", 'limits.memory = "2G"\nlimits.cpus = 1.5\n')
        words = ["--env", "A=b=c d", "--env", "EMPTY=", "--read", "/etc/hosts", "--deny", "*.key", "--deny", "!a.key",
                 "--deny", "maybe*?", "--timeout", "90s", "--net", "filtered", "--allow-host", "example.com:443",
                 "--publish", "3000:3001", "--pass-env", "MINE", "--read", f"{box.dir}/none?", "--profile", "coding"]
        first = box.corral_("policy", "show", "--json", *words).exited(0)
        file = box.write("shown.json", first.out)
        again = box.corral_("policy", "show", "--json", "--no-config", "--policy", file).exited(0)
        equal(again.json["sha256"], first.json["sha256"], "sha256")
        box.corral_("policy", "check", file).exited(0)
        piped = box.run("--policy", "-", "-c", "echo $A", stdin=first.out).exited(0)
        equal(piped.out, "b=c d\n", "through a pipe")

    @test("a policy of policy show --json is checked like any other")
    def _(box):
        shown = box.corral_("policy", "show", "--json").exited(0).json
        shown["values"]["no.key"] = {"value": 1, "origin": "x"}
        done = box.corral_("policy", "check", box.write("a.json", json.dumps(shown))).exited(2)
        contains(done.out, "no", "the unknown key")
        del shown["values"]["no.key"]
        shown["more"] = 1
        done = box.corral_("policy", "check", box.write("b.json", json.dumps(shown))).exited(2)
        contains(done.out, "more", "the unknown member")
        del shown["more"]
        shown["values"]["net.mode"]["value"] = "everything"
        done = box.corral_("policy", "check", box.write("c.json", json.dumps(shown))).exited(2)
        contains(done.out, "everything", "the value")

    @test("policy check warns of each value that makes the boundary wider, and of no other")
    def _(box):
        wide = ('net.mode = "full"\nenv.pass = ["GITHUB_TOKEN", "HARMLESS"]\nnested = true\nfs.view = "host"\n'
                'level = "minimal"\nallow_degraded = ["ipc"]\nenv.set.OPENAI_API_KEY = "sk-value"\n'
                'fs.read = ["/", "/srv"]\nfs.write = ["/home/ann", "/home/ann/x"]\nfs.protect = ["!@git", "kept"]\n'
                'limits.processes = "none"\nscan.output = "off"\naudit.enabled = false\n')
        done = box.corral_("policy", "check", box.write("wide.toml", wide)).exited(0)
        for part in ("wide.toml:1: warning: net.mode = full", "wide.toml:2: warning: env.pass = GITHUB_TOKEN",
                     "wide.toml:3: warning: nested = true", "fs.view = host", "level = minimal",
                     "allow_degraded = ipc", "env.set = OPENAI_API_KEY", "fs.read = /:", "fs.write = /home/ann:", "fs.protect = ",
                     "limits.processes = none", "scan.output = off", "audit.enabled = false"):
            contains(done.out, part, "stdout")
        for part in ("HARMLESS", "sk-value", "/srv", "/home/ann/x", "kept"):
            check(part not in done.out, done.out)
        plain = ('net.mode = "filtered"\nfs.read = ["/srv"]\nlimits.timeout = "1h"\nmode = "read-only"\nscan.output = "redact"\n'
                 'limits.processes = 100\nfs.deny = ["**/*.pem"]\naudit.enabled = true\n')
        file = box.write("plain.toml", plain)
        equal(box.corral_("policy", "check", file).exited(0).out, f"{file}: ok\n", "no warning")

    @test("a run that passes a credential warns: on stderr, and in the notes of JSON", root=True)
    def _(box):
        env = {**box.env, "GITHUB_TOKEN": "t", "HARMLESS": "h"}
        done = box.run("--pass-env", "GITHUB_TOKEN", "--pass-env", "HARMLESS", "true", env=env).exited(0)
        equal(done.err, "corral: warning: GITHUB_TOKEN is passed to the command: a code host's token\n", "stderr")
        notes = box.json("--pass-env", "GITHUB_TOKEN", "true", env=env)["notes"]
        check(any("GITHUB_TOKEN is passed" in note for note in notes), f"{notes}")
        equal(box.run("--pass-env", "GITHUB_TOKEN", "true").exited(0).err, "", "the caller does not have it")
