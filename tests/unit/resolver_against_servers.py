#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The resolver of src/gate against real servers, good and bad, on port 53 of a network namespace.

    resolver_against_servers.py DNS_DUMP

What a server does is said by the first label of the name that it is asked about.  Prints TAP; every
test is skipped, with the reason, where no namespace can be made.  A test that fails is repeated with
all its times longer: on a loaded machine the servers here take more than a second to answer, and a
defect shows at any speed.
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import dns_wire as dns

HERE = os.path.abspath(__file__)
SECOND, THIRD = "127.0.0.2", "127.0.0.3"
TRICKLE_SECONDS = 0.2
SLOWER = (1, 5, 20)  # what the times of a test are multiplied by, one after the other
ONE = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"


class Server:
    """UDP and TCP on one address; keeps what it was asked."""

    def __init__(self, host, number=1):
        self.host, self.number, self.asked, self.slower = host, number, [], 1
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = socket.getaddrinfo(host, 53, family, socket.SOCK_DGRAM)[0][4]
        self.udp = socket.socket(family, socket.SOCK_DGRAM)
        self.udp.bind(place)
        self.tcp = socket.socket(family, socket.SOCK_STREAM)
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind(place)
        self.tcp.listen(64)
        for work in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=work, daemon=True).start()

    def note(self, query, peer, transport):
        name, kind = dns.asked(query)
        number, counts = struct.unpack("!H", query[:2])[0], struct.unpack("!4H", query[4:12])
        self.asked.append({"name": name, "type": kind, "id": number, "port": peer[1], "by": transport,
                           "edns": counts[3] == 1})
        return name, kind

    def serve_udp(self):
        while True:
            query, peer = self.udp.recvfrom(4096)
            name, kind = self.note(query, peer, "udp")
            for reply in udp_replies(self, name, kind, query):
                if callable(reply):
                    threading.Thread(target=reply, args=(self.udp, peer), daemon=True).start()
                else:
                    self.udp.sendto(reply, peer)

    def serve_tcp(self):
        while True:
            stream, peer = self.tcp.accept()
            threading.Thread(target=self.serve_stream, args=(stream, peer), daemon=True).start()

    def serve_stream(self, stream, peer):
        with stream:
            try:
                size = struct.unpack("!H", stream.recv(2, socket.MSG_WAITALL))[0]
                query = stream.recv(size, socket.MSG_WAITALL)
                name, kind = self.note(query, peer, "tcp")
                tcp_reply(self, stream, name, kind, query)
            except (OSError, struct.error):
                pass

    def times(self, name, **wanted):
        return [a for a in self.asked if a["name"] == name and all(a[k] == v for k, v in wanted.items())]


def addresses(name, kind, count=1, ttl=60):
    texts = [f"192.0.{2 + i // 250}.{i % 250 + 1}" if kind == dns.A else f"2001:db8::{i + 1:x}" for i in range(count)]
    return [dns.address(name, text, ttl) for text in texts]


def after(server, seconds, reply):
    def late(udp, peer):
        time.sleep(seconds * server.slower)
        udp.sendto(reply, peer)
    return late


def flip(data, at, bits=1):
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1:]


