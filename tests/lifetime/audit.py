#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills writers of the audit log: afterwards it verifies, and at most the record of the killed run is missing.

    tests/lifetime/audit.py --corral build/corral [--times 1000] [--seed N] [--calls]

Kills at random moments, two writers at once, and with --calls (strace) at every system call that touches the log.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time


class Log:
    """A home with an audit log."""

    def __init__(self, corral):
        self.corral = os.path.abspath(corral)
        self.home = tempfile.mkdtemp(prefix="corral-audit-")
        self.workspace = f"{self.home}/ws"
        os.mkdir(self.workspace)
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin"}

    def start(self, name, before=()):
        return subprocess.Popen([*before, self.corral, "run", "--", "/bin/true", name], env=self.env, cwd=self.workspace,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def output(self, *words):
        done = subprocess.run([self.corral, "audit", *words], env=self.env, cwd=self.workspace, capture_output=True,
                              timeout=120, check=False)
        return done.returncode, done.stdout.decode()

    def report(self):
        """The report of verify; a RuntimeError when it calls the log changed."""
        status, text = self.output("verify", "--json")
        report = json.loads(text) if text else {}
        if status != 0 or not report.get("intact"):
            raise RuntimeError(f"not intact: {text}")
        return report

    def names(self):
        """The last argument of each recorded run."""
        return [json.loads(line)["command"][-1] for line in self.output("list", "--json")[1].splitlines()]

    def close(self):
        shutil.rmtree(self.home)


def check_names(log, finished, killed):
    """Each run that ended is recorded once, and a killed one at most once."""
    names = log.names()
    missing = finished - set(names)
    if missing or len(names) != len(set(names)) or set(names) - finished - killed:
        raise RuntimeError(f"missing {sorted(missing)}, more than once or unknown: {len(names)} {len(set(names))}")


def random_kills(log, dice, times):
    finished, killed, torn = set(), set(), 0
    longest = 0.05
    for turn in range(times):
        began = time.monotonic()
        pair = [(f"a{turn}", log.start(f"a{turn}")), (f"b{turn}", log.start(f"b{turn}"))]
        if turn % 10 == 0:  # how long one takes, on this machine now
            for _, process in pair:
                process.wait()
            longest = time.monotonic() - began
        else:
            time.sleep(dice.uniform(0, longest))
        pair[0][1].kill()
        for name, process in pair:
            (finished if process.wait() == 0 else killed).add(name)
        torn += bool(log.report()["findings"])
    check_names(log, finished, killed)
    return {"rounds": times, "finished": len(finished), "killed": len(killed), "traces": torn}


CALLS = ("prlimit64", "fcntl", "pread64", "openat", "fstat", "write", "pwrite64", "close")
LAST = 8  # of each kind: the log is written at the end of a run


def count_calls(log, name):
    """How many calls of each kind the supervisor makes."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as trace:
        log.start(name, ("strace", "-o", trace.name)).wait()
        words = [line.partition("(")[0] for line in trace]
    return {call: words.count(call) for call in CALLS}


def kills_at_every_call(log):
    """Kills the supervisor when it enters each of the last calls of each kind that the writer makes."""
    finished, killed, traces = set(log.names()) | {"counted"}, set(), 0
    for call, total in count_calls(log, "counted").items():
        for number in range(max(1, total - LAST + 1), total + 1):
            name = f"{call}-{number}"
            inject = f"inject={call}:signal=SIGKILL:when={number}"
            status = log.start(name, ("strace", "-o", "/dev/null", "-e", inject)).wait()
            (finished if status == 0 else killed).add(name)
            traces += bool(log.report()["findings"])
    check_names(log, finished, killed)
    if not killed:
        raise RuntimeError("no call was hit")
    return {"killed": len(killed), "recorded": len(killed & set(log.names())), "traces": traces}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--calls", action="store_true")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.randrange(2**32)
    log = Log(args.corral)
    try:
        print(f"# seed {seed}")
        seen = random_kills(log, random.Random(seed), args.times)
        print(f"ok 1 - the log verifies after each kill: {seen}")
        if args.calls:
            print(f"ok 2 - and after a kill at each system call of a writer: {kills_at_every_call(log)}")
        print(f"1..{2 if args.calls else 1}")
    except RuntimeError as error:
        print(f"not ok 1 - {error}\n1..1")
        return 1
    finally:
        log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
