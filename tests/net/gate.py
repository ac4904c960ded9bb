#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate does for those it serves, in the lab: names, modes, records, failures, loads.  Speaks TAP.

The clients of clients.case show that programs work; the escape rows that what is refused stays
refused.  Here is what neither asks: what the resolver inside answers, what a mode and a rule open, what is
recorded, and that no client, server or load takes the gate away from the others.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import clients  # noqa: E402  the paths have to be set first
import ladder  # noqa: E402
import lab as labs  # noqa: E402
from traces import PATIENCE  # noqa: E402

TESTS = []
BASE = ("--allow-host", "allowed.test")
ROOM = 64 * 1024  # kB that the gate may have at most, whatever is done to it


class Failed(AssertionError):
    """The product did something else than it should."""


def check(condition, text):
    if not condition:
        raise Failed(text)


def test(name, quick=False):
    def register(function):
        TESTS.append((name, function, quick))
        return function
    return register


class Done:
    """How a call ended."""

    def __init__(self, call):
        self.status, self.log = call.status, call.log
        self.out, self.err = call.out.decode("utf-8", "replace"), call.err.decode("utf-8", "replace")

    def __str__(self):
        return f"status {self.status}, stdout {self.out[-300:]!r}, stderr {self.err[-300:]!r}"

    def good(self, text=""):
        check(self.status == 0 and text in self.out, f"wanted {text!r}: {self}")
        return self

    def bad(self):
        check(self.status != 0, f"it succeeds: {self}")
        return self

    def decisions(self, **wanted):
        """Records of the result that have these values."""
        found = json.loads(self.out)["network"]
        return [entry for entry in found if all(entry[key] == value for key, value in wanted.items())]


class Session(clients.Call):
    """A call with options of the test's own."""

    def __init__(self, suite, caller, options, script):
        self.options = options
        row = clients.Row("GT01", "gate.py", {"command": script})
        super().__init__(suite, row, caller, "allowed.test", True)

    def corral(self):
        return [self.suite.corral, "run", *ladder.ASK[self.suite.options.level], "--no-config", *self.options, "--read",
                f"{self.suite.top}/programs", "--"]


class Limited(Session):
    """The same from a caller who may have few descriptors."""

    def corral(self):
        return ["prlimit", "--nofile=64:64", *super().corral()]


class Visit:
    """One caller in the lab."""

    def __init__(self, suite, caller):
        self.suite, self.caller, self.lab = suite, caller, suite.lab

    def run(self, script, *options, mode="filtered"):
        return Done(Session(self.suite, self.caller, (*(("--net", mode) if mode else ()), *options), script))

    def only_full(self, why):
        if self.suite.options.level == "standard":
            raise clients.Skipped(why)

    def outside(self, script):
        row = clients.Row("GT01", "gate.py", {"command": script})
        return Done(clients.Call(self.suite, row, self.caller, "allowed.test", False))

    def gate(self, script, *options, seconds=PATIENCE):
        """A run that goes on, and the pid of its gate; the script says "began" when it waits for a line."""
        return Running(self, script, ("--net", "filtered", *options), seconds)

    def told(self, script, *options, seconds=PATIENCE):
        """The same with a JSON result, which is all that it says: the script makes a file, and waits for one."""
        return Running(self, script, ("--net", "filtered", "--json", *options), seconds, silent=True)