def udp_replies(server, name, kind, query):
    """What goes back by UDP: bytes, or functions that take their time."""
    good = dns.answer(query, addresses(name, kind))
    act = name.split(".")[0].rstrip("0123456789")
    first = server.number == 1
    rows = {
        "good": lambda: [good],
        "four": lambda: [good if kind == dns.A else dns.answer(query, [])],
        "six": lambda: [good if kind == dns.AAAA else dns.answer(query, [])],
        "none": lambda: [dns.answer(query, [], dns.NXDOMAIN)],
        "empty": lambda: [dns.answer(query, [])],
        "liar": lambda: [good if kind == dns.A else dns.answer(query, [], dns.NXDOMAIN)],
        "chain": lambda: [dns.answer(query, [dns.cname(name, "b.test", 20), dns.cname("b.test", "c.test", 30)]
                                     + addresses("c.test", kind, 2))],
        "loop": lambda: [dns.answer(query, [dns.cname(name, "b.test"), dns.cname("b.test", name)])],
        "elsewhere": lambda: [dns.answer(query, addresses("other.test", kind))],
        "shortlived": lambda: [dns.answer(query, addresses(name, kind, ttl=0))],
        "longlived": lambda: [dns.answer(query, addresses(name, kind, ttl=100000))],
        "cut": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "cutclosed": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "cutendless": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "cuttrickle": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "cutagain": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "cutempty": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "cutother": lambda: [dns.answer(query, [], flags=dns.CUT)],
        "oversized": lambda: [dns.answer(query, addresses(name, kind, 300))],
        "servfail": lambda: [dns.answer(query, [], dns.SERVFAIL) if first else good],
        "refused": lambda: [dns.answer(query, [], dns.REFUSED) if first else good],
        "allfail": lambda: [dns.answer(query, [], dns.SERVFAIL)],
        "silent": lambda: [] if first else [good],
        "sixsilent": lambda: [good] if kind == dns.A else [],
        "sixfails": lambda: [good if kind == dns.A else dns.answer(query, [], dns.SERVFAIL)],
        "sixslow": lambda: [dns.answer(query, [])] if kind == dns.A else [] if first else [good],
        "noneandsilence": lambda: [dns.answer(query, [], dns.NXDOMAIN)] if kind == dns.A else [],
        "emptyandsilence": lambda: [dns.answer(query, [])] if kind == dns.A else [],
        "dead": lambda: [],
        "late": lambda: [after(server, 1.3, good)] if first else [good],
        "twice": lambda: [good, good, good],
        "wrongid": lambda: [flip(good, 1), flip(good, 0), after(server, 0.1, good)],
        "wrongtype": lambda: [flip(good, dns.question_end(query) - 3, 29), after(server, 0.1, good)],
        "wrongname": lambda: [flip(good, 13), after(server, 0.1, good)],
        "query": lambda: [query, after(server, 0.1, good)],
        "garbage": lambda: [b"", b"\0", os.urandom(300), after(server, 0.1, good)],
        "broken": lambda: [good[:-3]] if first else [good],
        "upper": lambda: [good.replace(b"upper", b"UPPER")],
        "noedns": lambda: [good if struct.unpack("!H", query[10:12])[0] == 0
                           else struct.pack("!6H", struct.unpack("!H", query[:2])[0], 0x8181, 0, 0, 0, 0)],
    }
    return rows[act]() if act in rows else [dns.answer(query, [], dns.REFUSED)]


def tcp_reply(server, stream, name, kind, query):
    act = name.split(".")[0].rstrip("0123456789")
    good = dns.answer(query, addresses(name, kind, 3))
    if act == "cutclosed":
        return
    if act == "cutempty":
        stream.sendall(b"\0\0")
    elif act == "cutother":
        good = flip(good, 0)
    elif act == "cutagain":
        good = dns.answer(query, [], flags=dns.CUT)
    elif act == "cutendless":
        stream.sendall(b"\xff\xff")
        while True:
            stream.sendall(b"\0" * 1000)
            time.sleep(0.05)
    elif act == "cuttrickle":
        for byte in struct.pack("!H", len(good)) + good:
            stream.sendall(bytes([byte]))
            time.sleep(TRICKLE_SECONDS * server.slower)
    stream.sendall(struct.pack("!H", len(good)) + good)
    stream.recv(1)


# ---- tests ----

TESTS = []


def test(function):
    TESTS.append(function)
    return function


