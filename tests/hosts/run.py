#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host suite: what corral run is on hosts that lack something.  Speaks TAP.

Every host of hosts.py gets the same questions, and the answers are compared with
its row and with the host's own state: which engine and level a plain run reports,
whether the files and the network are closed as that level promises, whether more
than the host has is refused with a remedy, whether --require and the report agree,
whether nothing stays behind.  A run inside a run gets further rows: what the outer
one closed, the inner one cannot open.
"""
import argparse
import json
import os
import shutil
import socket
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli"), os.path.dirname(HERE)]

import ladder  # noqa: E402  the paths have to be set first
import filters  # noqa: E402
import containers  # noqa: E402
import cri  # noqa: E402
import managers  # noqa: E402
import memory  # noqa: E402
import nested  # noqa: E402
from harness import PATIENCE, Suite, check, contains, equal  # noqa: E402
from hosts import HOSTS  # noqa: E402

SENTENCE = {"minimal": "files", "none": "NOTHING"}


class Listener:
    """A TCP service of the host's loopback that remembers whether it was told something."""

    def __init__(self):
        self.heard = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return  # closed
            with peer:
                if peer.recv(16):
                    self.heard.set()

    def told(self, done):
        """Whether the command that has ended spoke: what it could send may come late on a loaded machine."""
        heard = self.heard.wait(PATIENCE if done.status == 0 else 0.2)
        self.heard.clear()
        return heard

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Visit:
    """One host for the time of one test."""

    def __init__(self, suite, host, box):
        self.host, self.box = host, box
        box.outer = box.mkdir("outer")
        box.write("outer/canary", "before\n")
        self.place = host.place(box, suite.without)
        # Below standard nothing runs that has not been told to.
        self.accept = [] if host.level in ("full", "standard") else ladder.ASK[host.level]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.close()

    def outside(self, *argv):
        """A command on that host, without a sandbox of its own."""
        return self.box.execute([*self.place.words(), *argv], **self.place.popen())

    def run(self, *words):
        return self.outside(self.box.corral, "run", *words)

    def json(self, *words):
        done = self.run("--json", *words)
        check(done.raw_out, f"no JSON: {done}")
        return done.json

    def tell(self, port):
        return ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo hello >&3"]


def ask_report(visit):
    """Engine, level and result are those of the host's row, and a lower level warns."""
    host = visit.host
    if visit.accept:
        refused = visit.run("--", "touch", "ran").exited(125)
        refused.said(host.level, "remedy")
        check(not visit.box.exists("ws/ran"), "it ran unaccepted")
    report = visit.json(*visit.accept, "--", "sh", "-c", "echo inside; echo beside >&2")
    equal((report["engine"], report["level"]), (host.engine, host.level), "engine and level")
    host.weaker = containers.weaker(report)
    if host.wanted is not None:
        equal(host.weaker, {*host.wanted}, "guarantees of the boundary that are not enforced")
    equal((report["exit_code"], report["stdout"], report["stderr"]), (0, "inside\n", "beside\n"), "the run")
    plain = visit.run(*visit.accept, "--", "true").exited(0)
    if host.level in SENTENCE:
        contains(plain.err, "warning", "every run below standard")
        contains(plain.err, SENTENCE[host.level], "every run below standard")
    elif host.warns:
        contains(plain.err, host.warns, "every run where a name that Corral protects can be created")
    else:
        equal(plain.err, "", "a run at standard or full says nothing by itself")


def ask_files(visit):
    """The workspace is written, what lies outside only where the level promises nothing."""
    canary = f"{visit.box.outer}/canary"
    visit.outside("sh", "-c", f"echo outside >>{canary}").exited(0)
    contains(visit.box.read(canary), "outside", "the control")
    visit.run(*visit.accept, "--", "sh", "-c", "echo x >made; mkdir -p a/b; mv made a/b/c").exited(0)
    check(visit.box.exists("ws/a/b/c"), "the workspace was not written")
    visit.run(*visit.accept, "--", "sh", "-c", f"echo inside >>{canary}; cat {canary} >seen; :")
    closed = visit.host.level in ("full", "standard")
    equal("inside" in visit.box.read(canary), not closed, "whether a file outside was written")
    equal("before" in visit.box.read("ws/seen"), not closed, "whether a file outside was read")


# A pattern protects .envrc: without the broker nothing does, and the run warns of it.  A repository may be created.
PATTERNS, NAMES = (".envrc",), (".mcp.json", ".claude/settings.json")
EXISTING = (*NAMES, ".git/config", ".git/hooks/pre-commit")


