# SPDX-License-Identifier: Apache-2.0
"""The administrator's file and its floor, shown to corral in a mount namespace of the test's own."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from harness import Skip, check, contains, equal

copying = threading.Lock()  # tests of the suite run at once

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


def copy_of_etc(suite):
    """A copy for all boxes of the suite, with an empty directory for the administrator's file."""
    with copying:
        if suite.etc is None:
            suite.etc = tempfile.TemporaryDirectory(prefix="corral-etc-")
            os.chmod(suite.etc.name, 0o755)
            subprocess.run(["cp", "-a", "/etc/.", suite.etc.name], check=True)
            os.makedirs(f"{suite.etc.name}/corral", exist_ok=True)
    return suite.etc.name


def prepare(box, text):
    """A directory with the administrator's file."""
    if not box.suite.root:
        raise Skip("needs root to show another /etc")
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        raise Skip("unshare or setpriv is missing")
    os.mkdir(f"{box.dir}/etc-corral")
    with_floor(box, text)


def with_floor(box, text):
    """The same with another text."""
    if not os.path.isdir(f"{box.dir}/etc-corral"):
        prepare(box, text)
    with open(f"{box.dir}/etc-corral/policy.toml", "w", encoding="utf-8") as file:
        file.write(text)


def prefix(box):
    """What to put before a command, run by root, so that it runs as the box's user with that /etc."""
    script = (f"mount --bind {copy_of_etc(box.suite)} /etc && mount --bind {box.dir}/etc-corral /etc/corral && exec setpriv --reuid {box.user.uid} --regid {box.user.gid} "
              "--clear-groups \"$@\"")
    return ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh"]