class World:
    def __init__(self, program, place):
        self.program, self.place, self.slower = program, place, 1
        self.one, self.two, self.three = Server("127.0.0.1"), Server(SECOND, 2), Server(THIRD, 3)
        self.six, self.local = Server("::1"), Server("fe80::1%lo")

    def servers(self):
        return (self.one, self.two, self.three, self.six, self.local)

    def lines(self, names, conf=ONE, hosts="", again=False):
        """Every answer as it came; what is open at the end must be nothing."""
        for server in self.servers():
            server.asked.clear()
            server.slower = self.slower
        conf = re.sub(r"timeout:(\d+)", lambda found: f"timeout:{int(found[1]) * self.slower}", conf)
        for file, text in (("conf", conf), ("hosts", hosts)):
            with open(f"{self.place}/{file}", "w", encoding="latin-1") as out:
                out.write(text)
        env = dict(os.environ, **({"AGAIN": "1"} if again else {}))
        done = subprocess.run([self.program, "ask", f"{self.place}/conf", f"{self.place}/hosts", *names], env=env,
                              stdout=subprocess.PIPE, timeout=600, check=True)
        *lines, left = [json.loads(line) for line in done.stdout.splitlines()]
        assert left == {"leaked": 0, "alarms": 0}, left
        assert len(lines) == len(names) * (2 if again else 1), lines
        assert all(line["calls"] == 1 for line in lines), lines
        return [{**line, "ms": line["ms"] / self.slower} for line in lines]

    def run(self, names, again=False, **how):
        """The answers by name; a list of two when asked again."""
        found = {}
        for line in self.lines(names, again=again, **how):
            found.setdefault(line["name"], []).append(line)
        return found if again else {name: each[0] for name, each in found.items()}

    def ask(self, name, **how):
        return self.run([name], **how)[name]


BOTH = (["192.0.2.1"], ["2001:db8::1"])
TWO = f"nameserver 127.0.0.1\nnameserver {SECOND}\noptions timeout:1 attempts:1\n"


def ips(line):
    return line["v4"]["ips"], line["v6"]["ips"]


def is_good(line):
    assert line["code"] == dns.NOERROR and ips(line) == BOTH, line


@test
def both_families_are_asked_for_at_once_with_edns(world):
    is_good(world.ask("good.test"))
    assert sorted(a["type"] for a in world.one.asked) == [dns.A, dns.AAAA]
    assert all(a["edns"] and a["by"] == "udp" for a in world.one.asked)


@test
def one_family_alone_is_an_answer(world):
    assert ips(world.ask("four.test")) == (BOTH[0], [])
    assert ips(world.ask("six.test")) == ([], BOTH[1])


@test
def a_name_that_is_not_there_and_one_without_an_address_differ(world):
    assert world.ask("none.test")["code"] == dns.NXDOMAIN
    assert world.ask("empty.test")["code"] == dns.NOERROR


@test
def nxdomain_for_one_family_does_not_hide_the_address_of_the_other(world):
    line = world.ask("liar.test")
    assert line["code"] == dns.NOERROR and ips(line) == (BOTH[0], []), line
    assert line["v6"]["code"] == dns.NOERROR, line


@test
def a_chain_is_followed_and_its_smallest_ttl_counts(world):
    line = world.ask("chain.test")
    assert line["v4"]["chain"] == ["b.test", "c.test"] and line["v4"]["ttl"] == 20, line
    assert len(line["v4"]["ips"]) == len(line["v6"]["ips"]) == 2, line


@test
def a_chain_that_is_a_loop_is_a_failure(world):
    assert world.ask("loop.test")["code"] == dns.SERVFAIL


@test
def addresses_of_another_name_are_not_taken(world):
    line = world.ask("elsewhere.test")
    assert line["code"] == dns.NOERROR and ips(line) == ([], []), line


@test
def what_is_cut_is_asked_by_tcp(world):
    line = world.ask("cut.test")
    assert len(line["v4"]["ips"]) == len(line["v6"]["ips"]) == 3, line
    assert [a["by"] for a in world.one.asked].count("tcp") == 2


@test
def a_datagram_that_is_larger_than_asked_for_is_asked_by_tcp(world):
    assert len(world.ask("oversized.test")["v4"]["ips"]) == 3


