# SPDX-License-Identifier: Apache-2.0
"""The lab's name server: the world's names, and names whose first label says how to answer.

    to-10-9-0-5.X.dns.test        that address
    six-fd000ec2…254.X.dns.test   that address, 32 digits
    mixed.X.dns.test              one public address and one of each other kind
    then-A-B-C-D.X.dns.test       allowed.test's address when first asked, then A.B.C.D; no time to live
    slow, silent, nx, servfail, empty, cut, chain, other, garbage   as they are called

Every question is a line of the log.
"""
import ipaddress
import struct
import threading
import time

import world
from origins import Stream

A, CNAME, AAAA = 1, 5, 28
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
TTL = 60


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode("latin-1") for label in name.split(".") if label) + b"\0"


def decode(message, at):
    """(name, where it ends) of a question, in which nobody needs compression."""
    labels = []
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode("latin-1"))
        at += 1 + message[at]
    return ".".join(labels), at + 1


def record(name, kind, data, ttl):
    return encode(name) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def packed(text):
    return ipaddress.ip_address(text).packed


class Names:
    """Answers by the tables of world.py."""

    def __init__(self, log):
        self.log, self.lock, self.asked = log, threading.Lock(), set()

    def first_time(self, name):
        with self.lock:
            new = name not in self.asked
            self.asked.add(name)
            return new

    # -- what is known --

    def find(self, name, kind, by):
        """(code, [(owner, type, data)], time to live)."""
        chain, seen = [], set()
        while name in world.ALIASES and name not in seen:
            seen.add(name)
            chain.append((name, CNAME, encode(world.ALIASES[name])))
            name = world.ALIASES[name]
        if name.endswith(".dns.test"):
            code, addresses, ttl = self.scripted(name, by)
        else:
            code, addresses, ttl = self.plain(name)
        wanted = [packed(text) for text in addresses if (":" in text) == (kind == AAAA)]
        return code, chain + [(name, kind, data) for data in wanted if kind in (A, AAAA)], ttl

    @staticmethod
    def plain(name):
        parts = name.split(".")
        for number in range(len(parts)):
            found = world.ADDRESSES.get(name if number == 0 else "*." + ".".join(parts[number:]))
            if found:
                return NOERROR, [*found[0], *found[1]], TTL
        return NXDOMAIN, [], TTL

    def scripted(self, name, by):
        word = name.split(".")[0]
        first, _, rest = word.partition("-")
        if first == "to":
            return NOERROR, [rest.replace("-", ".")], TTL
        if first == "six":
            return NOERROR, [str(ipaddress.IPv6Address(int(rest, 16)))], TTL
        if first == "then":
            return NOERROR, ["11.0.0.10" if self.first_time(name) else rest.replace("-", ".")], 0
        if first == "mixed":
            return NOERROR, ["10.9.0.5", "11.0.0.10", "127.0.0.1", "::1", "fd00:ec2::254", "::ffff:127.0.0.1"], TTL
        if first == "slow":
            time.sleep(0.5)
        if first == "cut" and by == "tcp":
            return NOERROR, [f"11.0.0.{number}" for number in range(100, 180)] + ["11.0.0.10"], TTL
        codes = {"nx": NXDOMAIN, "servfail": SERVFAIL}
        addresses = [] if first in ("nx", "servfail", "empty") else ["11.0.0.10", "2a00:11::10"]
        return codes.get(first, NOERROR), addresses, TTL

    # -- messages --

    def answer(self, message, where, by):
        """The response, or None for silence."""
        ident, _, count = struct.unpack(">HHH", message[:6])
        name, end = decode(message, 12) if count else ("", 12)
        kind = struct.unpack(">H", message[end:end + 2])[0]
        self.log.say("dns", where, by=by, name=name, type=kind)
        name = name.lower()
        word = name.split(".")[0] if name.endswith(".dns.test") else ""
        if word == "silent":
            return None
        if word == "garbage":
            return message[:2] + b"\xff" * 40
        code, records, ttl = self.find(name, kind, by)
        cut = word == "cut" and by == "udp"
        question = message[12:end + 4] if word != "other" else encode("evil.test") + message[end:end + 4]
        flags = 0x8180 | code | (0x0200 if cut else 0)
        if word == "chain":
            records = [(name if n == 0 else f"n{n}.dns.test", CNAME, encode(f"n{n + 1}.dns.test")) for n in range(40)]
        head = struct.pack(">HHHHHH", ident, flags, 1, 0 if cut else len(records), 0, 0)
        return head + question + (b"" if cut else b"".join(record(*item, ttl) for item in records))

    def by_udp(self, sock, data, peer, where):
        try:
            reply = self.answer(data, where, "udp")
        except (IndexError, struct.error):
            self.log.say("dns", where, by="udp", raw=repr(data[:200]))
            return
        if reply:
            sock.sendto(reply, peer)

    def by_tcp(self, peer, where):
        stream = Stream(peer)
        while True:
            size = stream.take(2)
            if len(size) < 2:
                return
            reply = self.answer(stream.take(struct.unpack(">H", size)[0]), where, "tcp")
            if reply:
                peer.sendall(struct.pack(">H", len(reply)) + reply)


def start(origins, log):
    """The host's resolver, and one that nobody was told of: evil.test's."""
    names = Names(log)
    origins.listen(53, names.by_tcp)
    for address in (world.DNS4, world.DNS6, "11.0.0.66", "2a00:11::66"):
        origins.datagrams(address, 53, names.by_udp)