def write_all(names):
    return "; ".join(f"mkdir -p {os.path.dirname(name) or '.'}; echo new >>{name}" for name in names)


def ask_names(visit):
    """Names that Corral protects by itself: those that exist are not changed, and no other one appears without a warning.

    A host that cannot keep the existing ones refuses the run, unless the loss is accepted."""
    box, host = visit.box, visit.host
    if host.level not in ("full", "standard"):
        return  # such a level protects no file, and says so
    done = visit.run("--", "sh", "-c", f"({write_all(NAMES + PATTERNS)}) 2>/dev/null; echo ran >ran").exited(0)
    made = [name for name in NAMES + PATTERNS if box.exists(f"ws/{name}")]
    check(box.exists("ws/ran"), "the workspace was not written")
    check(not made or (host.warns and host.warns in done.err), f"created without a warning: {made}")
    box.execute(["sh", "-c", f"rm ran; {write_all(EXISTING + PATTERNS)}"]).exited(0)
    before = {name: box.read(f"ws/{name}") for name in EXISTING + PATTERNS}
    if not host.name.startswith("inside corral"):  # where the outer run protects them
        visit.outside("sh", "-c", write_all(EXISTING + PATTERNS)).exited(0)
        check(all(box.read(f"ws/{name}") != text for name, text in before.items()), "the control")
    before = {name: box.read(f"ws/{name}") for name in before}
    done = visit.run("--", "sh", "-c", f"({write_all(EXISTING + PATTERNS)}) 2>/dev/null; echo ran >ran")
    changed = [name for name, text in before.items() if box.read(f"ws/{name}") != text]
    check(not changed or (changed == [*PATTERNS] and host.warns and host.warns in done.err), f"protected files that changed: {changed}")
    if done.status == 0:
        check(box.exists("ws/ran"), "the workspace was not written")
        return
    done.exited(125).said("--allow-degraded fs.deny")
    check(host.warns and not box.exists("ws/ran"), f"refused on a host that protects them, or after it ran: {done}")
    visit.run("--allow-degraded", "fs.deny", "--", "touch", "ran").exited(0)
    check(box.exists("ws/ran"), "the loss was accepted, and nothing ran")


def ask_network(visit):
    """A service of the host's loopback is out of reach at every level but none."""
    listener = Listener()
    try:
        reached = listener.told(visit.outside(*visit.tell(listener.port)))
        told = listener.told(visit.run(*visit.accept, "--", *visit.tell(listener.port)))
        equal(told, reached and visit.host.level == "none", "whether the listener was told")
        if reached and told is False:
            check(listener.told(visit.run(*visit.accept, "--net", "full", "--", *visit.tell(listener.port))), "--net full does not reach it either")
    finally:
        listener.close()


def ask_more(visit):
    """More than the host has is refused, names the remedy, and runs nothing."""
    above = ladder.ORDER[:ladder.ORDER.index(visit.host.level)]
    for level in above:
        for option in ("--level", "--min-level"):
            done = visit.run(option, level, "--", "touch", "ran").exited(125)
            done.said(level, "remedy")
            check(not visit.box.exists("ws/ran"), f"{option} {level} ran all the same")
    if above and visit.host.remedy:
        visit.run("--level", "full", "--", "true").said(visit.host.remedy)


def ask_require(visit):
    """What the report calls enforced can be required, and nothing else can."""
    guarantees = visit.json(*visit.accept, "--", "true")["guarantees"]
    enforced = [g["name"] for g in guarantees if g["state"] == "enforced"]
    check(enforced, "nothing is enforced, not even the environment")
    visit.run("--json", *visit.accept, "--require", ",".join(enforced), "--", "true").exited(0)
    for guarantee in guarantees:
        if guarantee["state"] != "enforced":
            done = visit.run("--json", *visit.accept, "--require", guarantee["name"], "--", "touch", "ran").exited(125)
            contains(done.out + done.err, guarantee["name"], "the refusal")
            check(not visit.box.exists("ws/ran"), f"{guarantee['name']} was required and is not enforced")


def ask_lifetime(visit):
    """Nothing outlives the command or its time; the harness looks for what is left of the box."""
    visit.run(*visit.accept, "--", "sh", "-c", "setsid sleep 600 & (setsid sh -c 'sleep 600' &) ; :").exited(0)
    visit.run(*visit.accept, "--timeout", "300ms", "--grace", "100ms", "--", "sh", "-c",
              "trap '' TERM; setsid sleep 600 & sleep 600").exited(124)