@test
def use_vc_asks_by_tcp_alone(world):
    line = world.ask("good.test", conf="nameserver 127.0.0.1\noptions use-vc\n")
    assert len(line["v4"]["ips"]) == 3, line
    assert {a["by"] for a in world.one.asked} == {"tcp"}


@test
def bad_answers_by_tcp_are_failures_in_time(world):
    names = [f"{act}.test" for act in ("cutclosed", "cutendless", "cuttrickle", "cutagain", "cutempty", "cutother")]
    for name, line in world.run(names).items():
        assert line["code"] == dns.SERVFAIL and line["ms"] < 1800, line
        assert world.one.times(name, by="tcp"), name


@test
def a_server_that_fails_or_refuses_is_followed_by_the_next_at_once(world):
    for name, line in world.run(["servfail.test", "refused.test", "broken.test"], conf=TWO).items():
        is_good(line)
        assert line["ms"] < 500, line
        assert world.one.times(name) and world.two.times(name)


@test
def a_port_where_nobody_listens_is_followed_by_the_next_at_once(world):
    line = world.ask("good.test", conf=f"nameserver 127.0.0.9\nnameserver {SECOND}\n")
    is_good(line)
    assert line["ms"] < 500, line


@test
def an_address_without_a_route_is_followed_by_the_next_at_once(world):
    line = world.ask("good.test", conf=f"nameserver 203.0.113.1\nnameserver 2001:db8::1\nnameserver {SECOND}\n")
    is_good(line)
    assert line["ms"] < 500, line


@test
def a_silent_server_is_followed_by_the_next_after_the_timeout(world):
    line = world.ask("silent.test", conf=TWO)
    is_good(line)
    assert 900 <= line["ms"] < 1800, line


@test
def a_server_that_was_silent_is_not_asked_first_the_next_time(world):
    found = world.run(["silent1.test", "shortlived.test"], conf=TWO, again=True)
    assert found["silent1.test"][0]["ms"] >= 900, found
    first = [a for a in world.one.asked if a["name"] == "shortlived.test"]
    assert len(first) == 2, world.one.asked  # both families, the first time alone
    assert len(world.two.times("shortlived.test")) == 2, world.two.asked


@test
def attempts_and_timeout_of_the_options_count(world):
    conf = f"nameserver 127.0.0.1\nnameserver {SECOND}\noptions attempts:2 timeout:1\n"
    line = world.ask("dead.test", conf=conf)
    assert line["code"] == dns.SERVFAIL and 3800 <= line["ms"] < 5500, line
    assert len(world.one.times("dead.test")) == len(world.two.times("dead.test")) == 4


@test
def failures_of_all_servers_are_a_failure(world):
    line = world.ask("allfail.test", conf="nameserver 127.0.0.1\nnameserver %s\n" % SECOND)
    assert line["code"] == dns.SERVFAIL and line["ms"] < 500, line
    assert len(world.one.times("allfail.test", type=dns.A)) == 2


@test
def an_address_does_not_wait_for_the_other_family_for_ever(world):
    conf = f"nameserver 127.0.0.1\nnameserver {SECOND}\nnameserver {THIRD}\noptions timeout:1 attempts:5\n"
    line = world.ask("sixsilent.test", conf=conf)
    assert ips(line) == (BOTH[0], []) and line["code"] == line["v6"]["code"] == dns.NOERROR, line
    assert 900 <= line["ms"] < 1800 and line["v4"]["ttl"] <= 5, line
    line = world.ask("sixfails.test", conf=conf)
    assert ips(line) == (BOTH[0], []) and line["ms"] < 500, line


@test
def nothing_is_not_concluded_from_silence(world):
    found = world.run(["noneandsilence.test", "emptyandsilence.test"])
    assert found["noneandsilence.test"]["code"] == dns.NXDOMAIN, found
    assert found["emptyandsilence.test"]["code"] == dns.SERVFAIL, found


