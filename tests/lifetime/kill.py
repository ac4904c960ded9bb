#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills one or two processes of a run with SIGKILL, at a random moment, many times.

Whatever is killed (supervisor, warden, guard or pid 1, gate, helper), the verdict comes from
the host: no process of the run stays alive, its directory is gone from /tmp, and the result
that a living supervisor prints is true.  --within is the promise in seconds, which only an idle
machine keeps.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

SETTLES = 1.0  # seconds after which a run that lost nothing that it needs is told to end
OWN = {"full": 2, "standard": 4}  # processes of a run that Corral has besides the gate
OUTSIDER = 61184 + os.getpid() % 4096  # an account of nobody's, and of this run alone

# The command leaves orphans in sessions of their own; every process has the mark in its arguments.
COMMAND = """: >"began.$1"; setsid sleep "$1" & (setsid sh -c 'sleep "$1"; :' sh "$1" &) ; sleep "$1"; : "$1" """


sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import traces  # noqa: E402  the path has to be set first


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class Seen:
    """A process of a run: alive, with the run's mark among its arguments."""

    def __init__(self, pid, mark):
        self.pid = pid
        self.arguments = read(f"/proc/{pid}/cmdline")
        self.marked = mark in self.arguments
        self.own = b"\0run\0" in self.arguments  # Corral's: a copy of the program that was started

    def alive(self):
        text = read(f"/proc/{self.pid}/stat").rpartition(b")")[2].split()
        return bool(text) and text[0] not in (b"Z", b"X")


def processes(mark):
    found = [Seen(int(name), mark) for name in os.listdir("/proc") if name.isdigit()]
    return [seen for seen in found if seen.marked and seen.alive()]


class Round:
    def __init__(self, suite, number):
        self.suite = suite
        self.random = random.Random(f"{suite.seed} {number}")
        self.mark = f"{100000 + number}.{os.getpid()}{suite.random.randrange(10**6):06d}"
        self.faults, self.killed = [], []

    def start(self):
        s = self.suite
        return subprocess.Popen(
            [s.corral, "run", "--level", s.level, *s.network, "--json", "--grace", "200ms", "--", "sh", "-c", COMMAND, "sh",
             self.mark], cwd=s.workspace, env=s.environment, **s.account,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def kill(self, supervisor):
        """Waits for a moment of the run, then kills one or two of its processes."""
        moment = self.random.choice((0.01, 0.03, 0.1, 0.3)) * self.random.random()
        time.sleep(moment)
        own = [seen.pid for seen in processes(self.mark.encode()) if seen.own]
        if self.random.random() < 0.6:
            own = [pid for pid in own if pid != supervisor.pid] or own
        self.random.shuffle(own)
        self.killed = own[:self.random.choice((1, 1, 2))]
        for pid in self.killed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return time.monotonic()

    def wait_for_end(self, at, spare_gate=False):
        """Survivors after the time that they may take."""
        while time.monotonic() < at + self.suite.within:
            left = processes(self.mark.encode())
            if not left or (spare_gate and time.monotonic() > at + SETTLES and self.is_spared(left)):
                return left
            time.sleep(0.02)
        return processes(self.mark.encode())

    def is_spared(self, left):
        """Whether all of Corral's own processes are there but for the gate, which a command survives, or for a process of
        the set-up (linux/early.h), whose work was done: it was exiting when the signal came."""
        own, needed = len([seen for seen in left if seen.own]), OWN[self.suite.level]
        without_gate = self.suite.filtered and own == needed
        after_setup = self.suite.level == "full" and own == needed + self.suite.filtered
        return (without_gate or after_setup) and any(not seen.own for seen in left)

    def run(self):
        supervisor = self.start()
        at = self.kill(supervisor)
        gone = supervisor.pid in self.killed
        left = self.wait_for_end(at, spare_gate=not gone)
        if not gone and self.is_spared(left):
            # The command runs on, perhaps without a network; it is told to end, by three signals.
            for _ in range(3):
                os.kill(supervisor.pid, signal.SIGTERM)
                time.sleep(0.05)
            left = self.wait_for_end(time.monotonic())
        for seen in left:
            self.faults.append(f"alive: {seen.pid} {seen.arguments[:60]!r}")
            try:
                os.kill(seen.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, err = supervisor.communicate()
        # A signal of ours that came after the run's end is for the supervisor alone.
        if not gone and supervisor.returncode != -signal.SIGTERM:
            self.judge(supervisor.returncode, out, err)

    def judge(self, status, out, err):
        began = os.path.exists(f"{self.suite.workspace}/began.{self.mark}")
        try:
            told = json.loads(out)
        except ValueError:
            self.faults.append(f"no result: status {status}, {out!r} {err!r}")
            return
        self.reason = told["reason"]
        true = {"lost", "signal", "cancelled"} if began else {"lost", "signal", "cancelled", "setup"}
        if self.reason not in true or (self.reason == "signal" and told["signal"] not in (9, 15)):
            self.faults.append(f"began {began}, told {self.reason}, status {status}: {out[:200]!r}")


class Suite:
    def __init__(self, args, uid):
        self.corral, self.level, self.seed, self.within = args.corral, args.level, args.seed, args.within
        self.filtered = args.net == "filtered"
        self.network = ["--allow-host", "example.com"] if self.filtered else ["--net", "none"]
        self.uid = uid
        # Only root can give up groups.
        self.account = {"user": uid, "group": uid, "extra_groups": []} if os.getuid() == 0 else {}
        self.random = random.Random(args.seed)
        self.place = tempfile.mkdtemp(prefix="lifetime-")
        os.chmod(self.place, 0o755)
        self.workspace, self.home = f"{self.place}/ws", f"{self.place}/home"
        for path in (self.workspace, self.home):
            os.mkdir(path)
            if self.account:
                os.chown(path, uid, uid)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8"}
        self.lock, self.next, self.faults = threading.Lock(), 0, []

    def take(self, rounds):
        with self.lock:
            if self.next >= rounds:
                return None
            self.next += 1
            return Round(self, self.next)

    def work(self, rounds):
        while (one := self.take(rounds)) is not None:
            try:
                one.run()
            except OSError as error:
                one.faults.append(f"{error}")
            with self.lock:
                self.faults += [f"round {one.mark}: {fault}" for fault in one.faults]

    def run(self, rounds, jobs):
        before = traces.directories(self.uid)
        threads = [threading.Thread(target=self.work, args=(rounds,)) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        left = traces.staying(lambda: traces.directories(self.uid), before)
        subprocess.run(["rm", "-rf", self.place], check=False)
        return left


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--level", default="standard")
    parser.add_argument("--net", choices=("none", "filtered"), default="none")
    parser.add_argument("--as", dest="who", choices=("user", "root"), default="user")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--within", type=float, default=traces.PATIENCE, help="seconds in which everything has to be gone")
    args = parser.parse_args()
    uid = OUTSIDER if args.who == "user" and os.getuid() == 0 else os.getuid()
    suite = Suite(args, uid)
    left = suite.run(args.rounds, args.jobs)
    name = f"{args.rounds} kills, {args.level}, {args.net}, {args.who}"
    for number, (what, faults) in enumerate((("nothing is alive and every reason is true", suite.faults),
                                             ("no directory is left", left)), 1):
        for fault in list(faults)[:20]:
            print(f"# {fault}")
        print(f"{'not ok' if faults else 'ok'} {number} {name}: {what}" + (f" ({len(faults)})" if faults else ""))
    print("1..2")
    return 1 if suite.faults or left else 0


if __name__ == "__main__":
    sys.exit(main())
