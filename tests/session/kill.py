#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the daemon, a supervisor, or a process of a sandbox with SIGKILL, at a random moment, many times.

The verdict comes from the host: no process of the session stays alive, no socket and no directory
is left; every session and activity that was acknowledged is in the database, and a session that
lost a process does not count as running; the other session of the round goes on, unless the daemon
was killed.
"""
import argparse
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from service import Failure, Refused, Service, alive, check, children, equal, marked, wait_until  # noqa: E402  likewise
import traces  # noqa: E402

COMMAND = 'setsid sleep "$1" & (setsid sh -c \'sleep "$1"; :\' sh "$1" &); sleep "$1"; : "$1"'


def offspring(pid):
    """The children of a process, without theirs."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Round:
    def __init__(self, service, seed):
        self.service, self.random = service, random.Random(seed)
        self.mark = f"{700000 + self.random.randrange(10**5)}.{os.getpid()}"
        self.victim, self.sessions, self.reports = None, [], {}

    def targets(self):
        """Names and pids: the daemon, the supervisor of the first session, a process below it."""
        supervisor = self.service.show(self.sessions[0])["supervisor"]
        return [("daemon", self.service.process.pid), ("supervisor", supervisor)] + [("inner", pid) for pid in self.inner(supervisor)]

    def inner(self, supervisor):
        """Pid 1 or wardens and guard, zygote and leaders: the processes above the commands, which only end their own command."""
        found, level = [], [supervisor]
        for _ in range(2 if self.service.level == "full" else 4):
            level = [pid for parent in level for pid in offspring(parent)]
            found += level
        return found

    def report(self):
        """Activities that the daemon acknowledged."""
        for session in self.sessions:
            out = self.service.good("session", "exec", session, "--", "/usr/bin/python3", "-c", REPORT, self.mark)
            self.reports[session] = [int(line) for line in out.split()]

    def kill(self):
        kind = self.random.choice(("daemon", "supervisor", "inner", "inner"))
        chosen = [pid for name, pid in self.targets() if name == kind]
        self.victim = kind
        time.sleep(self.random.choice((0, 0.002, 0.02)) * self.random.random())
        if chosen:
            os.kill(self.random.choice(chosen), signal.SIGKILL)

    def run(self):
        service = self.service
        self.sessions = [service.create(), service.create()]
        if self.random.random() < 0.5:
            self.report()
        clients = [service.command("session", "exec", session, "--", "sh", "-c", COMMAND, "sh", f"{self.mark}{n}")
                   for n, session in enumerate(self.sessions)]
        if self.random.random() < 0.7:
            wait_until(lambda: len(marked(self.mark)) >= 6)
        self.kill()
        if self.victim == "daemon":
            service.process.wait()
            for client in clients:
                client.communicate(timeout=traces.PATIENCE)
            check(wait_until(lambda: not marked(self.mark)), f"alive after the daemon: {marked(self.mark)}")
            service.start()
        else:
            check(wait_until(lambda: service.show(self.sessions[0])["state"] == "FAILED"), f"{self.victim}: the session lives")
            clients[0].communicate(timeout=traces.PATIENCE)
            check(wait_until(lambda: not marked(self.mark + "0")), f"alive after {self.victim}: {marked(self.mark + '0')}")
            equal(service.show(self.sessions[1])["state"], "RUNNING", "the other session")
            service.good("session", "stop", self.sessions[1])
            clients[1].communicate(timeout=traces.PATIENCE)
            check(wait_until(lambda: not marked(self.mark)), "alive after stop")
        self.judge()

    def judge(self):
        client = self.service.client()
        rows = {row["id"]: row["state"] for row in client.call("session.list", all=True)["sessions"]}
        for session in self.sessions:
            check(rows.get(session) in ("FAILED", "STOPPED"), f"{session}: {rows.get(session)}")
            kept = {row["seq"] for row in client.call("session.activity", session=session)["activity"]}
            check(set(self.reports.get(session, [])) <= kept, f"{session}: an acknowledged activity is lost")
        client.close()
        sockets = os.listdir(f"{self.service.place}/run/corral/s")
        check(not sockets, f"sockets are left: {sockets}")


REPORT = """
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["CORRAL_SESSION_SOCKET"])
f = s.makefile()
for n in range(3):
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": n, "method": "activity.report",
                          "params": {"kind": "mark", "text": sys.argv[1]}}).encode() + b"\\n")
    print(json.loads(f.readline())["result"]["seq"])
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--level", choices=("full", "standard"), default="full")
    parser.add_argument("--as", dest="user", choices=("user", "root"), default="user")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=None, help="begin no round after this time")
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.randrange(10**6)
    service = Service(args.corral, args.user, args.level).start()
    before = traces.directories(service.uid)
    bad, number, end = [], 0, time.monotonic() + (args.seconds or float("inf"))
    try:
        while number < args.rounds and time.monotonic() < end:
            number += 1
            one = Round(service, f"{seed} {number}")
            try:
                one.run()
            except (Failure, Refused, OSError) as error:
                bad.append(f"round {number} of seed {seed}, {one.victim} killed: {error}")
                if service.process.poll() is not None:
                    service.start()
    finally:
        service.close()
    check(not alive(service.process.pid), "the daemon is alive")
    left = traces.staying(lambda: traces.directories(service.uid), before)
    bad += [f"left: {path}" for path in left]
    for text in bad:
        print(f"# {text}")
    print(f"{'not ok' if bad else 'ok'} 1 - {number} kills (seed {seed}, {args.level}, {args.user})")
    print("1..1")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