@test
def who_has_no_address_yet_waits_for_the_other_family(world):
    line = world.ask("sixslow.test", conf=TWO)
    assert ips(line) == ([], BOTH[1]) and line["ms"] >= 900, line


@test
def an_answer_that_comes_late_is_nobodys(world):
    line = world.ask("late.test", conf=TWO, again=True)
    is_good(line[0])
    is_good(line[1])


@test
def repeated_wrong_and_garbled_answers_do_not_disturb(world):
    acts = ("twice", "wrongid", "wrongtype", "wrongname", "query", "garbage", "upper")
    for line in world.run([f"{act}.test" for act in acts]).values():
        is_good(line)


@test
def a_server_without_edns_is_asked_without(world):
    line = world.ask("noedns.test", again=True)
    is_good(line[0])
    assert [a["edns"] for a in world.one.asked if a["type"] == dns.A][:2] == [True, False], world.one.asked


@test
def ids_and_ports_are_random(world):
    names = [f"good{i}.test" for i in range(100)]
    for line in world.run(names).values():
        is_good(line)
    assert len(world.one.asked) == 200
    ports, ids = [a["port"] for a in world.one.asked], [a["id"] for a in world.one.asked]
    assert len(set(ids)) > 190 and len(set(ports)) > 150, (len(set(ids)), len(set(ports)))
    for numbers in (ids, ports):
        near = sum(abs(a - b) < 10 for a, b in zip(numbers, numbers[1:]))
        assert near < 20, numbers


@test
def one_name_that_many_ask_for_is_asked_about_once(world):
    names = ["good.test"] * 900
    found = world.lines(names)
    assert len(found) == 900 and all(line["code"] == dns.NOERROR for line in found), len(found)
    assert len(world.one.asked) == 2, len(world.one.asked)


@test
def what_is_too_much_at_once_fails_and_the_rest_is_answered(world):
    # A burst of 512 datagrams is more than the server's socket holds: some are asked again.
    lines = world.lines([f"good{i}.test" for i in range(400)],
                             "nameserver 127.0.0.1\noptions timeout:1 attempts:4\n")
    codes = [line["code"] for line in lines]
    assert codes.count(dns.NOERROR) == 256 and codes.count(dns.SERVFAIL) == 144, codes
    lines = world.lines(["good.test"] * 1100)
    codes = [line["code"] for line in lines]
    assert codes.count(dns.NOERROR) == 1024 and codes.count(dns.SERVFAIL) == 76, len(codes)


@test
def many_answers_by_tcp_at_once_are_read_or_fail(world):
    lines = world.lines([f"cut{i}.test" for i in range(100)])
    codes = [line["code"] for line in lines]
    assert len(codes) == 100 and set(codes) <= {dns.NOERROR, dns.SERVFAIL} and dns.NOERROR in codes, codes


@test
def places_are_free_again_after_their_answer(world):
    # Half of each table and more, twice: waiters and queries, then streams.
    lines = world.lines([f"shortlived{i}.test" for i in range(200)] * 3, "nameserver 127.0.0.1\n", again=True)
    assert {line["code"] for line in lines} == {dns.NOERROR}, lines
    world.lines([f"cutclosed{i}.test" for i in range(16)], again=True)
    assert len([a for a in world.one.asked if a["by"] == "tcp"]) == 64, len(world.one.asked)


@test
def answers_are_kept_for_their_ttl(world):
    found = world.run(["good.test", "shortlived.test", "longlived.test", "none.test"], again=True)
    assert len(world.one.times("good.test")) == 2 and len(world.one.times("shortlived.test")) == 4
    assert len(world.one.times("none.test")) == 2
    ttls = {name: [line["v4"]["ttl"] for line in lines] for name, lines in found.items()}
    assert ttls["good.test"][0] == 60 and 1 <= ttls["good.test"][1] <= 59, ttls
    assert ttls["shortlived.test"] == [1, 1] and ttls["longlived.test"][0] == 300, ttls


