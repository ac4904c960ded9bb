#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gate in states that nobody planned, in the lab.  Speaks TAP.

A program inside does thousands of operations on sockets in an order of chance (programs/storm.py).  After
that the gate has to be there, idle, with the descriptors and about the memory that it began with; an ordinary request
has to work; and who is denied must have heard nothing.  A sanitized binary (--corral build-asan/corral) ends its gate
at the first fault.  STORM_SEED plays one again, STORM_SECONDS makes it longer.
"""
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import clients  # noqa: E402  the paths have to be set first
import gate  # noqa: E402
import world  # noqa: E402
from gate import BASE, Busy, check, test  # noqa: E402

gate.TESTS.clear()  # those are the other suite's
SECONDS = float(os.environ.get("STORM_SECONDS", "5"))
TICKS = 25  # of a hundred in a second: more than an idle gate has, fewer than one that runs in circles
OPTIONS = (*BASE, "--allow-host", "allowed.test:*", "--allow-host", "*.ok.test", "--proxy", "--publish", "8765")


def seeds(name, count):
    given = os.environ.get("STORM_SEED")
    return [int(given)] if given else [random.Random(name).randrange(1 << 30) for _ in range(count)]


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as source:
        words = source.read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def is_asleep(pid):
    """Which a process that runs in circles never is, however little of the processors it has."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as source:
        return source.read().rpartition(")")[2].split()[0] == "S"


def sees_descriptors():
    """The gate is not dumpable: root alone may look at them."""
    return os.geteuid() == 0


def sockets_of(pid):
    folder, count = f"/proc/{pid}/fd", 0
    for name in os.listdir(folder) if sees_descriptors() else ():
        try:
            count += os.readlink(f"{folder}/{name}").startswith("socket:")
        except FileNotFoundError:
            pass  # closed meanwhile
    return count


# Before its sockets are counted: the gate may get its listeners when the command runs already, and serves when it has them.
SERVED = "curl -sf -m 60 http://allowed.test/ >/dev/null; echo began; read x; "