def administered(box, *words):
    return box.execute([*prefix(box), box.corral, *words], user=0, group=0)


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

    @test("a level that cannot enforce the floor is refused, whatever is accepted", root=True)
    def _(box):
        secret = box.write("secret.txt", "hidden\n")
        box.write("ws/in.key", "hidden\n")
        every = ("fs.write,fs.read,fs.deny,net,net.names,ipc,pid,env,limits.time,limits.output,limits.memory,limits.processes,"
                 "limits.cpu,limits.disk,lifetime,exec,privileges,leaks")
        hostile = [("--level", "none", "--accept-no-sandbox", "--allow-degraded", every),
                   ("--level", "minimal", "--allow-degraded", every), ("--level", "none", "--accept-no-sandbox"),
                   ("--level", "none", "--accept-no-sandbox", "--min-level", "none", "--allow-degraded", "fs.deny")]
        floors = {"min_level": '"standard"', "fs.deny": f'["{secret}"]', "fs.protect": '["@git"]', "fs.protect_names": '["x"]',
                  "fs.view": '"system"', "fs.read": f'["{box.dir}"]', "fs.write": f'["{box.ws}"]', "fs.home": '"ephemeral"',
                  "fs.toolchains": "false", "fs.cow": "true", "mode": '"read-only"', "net.sockets": "[]", "require": '["pid"]',
                  "accept_no_sandbox": "false", "allow_degraded": "[]", "limits.tmp_size": '"1M"'}
        for key, value in floors.items():
            with_floor(box, f"[floor]\n{key} = {value}\n")
            for words in hostile:
                if key in ("allow_degraded", "accept_no_sandbox") and ("minimal" in words or every not in words):
                    continue
                done = administered(box, "run", *words, "-c", f"cat {secret} in.key; touch ran")
                check(done.status in (125, 126) and "hidden" not in done.out, f"{key}: {done}")
        with_floor(box, '[floor]\nnet.mode = "none"\n')
        administered(box, "run", "--level", "none", "--accept-no-sandbox", "--", "touch", "ran").exited(126).said("net.mode")
        administered(box, "run", "--level", "minimal", "--", "true").exited(0)
        with_floor(box, '[floor]\nlimits.timeout = 60\n')
        administered(box, "run", "--level", "none", "--accept-no-sandbox", "--", "true").exited(0)
        check(not box.exists("ws/ran"), "something ran")

    @test("no option opens what the floor denies or closes", root=True)
    def _(box):
        box.write("closed/in/secret.txt", "hidden\n")
        box.write("ws/in.key", "hidden\n")
        box.write("ws/kept.txt", "kept\n")
        with_floor(box, f'[floor.fs]\ndeny = ["{box.dir}/closed", "*.key"]\nprotect = ["kept.txt"]\n[floor.net]\nsockets = []\n')
        script = f"cat {box.dir}/closed/in/secret.txt in.key; echo x >kept.txt; echo y >made.key"
        box.write("ws/.corral.toml", '[fs]\ndeny = ["*.key", "!**"]\nprotect = ["kept.txt", "!**"]\n')
        for words in ((), ("--deny", "*.key", "--deny", "!**"), ("--protect", "kept.txt", "--protect", "!**"),
                      ("--read", f"{box.dir}/closed/in"), ("--write", f"{box.dir}/closed/in"), ("--read", box.dir),
                      ("--set", "fs.view=host"), ("--allow-nested",), ("--allow-nested", "--allow-degraded", "fs.deny"),
                      ("--socket", f"{box.dir}/closed/in/secret.txt"), ("--level", "standard"), ("--no-config",),
                      ("--cow",), ("--write", box.ws), ("--profile", "host-read")):
            done = administered(box, "run", *words, "-c", script)
            check("hidden" not in done.out, f"{words}: {done}")
            equal(box.read("ws/kept.txt"), "kept\n", f"{words}: the protected file")
            check(not box.exists("ws/made.key"), f"{words}: a denied name was made")
        administered(box, "run", "--socket", "/run/x", "--", "true").exited(126).said("net.sockets", "floor")

    @test("a grant of the very path opens nothing that the floor's patterns and sets name", root=True)
    def _(box):
        for name in ("own/.env", "own/id_rsa", "dir/.env/k", "own/kept/k"):
            box.write(name, "hidden\n")
        os.symlink(f"{box.dir}/own/.env", f"{box.dir}/own/plain")
        with_floor(box, '[floor.fs]\ndeny = ["**/.env", "@sensitive", "!**/public/.env"]\nprotect = ["**/kept"]\n')
        for level in ("full", "standard"):
            for option, name in (("--read", "own/.env"), ("--write", "own/.env"), ("--read", "own/id_rsa"), ("--read", "own/plain"),
                                 ("--read", "dir/.env/k"), ("--workspace", "dir/.env"), ("--write", "own/kept"), ("--workspace", "own/kept")):
                done = administered(box, "run", "--level", level, option, f"{box.dir}/{name}", "--", "true")
                done.exited(126).said("goes beyond the system's floor")
        box.write("public/.env", "excepted\n")
        equal(administered(box, "run", "--read", f"{box.dir}/public/.env", "--", "cat", f"{box.dir}/public/.env").exited(0).out,
              "excepted\n", "what the floor itself excepts")
        equal(administered(box, "run", "--read", f"{box.dir}/own/kept", "--", "cat", f"{box.dir}/own/kept/k").exited(0).out,
              "hidden\n", "what the floor only protects")

    @test("a pattern of the floor holds where a grant shows its files at another place", root=True)
    def _(box):
        box.write("closed/in/secret.txt", "hidden\n")
        os.symlink(f"{box.dir}/closed/in", f"{box.dir}/lnk")
        os.symlink(f"{box.dir}/closed/in/secret.txt", f"{box.dir}/lone")
        tried = ((("--agent-dir", f"{box.dir}/closed/in"), "/agent/secret.txt"),
                 (("--workspace", f"{box.dir}/closed/in", "--set", "fs.workspace_at=/w"), "/w/secret.txt"),
                 (("--read", f"{box.dir}/lnk"), f"{box.dir}/lnk/secret.txt"), (("--read", f"{box.dir}/lone"), f"{box.dir}/lone"),
                 (("--write", f"{box.dir}/lnk"), f"{box.dir}/lnk/secret.txt"))
        for words, path in tried:
            with_floor(box, "")
            equal(administered(box, "run", *words, "--", "cat", path).exited(0).out, "hidden\n", f"{words}: without the floor")
            for pattern in (f"{box.dir}/closed/**", f"{box.dir}/*/in", "/**/secret.txt", f"{box.dir}/c*/**/secret.*"):
                with_floor(box, f'[floor.fs]\ndeny = ["{pattern}"]\n')
                for level in ("full", "standard"):
                    done = administered(box, "run", "--level", level, *words, "--", "cat", path)
                    check(done.status != 0 and "hidden" not in done.out, f"{pattern} {words} at {level}: {done}")

    @test("a socket that a pattern of the floor names is not reached", root=True)
    def _(box):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{box.dir}/s.sock")
        os.chmod(f"{box.dir}/s.sock", 0o777)
        listener.listen(8)
        script = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ntry:\n  s.connect(sys.argv[1]); print('reached')\n"
                  "except OSError: print('refused')")
        for level in ("full", "standard"):
            words = ("run", "--level", level, "--socket", f"{box.dir}/s.sock", "--", "python3", "-c", script, f"{box.dir}/s.sock")
            with_floor(box, "")
            equal(administered(box, *words).exited(0).out, "reached\n", f"{level}: without the floor")
            with_floor(box, f'[floor.fs]\ndeny = ["{box.dir}/*.sock"]\n')
            administered(box, *words).exited(126).said("net.sockets", "floor")
            with_floor(box, "")
            equal(administered(box, *words[:3], "--deny", f"{box.dir}/*.sock", *words[3:]).exited(0).out, "refused\n",
                  f"{level}: a pattern of the caller's own")
        listener.close()

    @test("a broken system file stops every run")
    def _(box):
        prepare(box, "[limits\n")
        for words in ((), ("--no-config",)):
            administered(box, "run", *words, "--", "touch", "ran").exited(2).said("/etc/corral/policy.toml")
        check(not box.exists("ws/ran"), "something ran")