@test
def the_hosts_file_comes_first(world):
    hosts = ("# 10.0.0.9 good.test\n10.0.0.1\tgood.test Alias.Test. # not.test\n10.0.0.2 good.test\n"
             "fd00::1 good.test\nnonsense good.test\nfe80::1%lo good.test\n10.0.0.3 bad..name other.test\n")
    found = world.run(["good.test", "alias.test", "other.test", "localhost", "a.localhost"], hosts=hosts)
    assert ips(found["good.test"]) == (["10.0.0.1", "10.0.0.2"], ["fd00::1"]), found["good.test"]
    assert ips(found["alias.test"]) == (["10.0.0.1"], []) and ips(found["other.test"]) == (["10.0.0.3"], [])
    for name in ("localhost", "a.localhost"):
        assert ips(found[name]) == (["127.0.0.1"], ["::1"]), found[name]
    assert not world.one.asked


@test
def servers_are_found_as_resolv_conf_names_them(world):
    rows = [
        ("", world.one),  # this host
        ("# nameserver 127.0.0.2\n; nameserver 127.0.0.2\n nameserver 127.0.0.2\nnameserver\n", world.one),
        ("nameserver ::1\n", world.six),
        ("nameserver fe80::1%lo\n", world.local),
        ("nameserver fe80::1%1\n", world.local),
        ("nameserver fe80::1%nowhere\nnameserver 127.0.0.2\n", world.two),
        (f"nameserver\t{SECOND} # here\nsearch x.test\noptions ndots:5 debug\n", world.two),
        ("nameserver 127.0.0.9\nnameserver 127.0.0.8\nnameserver 127.0.0.7\nnameserver 127.0.0.1\n", None),
    ]
    for conf, server in rows:
        line = world.ask("good.test", conf=conf)
        assert (line["code"] == dns.NOERROR) == (server is not None), (conf, line)
        for other in world.servers():
            assert bool(other.asked) == (other is server), (conf, other.host)


@test
def rotate_takes_turns(world):
    names = [f"good{i}.test" for i in range(30)]
    world.run(names, conf=f"nameserver 127.0.0.1\nnameserver {SECOND}\nnameserver {THIRD}\noptions rotate\n")
    counts = [len(server.asked) for server in (world.one, world.two, world.three)]
    assert sum(counts) == 60 and min(counts) == 20, counts


def holds(function, world, slower):
    world.slower = slower
    try:
        function(world)
        return True
    except (AssertionError, subprocess.SubprocessError, json.JSONDecodeError, KeyError) as error:
        print(f"# times * {slower}: {type(error).__name__}: {str(error)[:600]}", flush=True)
        return False


def main():
    program = os.path.abspath(sys.argv[1])
    if "--inside" not in sys.argv:
        inside = ["unshare", "--user", "--map-root-user", "--net"]
        able = subprocess.run([*inside, "ip", "link", "set", "lo", "up"], stderr=subprocess.PIPE, text=True, check=False)
        if able.returncode == 0:
            return subprocess.run([*inside, sys.executable, HERE, program, "--inside", *sys.argv[2:]], check=False).returncode
        for number, function in enumerate(TESTS, 1):
            print(f"ok {number} - {function.__name__} # SKIP no network namespace: {able.stderr.strip()}")
        print(f"1..{len(TESTS)}")
        return 0
    subprocess.run("ip link set lo up && ip addr add fe80::1/64 dev lo nodad", shell=True, check=True)
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        world = World(program, place)
        chosen = [t for t in TESTS if len(sys.argv) < 4 or t.__name__ in sys.argv[3:]]
        for number, function in enumerate(chosen, 1):
            good = any(holds(function, world, slower) for slower in SLOWER)
            bad += not good
            print(f"{'ok' if good else 'not ok'} {number} - {function.__name__}", flush=True)
        print(f"1..{len(chosen)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