def ask_status(visit):
    """`corral status` says what a run reports, also where no run can be made, and `corral test` does not disprove it."""
    there = visit.outside("env", "-C", "/", visit.box.corral, "status", "--json").json
    contains(there["here"]["message"], "cannot be the workspace", "what status says in /")
    equal(there["level"], None if visit.accept else visit.host.level, "the level that status says in /")
    if visit.accept:  # a run without options does not start here, and status says so
        status = visit.outside(visit.box.corral, "status", "--json").exited(1).json
        equal((status["starts"], status["level"]), (False, None), "what status says of a run without options")
        return
    report = visit.json("--", "true")
    status = visit.outside(visit.box.corral, "status", "--json").exited(0).json
    equal(status["level"], report["level"], "the level of status and of a run")
    equal(status["engine"], report["engine"], "the engine of status and of a run")
    contains(json.dumps(status["remedies"]), visit.host.advice, "the remedies")
    done = visit.outside(visit.box.corral, "test", "--json")
    states = {c["name"]: c["state"] for c in done.json["checks"]}
    # Where a sandbox around this one has no datagrams the control of a check cannot be made, and a check without
    # its control is not a pass.
    missing = {name for name, state in states.items() if state not in ("pass", "limit")}
    check(missing <= visit.host.uncontrolled, f"checks that did not pass: {missing}")
    equal(done.status, 1 if missing else 0, "the exit status of test")


QUESTIONS = (
    ("reports what it is", ask_report),
    ("closes files as its level promises", ask_files),
    ("keeps the names that Corral protects", ask_names),
    ("closes the network as its level promises", ask_network),
    ("refuses what it does not have", ask_more),
    ("requires what it reports", ask_require),
    ("leaves nothing behind", ask_lifetime),
    ("is what status and test say", ask_status),
)


def register(suite, host, question, ask):
    """One test for each caller of the host."""
    users = {"user": {}, "root": {"user": False, "root": True}, "both": {"root": True}}

    @suite.test(f"{host.name}: {question}", **users[host.who])
    def one(box):
        with Visit(suite, host, box) as visit:
            try:
                ask(visit)
            except AssertionError:
                suite.answers.append((host, box.user, False))
                raise
            suite.answers.append((host, box.user, True))


def write_report(path, answers):
    """One line a host and caller: how many of its questions were answered as its row says."""
    found = {}
    for host, user, good in answers:
        row = found.setdefault((host.name, user.uid == 0), [host, 0, 0])
        row[1] += good
        row[2] += 1
    with open(path, "w", encoding="utf-8") as out:
        for (name, root), (host, good, asked) in found.items():
            print(json.dumps({"host": name, "about": host.about, "caller": "root" if root else "user",
                              "engine": host.engine, "level": host.level, "weaker": sorted(host.weaker),
                              "result": f"{good} of {asked}"}), file=out)


def copy(path, place):
    made = shutil.copy(path, place)
    os.chmod(made, 0o755)
    return made


def run(options, suite):
    suite.answers = []
    for host in HOSTS:
        if host.quick or not options.quick:
            for question, ask in QUESTIONS:
                register(suite, host, question, ask)
    nested.register(suite)
    filters.register(suite)
    memory.register(suite)
    if not options.quick:
        containers.register(suite)
        cri.register(suite)
        managers.register(suite)
    status = suite.run(options.only, options.jobs)
    write_report(options.report, suite.answers)
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--build", required=True, help="where tests/hosts/without was built")
    parser.add_argument("--user", default="games", help="the account of the unprivileged pass")
    parser.add_argument("--only", help="regular expression: which tests")
    parser.add_argument("--quick", action="store_true", help="without the containers")
    parser.add_argument("--report", default=os.devnull, help="a file for one JSON object a host")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", action="store_true", help="times")
    options = parser.parse_args()
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="hosts-") as place:
        os.chmod(place, 0o755)  # every caller runs the copies, and a rebuild does not disturb them
        suite = Suite(copy(options.corral, place), options.user)
        suite.build = options.build
        if os.path.exists(f"{options.build}/corrald"):
            copy(f"{options.build}/corrald", place)
        suite.without = copy(f"{options.build}/tests/hosts/without", place)
        copy(f"{options.build}/tests/hosts/abi", place)
        return run(options, suite)


if __name__ == "__main__":
    sys.exit(main())