class Running:
    """A run with its gate in sight."""

    def __init__(self, visit, script, options, seconds, silent=False):
        self.call = object.__new__(Session)
        self.call.suite, self.call.options = visit.suite, options
        self.seconds = seconds
        self.work = work = f"{visit.suite.top}/work-{time.monotonic_ns()}"
        os.mkdir(work)
        if visit.caller.switch:
            os.chown(work, visit.caller.entry.pw_uid, visit.caller.entry.pw_gid)
        argv = [*visit.lab.words(work), *visit.caller.setpriv(), *self.call.corral(), "/bin/sh", "-c",
                f"PROGRAMS={visit.suite.top}/programs; say() {{ $PROGRAMS/say.py \"$@\"; }}; {script}"]
        self.process = subprocess.Popen(
            argv, env={"PATH": clients.PATH, "HOME": "/nonexistent", "LANG": "C.UTF-8"}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.line = "" if silent else self.process.stdout.readline()
        check(self.process.poll() is None, f"it does not begin: {self.line}")

    @functools.cached_property
    def pid(self):
        """The gate's, while it lives."""
        return gate_of(self.process.pid)

    def resident(self):
        return int(status_of(self.pid)["VmRSS"][0])

    def go(self):
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError as problem:
            raise Failed(f"it has ended: {self.process.stdout.read()[-300:]}") from problem

    def finish(self):
        try:
            return self.process.communicate(timeout=self.seconds)[0]
        except subprocess.TimeoutExpired as problem:
            raise Failed("it hangs") from problem
        finally:
            self.close()

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def status_of(pid):
    """What anybody may read of a process, also of one that is not dumpable: {field: words}."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as source:
        return {name: rest.split() for name, _, rest in (line.partition(":") for line in source)}


def find_gate(pid):
    own = status_of(pid)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            found = status_of(entry)
        except OSError:
            continue
        if found["PPid"] == [str(pid)] and len(found["NSpid"]) == len(own["NSpid"]) and \
                int(found["Seccomp_filters"][0]) > int(own["Seccomp_filters"][0]):
            return int(entry)
    return None


def gate_of(pid):
    """The child of corral that has a filter and is outside; on a loaded machine it begins later than the command."""
    end = time.monotonic() + PATIENCE
    while (found := find_gate(pid)) is None:
        if time.monotonic() > end:
            raise Failed("no process of the run looks like its gate")
        time.sleep(0.02)
    return found


# ---- names ----

ASK = "/usr/bin/python3 -c 'import socket, sys\nfor f in sorted({a[4][0] for a in socket.getaddrinfo(sys.argv[1], 80)}): print(f)' "


@test("an allowed name has the addresses that it has outside", quick=True)
def addresses(visit):
    visit.run(ASK + "allowed.test", *BASE).good("11.0.0.10\n2a00:11::10\n")


@test("another name does not exist, and nobody is asked", quick=True)
def unknown(visit):
    done = visit.run(ASK + "evil.test", *BASE).bad()
    check(not any("evil" in line for line in done.log), "the name server was asked")


@test("a chain of aliases ends at the address")
def aliases(visit):
    visit.run(ASK + "alias.test && curl -sf http://alias.test/", "--allow-host", "alias.test").good("11.0.0.10")


@test("a circle of aliases fails")
def circle(visit):
    visit.run(ASK + "round.ok.test", "--allow-host", "*.ok.test").bad()


@test("a deny holds for the aliases of its name, at the resolver and at the proxies", quick=True)
def denied_alias(visit):
    get, allow = "curl -sf -m 60 http://to-evil.ok.test/", ("--allow-host", "*.ok.test")
    visit.run(get, *allow).good("GET to-evil.ok.test")
    for words, more in ((get, ()), (f"{get} -x http://127.0.0.1:3128", ("--proxy",)),
                        (f"{get} -x socks5h://127.0.0.1:1080", ("--proxy",))):
        done = visit.run(f"{words}; true", *allow, "--deny-host", "evil.test", "--json", *more)
        check(done.decisions(name="to-evil.ok.test", verdict="denied") and not done.decisions(verdict="allowed"),
              f"{words}: {done.out[-600:]}")
        check("evil.test" in done.decisions(verdict="denied")[0]["rule"], "the rule is not named")


@test("a deny holds for the aliases of its name where a tool outside asks about a URL", quick=True)
def denied_alias_url(visit):
    ask = f"{visit.suite.corral} check url --no-config http://to-evil.ok.test/"
    visit.outside(ask).good("allowed")
    visit.outside(f"{ask} --deny-host evil.test").bad()


@test("a deny holds at the addresses of its name where a tool outside asks about a URL", quick=True)
def denied_address_url(visit):
    for url in ("http://11.0.0.66/", "http://[2a00:11::66]/"):
        ask = f"{visit.suite.corral} check url --no-config {url}"
        visit.outside(ask).good("allowed")
        visit.outside(f"{ask} --deny-host allowed.test").good("allowed")
        visit.outside(f"{ask} --deny-host evil.test").bad()


@test("names of one family")
def families(visit):
    get = "/usr/bin/python3 $PROGRAMS/get.py urllib"
    visit.run(f"{get} http://six.test/ && {get} http://four.test/", "--allow-host", "six.test", "--allow-host",
              "four.test").good("GET six.test / 0\nGET four.test / 0\n")


@test("a family whose address does not answer gives way to the other")
def eyeballs(visit):
    visit.run("curl -sf -m 8 http://half.test/", "--allow-host", "half.test").good("GET half.test")


@test("the hosts file counts")
def hosts_file(visit):
    visit.run("curl -sf http://listed.test/", "--allow-host", "listed.test").good("GET listed.test")


@test("a search domain completes a short name")
def search(visit):
    visit.run("curl -sf http://short/ -H 'Host: short.search.test'", "--allow-host", "short.search.test").good("short")


@test("a large answer comes by TCP")
def truncated(visit):
    visit.run("curl -sf -m 3 -4 http://cut.x.dns.test/ -o /dev/null; " + ASK + "cut.x.dns.test", "--allow-host",
              "*.dns.test").good("11.0.0.1")


@test("a slow answer arrives; no answer is a failure in seconds")
def slow(visit):
    start = time.monotonic()
    visit.run(ASK + "slow.x.dns.test", "--allow-host", "*.dns.test").good("11.0.0.10")
    for word in ("silent", "servfail", "garbage", "other", "chain"):
        visit.run(ASK + f"{word}.x.dns.test", "--allow-host", "*.dns.test").bad()
    check(time.monotonic() - start < 60, "it took longer than resolv.conf allows")


@test("questions of other types have empty answers, by UDP and TCP")
def types(visit):
    # Without a network namespace there are no datagrams.
    ways = ("tcp",) if visit.suite.options.level == "standard" else ("udp", "tcp")
    asked = [(kind, by) for kind in (64, 65, 16) for by in ways]
    done = visit.run("".join(f"$PROGRAMS/say.py --query allowed.test --type {kind} --by {by} 127.0.0.53 53 | od -An -tx1 | head -1;"
                             for kind, by in asked), *BASE).good()
    check(done.out.count("12 67") == len(asked), f"not every question was answered: {done}")


# ---- sockets ----

@test("every way to connect a socket", quick=True)
def sockets(visit):
    # Data in the first packet is closed by the filter where there is no network namespace.
    without = "fast_open bound6" if visit.suite.options.level == "standard" else ""
    done = visit.run(f"/usr/bin/python3 $PROGRAMS/sockets.py {without}", *BASE).good()
    check(done.out == "", f"not all work: {done.out}")


# ---- the leak scanner (scan.net) ----

# Synthetic: the checksum is right, the token never existed.
SECRET = "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"


@test("a secret in a plain HTTP request to a name is refused, direct and through the proxies", quick=True)
def scanned(visit):
    ways = ("", "-x http://127.0.0.1:3128", "-p -x http://127.0.0.1:3128", "-x socks5h://127.0.0.1:1080")
    for way in ways:
        for words in (f"-d note={SECRET}", f"-H 'X-Note: {SECRET}'", f"-G -d note={SECRET}"):
            since = visit.lab.mark()
            script = f"curl -s -m 20 {way} {words} http://allowed.test/scanned"
            done = visit.run(script, *BASE, "--proxy", "--json", "--scan-args", "off", "--scan-output", "off", "--scan-net", "block").good()
            check("contains a secret" in json.loads(done.out)["stdout"], f"{script}: {done}")
            leaks = json.loads(done.out)["leaks"]
            check([(leak["kind"], leak["host"]) for leak in leaks] == [("github-token", "allowed.test")], f"{script}: {leaks}")
            check(not [line for line in visit.lab.lines(since) if SECRET[:8] in line], f"{script}: it reached the origin")
            since = visit.lab.mark()
            visit.run(script, *BASE, "--proxy", "--scan-args", "off").good("POST" if words.startswith("-d") else "GET")
            if not words.startswith("-d"):  # the log of the lab has no bodies
                check([line for line in visit.lab.lines(since) if SECRET in line], f"{script}: the control did not reach the origin")
        visit.run(f"curl -sf -m 20 {way} -d note=plain http://allowed.test/", *BASE, "--proxy", "--scan-net", "block").good()
        visit.run(f"curl -sf -m 20 {way} https://allowed.test/", *BASE, "--proxy", "--scan-net", "block").good()


# ---- rules and modes ----

@test("addresses and networks can be allowed", quick=True)
def networks(visit):
    visit.run("curl -sf http://11.0.0.10/ && curl -sf 'http://[2a00:11::10]/'", "--allow-host", "11.0.0.0/24", "--allow-host",
              "2a00:11::10").good()
    visit.run("curl -sf -m 3 http://11.0.0.66/", "--allow-host", "11.0.0.0/28").bad()


@test("a port can be any")
def any_port(visit):
    visit.run("curl -sf http://allowed.test:8080/ && curl -sf http://allowed.test/", "--allow-host", "allowed.test:*").good()


@test("a private network can be opened to names", quick=True)
def private(visit):
    name = "to-10-9-0-5.x.dns.test"
    visit.run(f"curl -sf -m 3 http://{name}/", "--allow-host", name).bad()
    visit.run(f"curl -sf http://{name}/", "--allow-host", name, "--allow-private", "10.0.0.0/8").good("GET to-10")


@test("restricted reaches every public name at 80 and 443, and nothing else", quick=True)
def restricted(visit):
    visit.run("curl -sf http://evil.test/ && curl -sf https://allowed.test/", mode="restricted").good()
    for url in ("http://allowed.test:8080/", "http://to-10-9-0-5.x.dns.test/", "http://127.0.0.1:8080/", "http://11.0.0.10/"):
        visit.run(f"curl -sf -m 3 {url}", mode="restricted").bad()


@test("full is the machine's own network")
def full(visit):
    visit.run("curl -sf http://evil.test:8080/ && curl -sf http://127.0.0.1:8080/", mode="full").good()


@test("nothing is set in the environment unless a proxy is asked for", quick=True)
def environment(visit):
    visit.run("! env | grep -i proxy", *BASE).good()
    visit.run("env", *BASE, "--proxy").good("http_proxy=")
    visit.run("curl -sf http://allowed.test/ && curl -sf https://allowed.test/ && curl -sf --noproxy '*' https://allowed.test/",
              *BASE, "--proxy").good()


@test("one service of the machine's loopback can be opened", quick=True)
def host_port(visit):
    visit.run("curl -sf http://127.0.0.1:8080/ && curl -sf http://localhost:8080/", *BASE, "--host-port", "8080").good("GET")
    visit.run("curl -sf -m 3 http://127.0.0.1:80/", *BASE, "--host-port", "8080").bad()


@test("a server inside is published on the machine's loopback only", quick=True)
def publish(visit):
    server = "/usr/bin/python3 -u -m http.server 8765 2>&1"
    running = visit.gate(f"{server} & echo began; read x; kill $!", *BASE, "--publish", "8765")
    ask = [*visit.lab.words(), "curl", "-s", "-m", "60", "-o", "/dev/null", "-w", "%{http_code}"]

    def answer(address):
        return subprocess.run([*ask, f"http://{address}:8765/"], stdout=subprocess.PIPE, text=True, check=False).stdout
    try:
        check("began" in running.line or "Serving" in running.line, f"it does not begin: {running.line}")
        end = time.monotonic() + PATIENCE
        while (got := answer("127.0.0.1")) != "200" and time.monotonic() < end:
            time.sleep(0.1)  # until the server listens
        check(got == "200", f"127.0.0.1 answers {got}")
        check((got := answer("11.0.0.1")) == "000", f"11.0.0.1 answers {got}")
    finally:
        running.go()
        running.finish()


# ---- records ----

@test("every decision is in the result, with its bytes", quick=True)
def records(visit):
    done = visit.run("curl -s http://allowed.test/bytes/100000 -o /dev/null; curl -s http://evil.test/; curl -s -m 20 http://11.0.0.66/;"
                     " printf 'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n' | $PROGRAMS/say.py allowed.test 80; true",
                     *BASE, "--json")
    check(done.decisions(op="resolve", name="evil.test", verdict="denied"), f"no refusal of the name: {done.out[-900:]}")
    check(done.decisions(op="connect", address="11.0.0.66", verdict="denied"), "no refusal of the address")
    check(done.decisions(op="request", name="evil.test", verdict="denied"), "no refusal of the request")
    allowed = done.decisions(op="connect", name="allowed.test", port=80, verdict="allowed")
    check(allowed and max(entry["received"] for entry in allowed) >= 100000, f"the bytes are not counted: {allowed}")
    check(all(entry["rule"] == "allowed.test" for entry in allowed), f"the rule is not named: {allowed}")


@test("names that were looked up are in the result, those of an allowed tree as well", quick=True)
def looked_up(visit):
    done = visit.run(ASK + "secret.ok.test; " + ASK + "allowed.test; true", *BASE, "--allow-host", "*.ok.test", "--json")
    for name, rule in (("secret.ok.test", "*.ok.test"), ("allowed.test", "allowed.test")):
        found = done.decisions(op="resolve", name=name, verdict="allowed")
        check(found and found[0]["rule"] == rule, f"{name} is not recorded: {done.out[-600:]}")


LEAVES = """import os, socket, struct, sys, time
name = ("silent." + sys.argv[1] + ".dns.test").encode()
labels = b"".join(bytes([len(part)]) + part for part in name.split(b".")) + b"\\0"
asked = struct.pack(">6H", 1, 256, 1, 0, 0, 0) + labels + struct.pack(">2H", 1, 1)
if sys.argv[1] == "udp":
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.sendto(asked, ("127.0.0.53", 53))
elif sys.argv[1] == "tcp":
    sock = socket.create_connection(("127.0.0.53", 53))
    sock.sendall(struct.pack(">H", len(asked)) + asked)
else:
    sock = socket.create_connection(("127.0.0.1", 3128))
    sock.sendall(b"CONNECT " + name + b":443 HTTP/1.1\\r\\nHost: " + name + b":443\\r\\n\\r\\n")
while not os.path.exists("go"):
    time.sleep(0.02)
if len(sys.argv) > 2:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    time.sleep(0.2)
"""


@test("a name whose asker does not wait for the answer is in the result: its name server has seen it", quick=True)
def left(visit):
    ways = [way for way in ("udp", "tcp", "proxy") if way != "udp" or visit.suite.options.level != "standard"]
    for way in ways:
        for gone in ("", "gone"):  # with the command, and before it
            since, name = visit.lab.mark(), f"silent.{way}.dns.test"
            running = visit.told(f"/usr/bin/python3 -c '{LEAVES}' {way} {gone}", "--allow-host", "*.dns.test", "--proxy")
            try:
                asked = visit.lab.heard(re.escape(name), since, PATIENCE)
                with open(f"{running.work}/go", "w", encoding="ascii"):
                    pass
            finally:
                result = json.loads(running.finish())
            check(asked, f"{way} {gone}: no question to the name server: {visit.lab.lines(since)}")
            found = [entry for entry in result["network"] if entry["name"] == name]
            check(found and found[0]["rule"] == "*.dns.test", f"{way} {gone}: not recorded: {result['network']}")


@test("an address of the host's own is open to who lists it, also beside its network, as the refusal says", quick=True)
def own_address(visit):
    ask = "curl -sf -m 20 http://11.0.0.1/"
    done = visit.run(ask, "--allow-host", "11.0.0.0/24", "--json").bad()
    refused = [entry for entry in json.loads(done.out)["denials"] if "belongs to this host" in entry["why"]]
    check([entry["allow_with"] for entry in refused] == ["--allow-host 11.0.0.1:80"], f"no remedy: {done.out[-600:]}")
    visit.run(ask, "--allow-host", "11.0.0.0/24", *refused[0]["allow_with"].split()).good()


@test("a flood of names hides neither a refusal nor a connection", quick=True)
def flood_of_names(visit):
    python = ('import socket, concurrent.futures as c\ndef ask(n):\n try:\n  socket.getaddrinfo(f"n{n}.ok.test", 80)\n'
              ' except OSError: pass\nlist(c.ThreadPoolExecutor(8).map(ask, range(700)))\n')
    done = visit.run(f"/usr/bin/python3 -c '{python}'; curl -s -m 20 http://evil.test/; curl -s -m 60 http://allowed.test/", *BASE,
                     "--allow-host", "*.ok.test", "--json")
    check(done.decisions(op="resolve", name="evil.test", verdict="denied"), "the refusal is not recorded")
    check(done.decisions(op="connect", name="allowed.test", verdict="allowed"), "the connection is not recorded")
    result = json.loads(done.out)
    check(result["network_more"] > 0, "nothing says that there is more")
    check(done.decisions(op="resolve", verdict="allowed", rule="*.ok.test", name=None), "the rest is not told by its rule")
    rest = sum(entry["count"] for entry in done.decisions(name=None, address=None))
    check(rest == result["network_more"], f"{rest} of {result['network_more']} are counted")


@test("a destination that does not answer is recorded as failed")
def failures(visit):
    done = visit.run("$PROGRAMS/talk.py refused allowed.test 7001; true", "--allow-host", "allowed.test:7001", "--json")
    check(done.decisions(verdict="failed"), f"no failure: {done.out[-600:]}")


@test("gRPC without TLS is refused with what would allow it, and that does", quick=True)
def unread(visit):
    if "rpc_plain" in visit.lab.absent:
        raise clients.Skipped(visit.lab.absent["rpc_plain"])
    # libc's resolver: gRPC's own asks by UDP, which is closed without a network namespace.
    call = "GRPC_DNS_RESOLVER=native /usr/bin/python3 $PROGRAMS/rpc.py plain allowed.test:50052"
    names = ("--allow-host", "allowed.test:50052")
    done = visit.run(call, *names, "--json").bad()
    check(not [line for line in done.log if "PRI *" in line], f"it was spoken: {done.log}")
    refused = [entry for entry in json.loads(done.out)["denials"] if "HTTP/2 without TLS" in entry["why"]]
    check({entry["host"] for entry in refused} == {"allowed.test"}, f"no record: {done.out[-900:]}")
    check("TLS" in json.loads(done.out)["hint"]["text"], f"no hint: {done.out[-900:]}")
    words = [word for entry in refused for word in entry["allow_with"].split()]
    visit.run(call, *names, *words).good("hello")


def hint_of(done):
    """The text of the hint of a run that failed."""
    told = [line.partition("hint: ")[2] for line in done.bad().err.splitlines() if line.startswith("corral: hint: ")]
    check(len(told) == 1, f"hints {told}: {done}")
    return told[0]


@test("the option that a hint prints opens what was refused", quick=True)
def remedies(visit):
    def helps(script, *options, mode="filtered"):
        text = hint_of(visit.run(script, *options, mode=mode))
        found = re.search(r"--[a-z-]+ [^\s;)]+", text)
        check(found, f"no option: {text}")
        visit.run(script, *options, *found.group(0).split(), mode=mode).good("GET ")
    get = "curl -sS -m 20 http://"
    helps(get + "ok.test/", *BASE)  # the name
    helps(get + "allowed.test:8080/", *BASE)  # the port
    helps(get + "11.0.0.11/", *BASE)  # an address
    helps(get + "to-10-9-0-5.x.dns.test/", "--allow-host", "*.dns.test")  # a private network
    helps(get + "allowed.test/", mode=None)  # none, as without an option
    helps("curl -sS -m 20 -x http://127.0.0.1:3128 http://ok.test/ -f", *BASE, "--proxy")


@test("a hint about the network says where no option helps", quick=True)
def no_remedy(visit):
    get, names = "curl -sS -m 20 http://", ("--allow-host", "*.dns.test")
    for script, options, said in (
            (get + "nx.x.dns.test/", names, "does not exist"),
            (get + "empty.x.dns.test/", names, "no address"),
            (get + "to-127-0-0-1.x.dns.test/", names, "no option"),
            (get + "to-169-254-169-254.x.dns.test/", names, "no option"),
            (get + "evil.test/", ("--allow-host", "evil.test", "--deny-host", "*.evil.test", "--deny-host", "evil.test"), "no option")):
        text = hint_of(visit.run(script, *options))
        check(said in text and "--allow-" not in text, f"{script}: {text}")


STILL = "curl -sf -m 60 http://allowed.test/still"


def hostile(visit, python, *options):
    """Runs a client that misbehaves, and then an ordinary one."""
    visit.run(f"/usr/bin/python3 -c '{python}'; {STILL}", *(options or BASE)).good("/still")


# ---- an upstream that takes its time ----

class Busy:
    """A server of the lab whose queue is full for a while; see busy.py."""
    last, lock = 9300, threading.Lock()

    def __init__(self, visit, habit, port=None):
        with Busy.lock:
            Busy.last += 2  # its neighbour is free
            self.port = port or Busy.last
        self.process = subprocess.Popen([*visit.lab.internet_words(), "/usr/bin/python3", f"{HERE}/busy.py", str(self.port), habit],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        check(self.process.stdout.readline() == "ready\n", "no busy server")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        time.sleep(0.2)  # it may have something to say
        self.process.kill()
        self.said = self.process.communicate()[0]


def at_busy(visit, calls):
    """What programs say that call such a server, each one of its own: {(habit, program, inside): text}."""
    def call(habit, program, inside):
        with Busy(visit, habit) as busy:
            words = f"$PROGRAMS/{program.replace('HERE', f'allowed.test {busy.port}')}"
            done = visit.run(words, "--allow-host", f"allowed.test:{busy.port}") if inside else visit.outside(words)
        return done.good().out
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return dict(zip(calls, pool.map(lambda asked: call(*asked), calls)))


# These two compare times with the kernel's own, in tenths of a second: they are not quick, and in `make proof` only.
@test("who does not block waits for the upstream's own answer")
def held(visit):
    habits, families = ("serves", "leaves", "never"), ("4", "6", "mapped")
    told = at_busy(visit, [(habit, "pending.py 4 HERE 3", False) for habit in habits] +
                   [(habit, f"pending.py {family} HERE 3", True) for habit in habits for family in families])
    for (habit, program, inside), text in told.items():
        outside = told[habit, "pending.py 4 HERE 3", False]
        check(outside.startswith("EINPROGRESS waits"), f"the server was not busy: {outside}")
        if inside and visit.suite.options.level == "standard":  # on the host's loopback nobody is held: corral-policy(5)
            check(text.startswith("EINPROGRESS ready"), f"{habit}, {program}: {text}")
        else:
            check(text == outside, f"{habit}, {program}: {text!r} inside, {outside!r} outside")


@test("who blocks hears signals, and goes on or leaves as without a sandbox")
def interrupted(visit):
    visit.only_full("the call waits for the gate there, and with it every handler")
    pairs = (("serves", "breaks"), ("serves", "goes-on"), ("serves", "limited"), ("leaves", "breaks"), ("never", "leaves"))
    told = at_busy(visit, [(server, f"blocking.py {habit} HERE", inside) for server, habit in pairs for inside in (False, True)])
    for (server, program, _), text in told.items():
        outside = told[server, program, False]
        check("signal" in outside and text == outside, f"{server}, {program}: {text!r} inside, {outside!r} outside")


@test("SO_SNDTIMEO ends a blocking call with EINPROGRESS, and the connection completes later")
def send_timeout(visit):
    server = {"serves": "b'there and back\\n'\n", "leaves": "", "never": ""}
    told = at_busy(visit, [(habit, f"limited.py {calls} HERE", inside) for habit in server for calls in (1, 2)
                           for inside in (False, True)])
    for (habit, program, inside), text in told.items():
        outside = told[habit, program, False]
        check(outside.startswith("EINPROGRESS in time\n") and outside.endswith(server[habit]), f"outside, {habit}, {program}: {outside}")
        if inside and visit.suite.options.level == "standard":  # connected by then: corral-policy(5)
            check(text.startswith("EINPROGRESS in time\n") and text.endswith(server[habit]), f"{habit}, {program}: {text}")
        else:
            check(text == outside, f"{habit}, {program}: {text!r} inside, {outside!r} outside")


@test("a client's own time-out for the connection holds")
def timeout(visit):
    visit.only_full("a caller is told that it is connected there, see corral-policy(5)")
    for words in ("curl -s --connect-timeout 1 -m 9", "wget -q --tries=1 -T 1 -O -"):
        with Busy(visit, "never") as busy:
            start = time.monotonic()
            visit.run(f"{words} http://allowed.test:{busy.port}/", "--allow-host", f"allowed.test:{busy.port}").bad()
            check(time.monotonic() - start < 5, f"{words.split()[0]} waited {time.monotonic() - start:.1f} s")


@test("who gives up and comes again with the same port is not taken for the first")
def port_again(visit):
    visit.only_full("nobody is held there")
    second = Busy(visit, "serves")
    with second, Busy(visit, "serves", second.port + 1) as first:
        done = visit.run(f"$PROGRAMS/pending.py 4 allowed.test {second.port} 4 5000; {STILL}", *BASE, "--allow-host",
                         f"allowed.test:{first.port}", "--allow-host", f"allowed.test:{second.port}")
    done.good("first EINPROGRESS\nEINPROGRESS waits\nconnected True True\nb'there and back\\n'\n")
    check("back" in second.said and "back" not in first.said, f"the first got {first.said!r}, the second {second.said!r}")


@test("a thousand calls that nobody answers do not take the gate away")
def many_pending(visit):
    with Busy(visit, "never") as busy:
        hostile(visit, "import socket, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\n"
                'to = socket.getaddrinfo("allowed.test", 80, socket.AF_INET)[0][4][0]\nall = []\nfor n in range(1000):\n'
                f" s = socket.socket()\n s.setblocking(False)\n s.connect_ex((to, {busy.port}))\n all.append(s)\n",
                *BASE, "--allow-host", f"allowed.test:{busy.port}")


# ---- what must not take the gate away ----

@test("a client that ends in the middle of a word", quick=True)
def short_words(visit):
    for port in (80, 443, 7):
        for word in ("G", "GET", "GET / HTTP/1.1\\r\\nHo", "\\x16", "\\x16\\x03\\x01\\x02\\x00\\x01"):
            hostile(visit, f'import socket\ns = socket.create_connection(("allowed.test", {port}))\ns.sendall(b"{word}")\n',
                    *BASE, "--allow-host", "allowed.test:7")


@test("a short word to a server of another protocol passes, with and without its line's or the client's end", quick=True)
def one_byte(visit):
    for word in ("x", "x\\n", "GET"):
        visit.run(f"printf '{word}' | $PROGRAMS/say.py allowed.test 7", "--allow-host", "allowed.test:7").good(word[0])
    python = 'import socket\ns = socket.create_connection(("allowed.test", 7), 60)\ns.sendall(b"x")\ns.shutdown(1)\nprint(s.recv(9))'
    visit.run(f"/usr/bin/python3 -c '{python}'", "--allow-host", "allowed.test:7").good("x")


@test("a client that resets its connection at any moment")
def resets(visit):
    hostile(visit, 'import socket, struct\nfor n in range(100):\n s = socket.create_connection(("allowed.test", 80))\n'
            ' s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))\n'
            ' s.sendall(b"GET /bytes/1000000 HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n"[:n])\n s.close()\n')


@test("a head without end, one of 100,000 fields, one that comes a byte at a time")
def heads(visit):
    start = 'import socket\ns = socket.create_connection(("allowed.test", 80))\ns.settimeout(5)\n' \
        's.sendall(b"GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\n")\ntry:\n'
    end = '\n s.recv(10)\nexcept OSError:\n pass\n'
    hostile(visit, start + ' s.sendall(b"X: " + b"a" * (1 << 20))' + end)
    hostile(visit, start + ' s.sendall(b"X: a\\r\\n" * 100000)' + end)
    hostile(visit, 'import socket, time\nall = [socket.create_connection(("allowed.test", 80)) for n in range(200)]\n'
            'for n in range(3):\n [s.send(b"G") for s in all]\n time.sleep(0.2)\n')


@test("half-open connections and questions by the thousand")
def floods(visit):
    hostile(visit, 'import socket, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\nall = []\ntry:\n'
            ' for n in range(3000):\n  all.append(socket.create_connection(("allowed.test", 80), 2))\nexcept OSError:\n pass\n')
    hostile(visit, 'import socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n'
            'for n in range(20000):\n name = b"n%d" % n\n s.sendto(struct.pack(">HHHHHH", n % 65536, 256, 1, 0, 0, 0) + '
            'bytes([len(name)]) + name + b"\\2ok\\4test\\0\\0\\1\\0\\1", ("127.0.0.53", 53))\n',
            *BASE, "--allow-host", "*.ok.test")


@test("garbage to the resolver and to the proxies")
def garbage(visit):
    hostile(visit, 'import os, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor n in range(2000):\n'
            ' s.sendto(os.urandom(n % 600), ("127.0.0.53", 53))\nfor port in (3128, 1080):\n for n in range(100):\n'
            '  s = socket.create_connection(("127.0.0.1", port))\n  s.sendall(os.urandom(n))\n  s.close()\n', *BASE, "--proxy")


@test("a server that never reads bounds the sender, and not the gate's memory")
def back_pressure(visit):
    running = visit.gate("echo began; read x; $PROGRAMS/talk.py stall allowed.test 7004; echo; echo done; read x",
                         "--allow-host", "allowed.test:7004")
    try:
        running.go()
        said = running.process.stdout.readline()
        check("waits" in said, f"the sender was not bounded: {said}")
        check(running.resident() < ROOM, f"the gate has {running.resident()} kB")
    finally:
        running.go()
        running.finish()


@test("a client that never reads bounds the server, and not the gate's memory")
def slow_reader(visit):
    python = ('import socket, time\ns = socket.create_connection(("allowed.test", 19))\n'
              's.sendall(b"%d\\n" % (1 << 28))\ntime.sleep(2)\nprint("waited", flush=True)\ninput()\n')
    running = visit.gate(f"echo began; read x; /usr/bin/python3 -c '{python}'", "--allow-host", "allowed.test:19")
    try:
        running.go()
        check(running.process.stdout.readline() == "waited\n", "it did not run")
        check(running.resident() < ROOM, f"the gate has {running.resident()} kB")
    finally:
        running.go()
        running.finish()


@test("a thousand connections at once")
def thousand(visit):
    python = ('import socket, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\n'
              'all = [socket.create_connection(("allowed.test", 7), 20) for n in range(1000)]\n'
              'for n, s in enumerate(all): s.sendall(b"number %d\\n" % n)\n'
              'print(sum(s.recv(100) == b"number %d\\n" % n for n, s in enumerate(all)), flush=True)\ninput()\n')
    running = visit.gate(f"echo began; read x; /usr/bin/python3 -c '{python}'", "--allow-host", "allowed.test:7", seconds=40)
    try:
        running.go()
        said = running.process.stdout.readline()
        check(said == "1000\n", f"not all were answered: {said!r}")
        check(running.resident() < ROOM, f"the gate has {running.resident()} kB")
    finally:
        running.go()
        running.finish()


@test("without its gate a run has no network, and nothing leaks", quick=True)
def killed(visit):
    # A first request, because a gate that dies before it has taken over ends the run.
    running = visit.gate("curl -s -o first http://allowed.test/; echo began; read x; curl -s -m 3 http://allowed.test/;"
                         " curl -s -m 3 http://evil.test/after-the-gate;"
                         f" {visit.suite.top}/programs/say.py --listen 1 11.0.0.66 80; echo over", *BASE)
    since = visit.lab.mark()
    os.kill(running.pid, signal.SIGKILL)
    time.sleep(0.3)
    running.go()
    out = running.finish()
    check("GET" not in out, f"something was reached: {out}")
    check(not [line for line in visit.lab.lines(since) if line.startswith("http")], "an origin was reached")


@test("a gate that dies resets its connections, and the result tells of it and of the calls after it", quick=True)
def died(visit):
    python = ('import os, socket, time\ns = socket.create_connection(("allowed.test", 7), 60)\ns.sendall(b"x\\n")\ns.recv(9)\n'
              'open("began", "w").close()\nwhile not os.path.exists("go"): time.sleep(0.05)\n'
              'try:\n print("end", s.recv(9))\nexcept OSError as e:\n print(type(e).__name__)\n'
              'try:\n socket.create_connection(("11.0.0.66", 4711), 60)\nexcept OSError as e:\n print(type(e).__name__)\n')
    running = visit.told(f"/usr/bin/python3 -c '{python}'", "--allow-host", "allowed.test:7")
    try:
        end = time.monotonic() + PATIENCE
        while not os.path.exists(f"{running.work}/began") and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(running.pid, signal.SIGKILL)
        time.sleep(0.3)
        with open(f"{running.work}/go", "w", encoding="ascii"):
            pass
    finally:
        result = json.loads(running.finish())
    check(result["stdout"] == "ConnectionResetError\nConnectionRefusedError\n", f"it saw {result['stdout']!r} {result['stderr'][-300:]}")
    check(result["network_failed"] is not None, "the result does not say that the gate died")
    check([entry for entry in result["network"] if entry["address"] == "11.0.0.66" and entry["port"] == 4711 and
           entry["verdict"] == "failed"], f"the call after it is not recorded: {result['network']}")


@test("without descriptors one call is refused, and not those that follow", quick=True)
def no_files(visit):
    # Room is there again when the other side has ended its half as well.
    python = ('import socket, resource, time\nresource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(7)[1],) * 2)\n'
              'all, bad = [], 0\nfor n in range(60):\n try:\n  all.append(socket.create_connection(("11.0.0.10", 7), 60))\n'
              ' except OSError as e:\n  bad += 1\n  print(type(e).__name__, e.errno)\n  for s in all: s.close()\n  all = []\n  time.sleep(0.5)\n'
              'for s in all: s.close()\nend = time.monotonic() + 60\nwhile True:\n try:\n  s = socket.create_connection(("11.0.0.10", 7), 60)\n  break\n'
              ' except OSError:\n  if time.monotonic() > end: raise\n  time.sleep(0.1)\ns.sendall(b"back\\n")\nprint(s.recv(9), bad > 0)\n')
    done = Done(Limited(visit.suite, visit.caller, ("--net", "filtered", "--json", "--allow-host", "11.0.0.10:7"),
                        f"/usr/bin/python3 -c '{python}'"))
    result = json.loads(done.out)
    check("b'back\\n' True" in result["stdout"], f"{result['network']} {result['stdout']!r} {result['stderr'][-300:]}")
    check([entry for entry in result["network"] if entry["verdict"] == "failed" and entry["why"]], f"no record: {result['network']}")


@test("the gate ends with its run", quick=True)
def ends(visit):
    running = visit.gate("echo began; read x", *BASE)
    pid = running.pid
    running.go()
    running.finish()
    end = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.02)
    check(not os.path.exists(f"/proc/{pid}"), "it is still there")


@test("why: the grant for a name, an address and a name with a private address opens it", quick=True)
def why(visit):
    level = ladder.ASK[visit.suite.options.level]

    def answer(*words):
        done = subprocess.run([*visit.lab.words(visit.suite.top), *visit.caller.setpriv(), visit.suite.corral, "why", "--json", "--no-config",
                               *level, "--workspace", f"{visit.suite.top}/programs", *words],
                              env={"PATH": clients.PATH, "HOME": "/nonexistent"}, capture_output=True, text=True, timeout=PATIENCE, check=False)
        check(done.returncode in (0, 1), f"{words}: {done}")
        return json.loads(done.stdout)

    for host, url, grant in (("allowed.test:80", "http://allowed.test/", "--allow-host allowed.test:80"),
                             ("11.0.0.10:80", "http://11.0.0.10/", "--allow-host 11.0.0.10:80"),
                             ("listed-private.test:80", "http://listed-private.test/",
                              "--allow-host listed-private.test:80 --allow-private 10.9.0.5")):
        visit.run(f"curl -sf -m 20 {url}", mode=None).bad()
        found = answer(host)
        check(not found["allowed"] and found["grant"] == grant, f"{host}: {found}")
        after = answer(*[word for one in found["settings"] for word in ("--set", f"{one['key']}={one['value']}")], host)
        check(after["allowed"], f"{grant} does not help: {after}")
        visit.run(f"curl -sf -m 60 {url}", *grant.split(), mode=None).good("GET")
    for host in ("metadata.google.internal:80", "169.254.169.254"):
        found = answer(host)
        check(not found["allowed"] and found["grant"] is None, f"{host}: {found}")
    # A rule allows the name; its address is the metadata service's.
    check(answer("--allow-host", "metadata.google.internal", "metadata.google.internal:80")["forbidden_by"] == "metadata", "a name")


# ---- the suite ----

def judge(suite, caller, number, item):
    name, function, _ = item
    try:
        function(Visit(suite, caller))
        print(f"ok {number} - {name} ({caller.name})", flush=True)
        return 0
    except clients.Skipped as reason:
        print(f"ok {number} - {name} ({caller.name}) # SKIP {reason}", flush=True)
        return 0
    except Failed as problem:
        print(f"# {' '.join(str(problem).split())[:900]}\nnot ok {number} - {name} ({caller.name})", flush=True)
    except Exception:  # a broken test is a failed test, never a missing one
        print("\n".join(f"# {line}" for line in traceback.format_exc().splitlines()))
        print(f"not ok {number} - {name} ({caller.name})", flush=True)
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--user", default="games", help="the account of the unprivileged pass")
    parser.add_argument("--as", dest="who", choices=("user", "root", "both"), default="user")
    parser.add_argument("--quick", action="store_true", help="only the quick subset")
    parser.add_argument("--only", default="", help="words of a test's name")
    ladder.add_option(parser)
    options = parser.parse_args()
    os.umask(0o022)
    work = [(item, caller) for caller in clients.callers(options) for item in TESTS
            if options.only in item[0] and (item[2] or not options.quick)]
    try:
        suite = clients.Suite(options, ("rpc_plain",))
    except labs.NoLab as problem:
        print(f"ok 1 - the lab # SKIP {problem}\n1..1")
        return 0
    shutil.copy(f"{HERE}/say.py", f"{suite.top}/programs")
    os.chmod(f"{suite.top}/programs/say.py", 0o755)
    try:
        failed = sum(judge(suite, caller, number, item) for number, (item, caller) in enumerate(work, 1))
        print(f"1..{len(work)}")
        return 1 if failed else 0
    finally:
        suite.close()


if __name__ == "__main__":
    sys.exit(main())
