#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Full load on a daemon for some minutes: no growth of memory, descriptors, processes, namespaces or files.

Some threads execute commands in sessions that stay, others create and stop sessions.  The state is
counted when all are quiet: after a fifth of the time, and at the end.  With --idle N it opens N
sessions instead and prints the memory of their processes (PSS).
"""
import argparse
import contextlib
import json
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from pss import memory, pss  # noqa: E402  the path has to be set first
from service import Refused, Service, check, children, wait_until  # noqa: E402  the path has to be set first

NAMESPACES = ("mnt", "pid", "net", "ipc", "uts", "user", "cgroup")
MEMORY_KB = 4096  # caches of SQLite and malloc that fill up once


def count(service):
    """Everything that could grow."""
    pids = children(service.process.pid) | {service.process.pid}
    found = {"processes": len(pids), "memory": memory(pids), "descriptors": 0, "files": 0}
    namespaces = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            found["descriptors"] += len(os.listdir(f"/proc/{pid}/fd"))
            namespaces |= {os.readlink(f"/proc/{pid}/ns/{name}") for name in NAMESPACES}
    found["namespaces"] = len(namespaces)
    for top in (f"{service.place}/run", f"{service.place}/ws"):
        found["files"] += sum(len(names) + len(dirs) for _, dirs, names in os.walk(top))
    return found


class Load:
    """Threads that use the daemon until it is told to pause."""

    def __init__(self, service, sessions, threads):
        self.service, self.failures, self.done = service, [], {"commands": 0, "sessions": 0}
        self.sessions = [service.create() for _ in range(sessions)]
        self.threads = threads
        self.clients = [service.client() for _ in range(threads)]  # it changes the ids of the process for a moment
        self.lock = threading.Lock()

    def tally(self, kind):
        with self.lock:
            self.done[kind] += 1

    def execute(self, number, until):
        client, turn = self.clients[number], 0
        while time.monotonic() < until:
            turn += 1
            session = self.sessions[(number + turn) % len(self.sessions)]
            argv = ["sh", "-c", f"echo {number}.{turn} >/tmp/f{number}; cat /tmp/f{number}; (sleep 0.01 &) ; rm /tmp/f{number}"]
            got = client.call("session.exec", session=session, argv=argv)
            if got["result"]["stdout"] != f"{number}.{turn}\n":
                self.failures.append(f"output: {got}")
            self.tally("commands")

    def cycle(self, _number, until):
        while time.monotonic() < until:
            session = self.service.create()
            self.service.good("session", "exec", session, "--", "sh", "-c", "setsid sleep 60 & echo on")
            self.service.good("session", "stop", session)
            self.tally("sessions")

    def guarded(self, work, number, until):
        try:
            work(number, until)
        except (AssertionError, Refused, OSError) as error:
            self.failures.append(f"{work.__name__}: {error}")

    def run(self, seconds):
        """Returns when all are quiet."""
        until = time.monotonic() + seconds
        crowd = [threading.Thread(target=self.guarded, args=(self.execute, n, until)) for n in range(self.threads)]
        crowd += [threading.Thread(target=self.guarded, args=(self.cycle, n, until)) for n in range(2)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()


def settled(service, wanted=None):
    """The counts, once they are those that are wanted, or do not change any more."""
    state = {"last": None}

    def still():
        before, state["last"] = state["last"], count(service)
        return grown(wanted, state["last"]) == [] if wanted else before is not None and before["processes"] == state["last"]["processes"]
    wait_until(still)
    return state["last"]


def grown(first, last):
    """What is more at the end."""
    return [f"{name} grew from {first[name]} to {last[name]}" for name in first
            if last[name] > first[name] + (MEMORY_KB if name == "memory" else 0)]


def soak(service, seconds, threads):
    load = Load(service, 4, threads)
    load.run(seconds / 5)
    first = settled(service)
    load.run(seconds * 4 / 5)
    last = settled(service, first)
    bad = load.failures[:5] + grown(first, last)
    print(f"# {load.done['commands']} commands, {load.done['sessions']} sessions created and stopped; {first} -> {last}")
    return bad


def idle(service, number):
    """PSS of the daemon's descendants for each session, and of the daemon itself, at two sizes."""
    rows = []
    own = pss(service.process.pid)
    made = 0
    for size in (max(1, number // 5), number):
        while made < size:
            check(service.create(), "no session")
            made += 1
        pids = children(service.process.pid)
        rows.append({"sessions": size, "processes": len(pids), "kb_each": round(memory(pids) / size),
                     "daemon_kb_each": round((pss(service.process.pid) - own) / size, 1)})
        print(f"# {json.dumps(rows[-1])}", flush=True)
    slope = (rows[1]["kb_each"] * rows[1]["sessions"] - rows[0]["kb_each"] * rows[0]["sessions"]) / (rows[1]["sessions"] - rows[0]["sessions"])
    print(f"# slope: {slope:.0f} kB for one more session; 5,000 sessions: {5000 * (slope + rows[1]['daemon_kb_each']) / 1024 / 1024:.2f} GiB")
    return [f"an idle session has {slope:.0f} kB"] if slope > 2048 else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--level", choices=("full", "standard"), default="full")
    parser.add_argument("--as", dest="user", choices=("user", "root"), default="user")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--idle", type=int, default=0, metavar="N")
    args = parser.parse_args()
    service = Service(args.corral, args.user, args.level).start()
    try:
        bad = idle(service, args.idle) if args.idle else soak(service, args.seconds, args.threads)
    finally:
        service.close()
    for text in bad:
        print(f"# {text}")
    what = f"{args.idle} idle sessions" if args.idle else f"{args.seconds:.0f} s of load"
    print(f"{'not ok' if bad else 'ok'} 1 - {what} ({args.level}, {args.user})")
    print("1..1")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