def wait_until(seconds, condition):
    end = time.monotonic() + seconds
    while not (true := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return true


def said(running, word):
    line = running.process.stdout.readline()
    check(line.startswith(word), f"wanted {word!r}, got {line!r}")
    return int(line.split()[1])


def idle(running, seed):
    """A second comes in which the gate does next to nothing; on a loaded machine what is under way ends late."""
    def rests():
        before, asleep = ticks(running.pid), 0
        for _ in range(100):
            time.sleep(0.01)
            asleep += is_asleep(running.pid)
        return asleep >= 20 and ticks(running.pid) - before < TICKS
    check(wait_until(gate.PATIENCE, rests), f"seed {seed}: the gate runs in circles")


def denied_heard(visit, since):
    addresses = "|".join(re.escape(text) for text in ("11.0.0.66", "2a00:11::66"))
    mine = re.compile(rf"^(?!dns)\S+ \[?(::ffff:)?({addresses})\]?:")
    return [line for line in visit.lab.lines(since) if mine.match(line)]


def storm(visit, seed, seconds):
    since = visit.lab.mark()
    with Busy(visit, "never") as busy:
        running = visit.gate(f"{SERVED}$PROGRAMS/storm.py {seed} {seconds} {busy.port}; curl -sf -m 60 http://allowed.test/still;"
                             " curl -sf -m 60 -x http://127.0.0.1:3128 http://allowed.test/by-proxy", *OPTIONS, seconds=gate.PATIENCE)
        try:
            pid, at_first = running.pid, sockets_of(running.pid)
            running.go()
            said(running, "open")
            check(os.path.isdir(f"/proc/{pid}"), f"seed {seed}: the gate has ended")
            idle(running, seed)
            room = running.resident()
            running.go()
            stalled = said(running, "closed")
            idle(running, seed)
            check(wait_until(gate.PATIENCE, lambda: sockets_of(pid) <= at_first + stalled),
                  f"seed {seed}: {at_first} sockets at first, {sockets_of(pid)} now, {stalled} that nobody answered")
            running.go()
            out = running.finish()
        finally:
            running.close()
    check("/still" in out and "/by-proxy" in out, f"seed {seed}: an ordinary request does not work: {out[-300:]!r}")
    check("asan" in visit.suite.options.corral or room < gate.ROOM, f"seed {seed}: the gate has {room} kB")
    heard = denied_heard(visit, since)
    check(not heard, f"seed {seed}: who is denied was reached: {heard[:1]}")


@test("whatever is done to sockets, the gate stays as it was", quick=True)
def storms(visit):
    visit.only_full("what is done here is about callers that are held")
    for seed in seeds(visit.caller.name, 1):
        storm(visit, seed, SECONDS)


@test("a proxy's request is over with its answer", quick=True)
def proxied(visit):
    python = ("import socket\nfor n in range(150):\n s = socket.create_connection((\"127.0.0.1\", 3128), 60)\n"
              " s.sendall(b\"GET http://allowed.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n\")\n"
              " while s.recv(1000): pass\n s.close()\nprint(\"closed 0\", flush=True)\ninput()\n")
    if not sees_descriptors():
        raise clients.Skipped("only root counts the descriptors of a process that is not dumpable")
    running = visit.gate(f"{SERVED}/usr/bin/python3 -c '{python}'", *BASE, "--proxy")
    try:
        at_first = sockets_of(running.pid)
        running.go()
        said(running, "closed")
        check(wait_until(gate.PATIENCE, lambda: sockets_of(running.pid) <= at_first), f"{at_first} sockets at first, {sockets_of(running.pid)} now")
    finally:
        running.go()
        running.finish()


URGENT = """import socket, time
s = socket.create_connection(("allowed.test", 7), 60)
s.sendall(b"abc")
s.send(b"d", socket.MSG_OOB)
s.sendall(b"efg")
got = b""
while len(got) < 7:
    got += s.recv(10)
print(got)
all = []
for to, data in ((("allowed.test", 80), b"GET / HTTP"), (("127.0.0.1", 3128), b"GET http"), (("127.0.0.1", 1080), b"\\5"),
                 (("127.0.0.53", 53), b"\\0"), (("allowed.test", 7), b"GE")):
    s = socket.create_connection(to, 60)
    s.sendall(data)
    try:
        s.send(b"!", socket.MSG_OOB)
        s.sendall(b"more")
    except OSError:
        pass  # refused already
    all.append(s)
print("open 1", flush=True)
input()
"""


@test("urgent data have their place among the others, and do not keep the gate busy", quick=True)
def urgent(visit):
    running = visit.gate(f"echo began; read x; /usr/bin/python3 -c '{URGENT}'", "--allow-host", "allowed.test:*", "--proxy")
    try:
        running.go()
        line = running.process.stdout.readline()
        check("abcdefg" in line, f"the bytes did not come back: {line!r}")
        said(running, "open")
        idle(running, "-")
    finally:
        running.go()
        running.finish()


ENDS = """import socket
for to, data in ((("127.0.0.53", 53), b"\\0"), (("127.0.0.1", 3128), b"GET http"), (("127.0.0.1", 1080), b"\\5")):
    for ends in (True, False):
        s = socket.create_connection(to, 60)
        s.sendall(data)
        all = [s] + (all if to[1] != 53 or not ends else [])
        if ends: s.shutdown(socket.SHUT_WR)
print("open 1", flush=True)
input()
"""


@test("a client that ends, or stops, in the middle of a question does not keep the gate busy", quick=True)
def ends_early(visit):
    running = visit.gate(f"echo began; read x; /usr/bin/python3 -c '{ENDS}'", *BASE, "--proxy")
    try:
        running.go()
        said(running, "open")
        idle(running, "-")
    finally:
        running.go()
        running.finish()


@test("a request that offers another protocol has its body", quick=True)
def upgrade_body(visit):
    head = ("POST /x HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\n"
            "HTTP2-Settings: AAMAAABk\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n")
    visit.run(f"printf '{head}' | $PROGRAMS/say.py allowed.test 80", *BASE).good("POST allowed.test /x 5")


@test("a deny of one port holds for the aliases of its name", quick=True)
def denied_port(visit):
    get, allow = "curl -sf -m 60 http://to-evil.ok.test", ("--allow-host", "*.ok.test:*", "--deny-host", "evil.test:8080", "--json")
    visit.run(f"{get}/", *allow).good("GET to-evil.ok.test")
    done = visit.run(f"{get}:8080/ --noproxy '*'; {get}:8080/ -x socks5h://127.0.0.1:1080; {get}:8080/ -x http://127.0.0.1:3128", *allow, "--proxy")
    check(not [line for line in done.log if not line.startswith("dns")], f"it was reached: {done.log}")
    check({entry["rule"] for entry in done.decisions(verdict="denied")} == {"evil.test:8080"}, f"no record: {done.out[-900:]}")


# A bound in seconds depends on the machine's load: in `make proof` only.
@test("nobody makes pid 1 or the gate wait with a socket that he has too")
def hindered(visit):
    with Busy(visit, "never") as busy:
        for words in ("linger 3", f"blocks 3 {busy.port}"):
            done = visit.run(f"$PROGRAMS/hinder.py {words}", "--allow-host", "allowed.test:*").good()
            check(float(done.out) < 1, f"{words}: an ordinary call took {done.out.strip()} s")


if __name__ == "__main__":
    sys.exit(gate.main())
