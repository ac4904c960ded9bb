#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corral.exe under wine: processes, job, streams, exit codes, time-outs, quoting, the journal.  Speaks TAP.

    rows.py --build DIR [--quick] [--only WORDS]

DIR is a cross build (`make windows`).  Wine confines nothing, so no row here is about
files or network: scripts/windows-rows.ps1 has those, for a real machine.  The prefix of wine is new and goes again."""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

NONE = ("--level", "none", "--accept-no-sandbox")
CHILD = ".\\child.exe"
WAIT_SECONDS = 60  # a row that takes longer fails
PROGRAMS = ("corral.exe", "tests/windows/child.exe")
ROWS = []


def row(quick=False):
    def add(function):
        ROWS.append((function, quick))
        return function
    return add


class Failed(Exception):
    pass


def expect(truth, *said):
    if not truth:
        raise Failed(" ".join(map(str, said))[:600])


def until(look, what):
    """Waits for an event of the run."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if look():
            return
        time.sleep(0.02)
    raise Failed(f"not seen: {what}")


class Machine:
    """A prefix of wine with both programs, and a workspace in it."""

    def __init__(self, place, build):
        self.place, self.prefix = place, f"{place}/prefix"
        self.environment = {"PATH": os.environ["PATH"], "HOME": place, "WINEPREFIX": self.prefix, "WINEDEBUG": "-all",
                            "WINEDLLOVERRIDES": "mscoree,mshtml=", "LANG": "C.UTF-8"}
        made = self.call("wine", "wineboot", "-i")
        expect(made.returncode == 0, "wineboot failed:", made.stderr)
        self.work = f"{self.prefix}/drive_c/work"
        os.mkdir(self.work)
        for name in PROGRAMS:
            shutil.copy(f"{build}/{name}", self.work)
        shutil.copy(f"{self.work}/child.exe", f"{self.work}/script.bat")
        (self.state,) = [f"{users}/AppData/Local/Corral" for users in glob.glob(f"{self.prefix}/drive_c/users/*")
                         if os.path.isdir(f"{users}/AppData/Local")]

    def call(self, *argv, text=b"", **more):
        return subprocess.run(argv, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment | more,
                              cwd=getattr(self, "work", self.place), timeout=WAIT_SECONDS * 2, check=False)

    def corral(self, *words, text=b"", **more):
        return self.call("wine", "corral.exe", *words, text=text, **more)

    def run(self, *words, options=(), **more):
        return self.corral("run", *NONE, *options, "--", *words, **more)

    def json(self, *words, options=(), **more):
        done = self.run(*words, options=("--json", *options), **more)
        expect(done.stdout.startswith(b"{"), "no JSON:", done.stdout, done.stderr)
        return json.loads(done.stdout)

    def begin(self, *words, options=()):
        return subprocess.Popen(["wine", "corral.exe", "run", *NONE, *options, "--", *words], env=self.environment,
                                cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def beats(self, name):
        """Whether a process writes to the file: two looks, further apart than it needs for a beat."""
        def look():
            try:
                with open(f"{self.work}/{name}", encoding="ascii") as text:
                    return text.read()
            except OSError:
                return None
        before = look()
        time.sleep(0.5)
        return look() != before

    def journals(self):
        return glob.glob(f"{self.state}/journal/*.journal")

    def private(self):
        return glob.glob(f"{self.state}/runs/*")

    def corral_pid(self):
        """The Unix process that is corral.exe in this prefix."""
        found = []
        for place in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{place}/cmdline", "rb") as line, open(f"{place}/environ", "rb") as variables:
                    if b"corral.exe" in line.read().split(b"\0")[0] and self.prefix.encode() in variables.read():
                        found.append(int(os.path.basename(place)))
            except OSError:
                pass
        return found

    def done(self):
        self.call("wineserver", "-k")
        self.call("wineserver", "-w")


def wide(text):
    return [bytes.fromhex(line).decode("utf-16-be") for line in text.decode().split("\n")[:-1]]


@row(quick=True)
def the_result_has_the_keys_of_linux_and_claims_nothing_under_wine(m, corral):
    got = m.json(CHILD, "exit", "3")
    expect(got["reason"] == "exit" and got["exit_code"] == 3, got)
    states = {one["name"]: one["state"] for one in got["guarantees"]}
    expect(all(states[name] == "absent" for name in ("fs.write", "fs.read", "fs.deny", "net", "ipc", "pid")), states)
    expect(states["lifetime"] == states["env"] == "enforced", states)
    expect(got["level"] == "none" and any("experimental" in note for note in got["notes"]), got)
    if corral:
        linux = subprocess.run([corral, "run", "--json", "--no-config", "--level", "none", "--accept-no-sandbox", "--", "true"],
                               stdout=subprocess.PIPE, cwd=m.place, check=False)
        linux = json.loads(linux.stdout)
        expect(list(got) == list(linux), "keys differ:", set(got) ^ set(linux) or "their order")
        expect([one["name"] for one in got["guarantees"]] == [one["name"] for one in linux["guarantees"]], "guarantees differ")


@row(quick=True)
def a_run_without_a_sandbox_is_refused(m, _):
    for words, status, said in (((), 125, b"--accept-no-sandbox"), (("--level", "none"), 126, b"--accept-no-sandbox"),
                                ((*NONE, "--require", "fs.write"), 125, b"fs.write is required"),
                                ((*NONE, "--memory", "1G"), 125, b"--allow-degraded limits.memory"),
                                ((*NONE, "--deny", "x"), 2, b"--deny"), ((*NONE, "--net", "filtered"), 2, b"--net"),
                                ((*NONE, "-c", "dir"), 2, b"-c"), ((*NONE, "--nonsense"), 2, b"--nonsense")):
        done = m.corral("run", *words, "--", CHILD, "exit", "9")
        expect(done.returncode == status and said in done.stderr, words, done.returncode, done.stderr)
    expect(not m.journals() and not m.private(), m.journals(), m.private())


@row(quick=True)
def arguments_arrive_unchanged(m, _):
    choose = random.Random(20)
    awkward = ["", " ", "a b", '"', 'a"b', "\\", "a\\", "a b\\", "a\\\\", 'a\\"b', '\\\\"', "%PATH%", "^&|<>", "caf\u00e9", "\U0001f40e",
               "tab\there", "--", "-c", "*.c", "'", "a=b"]
    for batch in [awkward] + [["".join(choose.choices('ab \\\\"\t%', k=choose.randrange(12))) for _ in range(60)] for _ in range(2)]:
        done = m.run(CHILD, "args", *batch)
        got = wide(done.stdout)
        expect(done.returncode == 0 and got == batch, [pair for pair in zip(batch, got) if pair[0] != pair[1]], done.stderr)


@row(quick=True)
def exit_codes_are_those_of_the_command(m, _):
    for code in (0, 1, 77, 255):
        expect(m.run(CHILD, "exit", str(code)).returncode == code, code)
    expect(m.json(CHILD, "exit", "0xC0000005")["exit_code"] == 0xC0000005, "NTSTATUS")
    expect(m.run(".\\nowhere.exe").returncode == 127, "a program that does not exist")


@row(quick=True)
def streams_keep_every_byte(m, _):
    done = m.run(CHILD, "bytes")
    expect(done.stdout == bytes(range(256)) and done.stderr == b"to stderr\n", done.stdout, done.stderr)
    got = m.json(CHILD, "flood", "300", options=("--max-output", "100K"))
    expect(len(got["stdout"]) == 100 << 10 and got["truncated"] == {"stdout": 300000 - (100 << 10), "stderr": 0}, got["truncated"])
    expect(len(m.run(CHILD, "flood", "300").stdout) == 300000, "passed on")


@row()
def stdin_is_passed_on_or_empty(m, _):
    expect(m.run(CHILD, "cat", text=b"one\ntwo").stdout == b"one\ntwoend of input\n", "passed on")
    expect(m.json(CHILD, "cat", text=b"one")["stdout"] == "end of input\n", "empty with --json")
    expect(m.json(CHILD, "cat", text=b"one", options=("--stdin",))["stdout"] == "oneend of input\n", "--stdin")


@row(quick=True)
def a_time_out_ends_the_command_and_its_children(m, _):
    got = m.json(CHILD, "orphan", "late.txt", "wait", options=("--timeout", "3s"))
    expect(got["reason"] == "timeout" and got["exit_code"] is None and got["stdout"] == "started\n", got)
    expect(not m.beats("late.txt"), "a child lives")
    expect(m.run(CHILD, "sleep", "600000", options=("--timeout", "1s")).returncode == 124, "status")


@row()
def an_idle_time_out_ends_a_silent_command(m, _):
    got = m.json(CHILD, "sleep", "600000", options=("--idle-timeout", "1s", "--timeout", "none"))
    expect(got["reason"] == "idle" and got["stdout"] == "sleeping\n", got)


@row(quick=True)
def what_a_command_leaves_running_is_killed(m, _):
    with open(f"{m.place}/control", "wb") as out:  # a pipe would stay open as long as the orphan lives
        subprocess.run(["wine", CHILD, "orphan", "control.txt"], env=m.environment, cwd=m.work, stdin=subprocess.DEVNULL,
                       stdout=out, stderr=out, timeout=WAIT_SECONDS, check=True)
    expect(m.beats("control.txt"), "the control does not live")
    done = m.run(CHILD, "orphan", "left.txt")
    expect(done.stdout == b"started\n" and os.path.exists(f"{m.work}/left.txt"), done.stdout, done.stderr)
    expect(not m.beats("left.txt"), "it lives")
    expect(m.beats("control.txt"), "the control was killed, too")


@row(quick=True)
def a_killed_corral_takes_the_command_with_it_and_the_next_start_undoes_its_changes(m, _):
    for clean in (lambda: m.corral("cleanup"), lambda: m.run(CHILD, "exit", "0")):
        beat = "killed.txt"
        run = m.begin(CHILD, "orphan", beat, "wait")
        until(lambda: os.path.exists(f"{m.work}/{beat}"), "the command")
        expect(m.beats(beat), "it does not live")
        expect(len(m.journals()) == 1 and len(m.private()) == 1, m.journals(), m.private())
        alive = m.corral("cleanup")
        expect(b"0 runs undone, 1 running" in alive.stdout, alive.stdout, alive.stderr)
        expect(len(m.journals()) == 1 and len(m.private()) == 1 and m.beats(beat), "cleanup disturbs a live run")
        with open(f"{m.private()[0]}/kept", "w", encoding="ascii"):
            pass
        (pid,) = m.corral_pid()
        os.kill(pid, signal.SIGKILL)
        run.communicate(timeout=WAIT_SECONDS)
        until(lambda: not m.beats(beat), "the end of the command")
        expect(len(m.journals()) == 1 and len(m.private()) == 1, "nothing to undo")
        done = clean()
        expect(done.returncode == 0, done.stderr)
        expect(not m.journals() and not m.private(), m.journals(), m.private())
        os.unlink(f"{m.work}/{beat}")


@row()
def a_torn_journal_is_undone_and_a_damaged_one_is_kept(m, _):
    m.corral("cleanup")
    os.makedirs(f"{m.state}/journal", exist_ok=True)
    with open(f"{m.state}/journal/torn.journal", "wb") as out:
        out.write(b"run\tx")
    done = m.corral("cleanup")
    expect(done.returncode == 0 and b"1 runs undone" in done.stdout and not m.journals(), done)
    with open(f"{m.state}/journal/bad.journal", "wb") as out:
        out.write(b"directory\tC:\\work\t00000000\n")
    done = m.corral("cleanup")
    expect(done.returncode == 125 and b"damaged" in done.stderr and len(m.journals()) == 1, done)
    expect(os.path.isdir(m.work), "the damaged line was obeyed")
    os.unlink(m.journals()[0])


@row()
def a_journal_cannot_remove_another_directory(m, _):
    for path in ("C:\\work", "C:\\", "C:\\users\\x\\AppData\\Local\\Corral\\runs\\..\\..\\y"):
        line = f"directory\t{path}".encode()
        with open(f"{m.state}/journal/other.journal", "wb") as out:
            out.write(line + b"\t%08x\n" % zlib.crc32(line))
        done = m.corral("cleanup")
        expect(done.returncode == 125 and b"not a directory of a run" in done.stderr, done)
        os.unlink(m.journals()[0])
    expect(os.path.exists(f"{m.work}/corral.exe"), "removed")


@row(quick=True)
def the_environment_is_new(m, _):
    done = m.run(CHILD, "env", options=("--env", "GIVEN=1", "--pass-env", "PASSED"), SECRET_TOKEN="s3cret", PASSED="yes")
    got = dict(line.split("=", 1) for line in wide(done.stdout) if not line.startswith("="))
    expect(got.get("GIVEN") == "1" and got.get("PASSED") == "yes" and "SECRET_TOKEN" not in got, got)
    expect("\\Corral\\runs\\" in got["TEMP"] and got["TEMP"] == got["USERPROFILE"], got)
    control = dict(line.split("=", 1) for line in wide(m.call("wine", CHILD, "env", SECRET_TOKEN="s3cret").stdout)
                   if not line.startswith("="))
    expect(control.get("SECRET_TOKEN") == "s3cret", "the control lacks it")
    done = m.run(CHILD, "env", options=("--env", "CORRAL_LEVEL=full"))
    expect(done.returncode == 2 and b"reserved" in done.stderr, done)


@row(quick=True)
def no_handle_is_inherited(m, _):
    control = m.call("wine", CHILD, "lend", "lent.txt", CHILD, "borrow", "HANDLE")
    expect(control.stdout == b"written\n", "the control cannot use it", control.stdout)
    os.truncate(f"{m.work}/lent.txt", 0)
    done = m.call("wine", CHILD, "lend", "lent.txt", "corral.exe", "run", *NONE, "--", CHILD, "borrow", "HANDLE")
    expect(done.stdout == b"no handle\n", done.stdout, done.stderr)
    expect(os.path.getsize(f"{m.work}/lent.txt") == 0, "written")


@row()
def a_batch_file_is_refused_as_program(m, _):
    for name in (".\\script.bat", ".\\SCRIPT.BAT", "script.bat.", "C:\\work\\script.bat "):
        done = m.run(name, "x&y")
        expect(done.returncode == 126 and b"batch file" in done.stderr, name, done)


@row()
def a_limit_that_wine_does_not_enforce_is_refused(m, _):
    for words, name in ((("--processes", "1"), b"limits.processes"), (("--cpus", "1"), b"limits.cpu"), (("--memory", "64M"), b"limits.memory")):
        done = m.run(CHILD, "spawn", options=words)
        expect(done.returncode == 125 and b"--allow-degraded " + name in done.stderr, done)
        done = m.run(CHILD, "spawn", options=(*words, "--allow-degraded", name.decode()))
        expect(done.stdout == b"spawned\n", done)


@row()
def a_policy_file_is_obeyed_or_refused(m, _):
    with open(f"{m.work}/p.toml", "w", encoding="ascii") as out:
        out.write('[limits]\ntimeout = "1s"\n[env]\nset = { A = "1" }\n')
    expect(m.run(CHILD, "sleep", "600000", options=("--policy", "p.toml")).returncode == 124, "obeyed")
    with open(f"{m.work}/p.toml", "w", encoding="ascii") as out:
        out.write("[fs]\ndeny = ['x']\n")
    done = m.run(CHILD, "exit", "0", options=("--policy", "p.toml"))
    expect(done.returncode == 2 and b"fs.deny" in done.stderr, done)


@row()
def a_workspace_that_is_the_system_is_refused(m, _):
    for place in ("C:\\windows", "C:\\"):
        done = m.corral("run", *NONE, "--workspace", place, "--", CHILD, "exit", "0")
        expect(done.returncode == 126 and b"--any-workspace" in done.stderr, place, done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--corral", help="the program for Linux, whose result has the same keys")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    missing = [name for name in ("wine", "wineserver") if not shutil.which(name, path=os.environ["PATH"] + ":/usr/lib/wine")]
    built = all(os.path.exists(f"{args.build}/{name}") for name in PROGRAMS)
    if missing or not built:
        print(f"ok 1 - corral.exe under wine # SKIP {'no ' + ', '.join(missing) if missing else 'corral.exe is not built: no gcc-mingw-w64-x86-64'}\n1..1")
        return 0
    os.environ["PATH"] += ":/usr/lib/wine"
    failed = 0
    chosen = [function for function, quick in ROWS if (quick or not args.quick) and args.only in function.__name__]
    with tempfile.TemporaryDirectory(prefix="corral-wine-") as place:
        machine = Machine(place, args.build)
        try:
            for number, function in enumerate(chosen, 1):
                try:
                    function(machine, args.corral)
                    print(f"ok {number} - {function.__name__}", flush=True)
                except (Failed, subprocess.TimeoutExpired, ValueError, OSError, KeyError) as e:
                    failed += 1
                    print(f"# {type(e).__name__}: {e}\nnot ok {number} - {function.__name__}", flush=True)
        finally:
            machine.done()
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
