# SPDX-License-Identifier: Apache-2.0
"""DNS messages a second time, by the RFCs and in Python: what the tests of src/gate compare it with."""
import ipaddress
import struct

A, CNAME, AAAA, OPT = 1, 5, 28, 41
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = range(6)
RESPONSE, CUT = 0x8000, 0x0200

# As src/net/dns.h bounds it.
ADDRESSES, CHAIN, RECORDS = 16, 8, 512


def wire_name(name):
    labels = [part.encode("latin-1") for part in name.split(".")] if name else []
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def question(name, kind, number, flags=0x0100, more=b"", counts=(1, 0, 0, 0)):
    return struct.pack("!6H", number, flags, *counts) + wire_name(name) + struct.pack("!2H", kind, 1) + more


def record(owner, kind, data, ttl=60, klass=1):
    """owner: a name, or bytes as they are to be sent."""
    owner = owner if isinstance(owner, bytes) else wire_name(owner)
    return owner + struct.pack("!2HIH", kind, klass, ttl & 0xffffffff, len(data)) + data


def address(owner, text, ttl=60):
    ip = ipaddress.ip_address(text)
    return record(owner, A if ip.version == 4 else AAAA, ip.packed, ttl)


def cname(owner, target, ttl=60):
    return record(owner, CNAME, target if isinstance(target, bytes) else wire_name(target), ttl)


def answer(query, records, code=NOERROR, flags=0):
    """The response to a query's bytes."""
    number, asked = struct.unpack("!H", query[:2])[0], query[12:question_end(query)]
    return struct.pack("!6H", number, RESPONSE | 0x0180 | flags | code, 1, len(records), 0, 0) + asked + b"".join(records)


def question_end(message):
    at = 12
    while message[at]:
        at += 1 + message[at]
    return at + 5


def asked(query):
    """(name, type) of a query."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    return ".".join(labels), struct.unpack("!H", query[at + 1:at + 3])[0]


# ---- reading, as strictly as the product says it does ----

class Broken(Exception):
    """The message ends too early, or a name is none."""


def read_name(message, at, end=None):
    """(labels in lower case, the place behind it); pointers lead backwards only."""
    end = len(message) if end is None else end
    labels, size, behind, limit, jumps = [], 1, None, at, 0
    while True:
        if at >= end:
            raise Broken
        length = message[at]
        if length < 64:
            if at + 1 + length > end:
                raise Broken
            if length == 0:
                return labels, at + 1 if behind is None else behind
            size += 1 + length
            if size > 255:
                raise Broken
            labels.append(message[at + 1:at + 1 + length].lower())
            at += 1 + length
            continue
        if length < 192 or at + 2 > end:
            raise Broken
        jumps += 1
        behind = at + 2 if behind is None else behind
        at = struct.unpack("!H", message[at:at + 2])[0] & 0x3fff
        if at < 12 or at >= limit or jumps > 127:
            raise Broken
        limit = at


def is_hostname(labels):
    """Letters, digits, '-' inside, '_'; not an address, which ends in a number."""
    allowed = set(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
    if not labels or sum(len(part) + 1 for part in labels) - 1 > 253:
        return False
    for part in labels:
        if not set(part) <= allowed or part.startswith(b"-") or part.endswith(b"-"):
            return False
    last = labels[-1]
    return not (last.isdigit() or (last.startswith(b"0x") and set(last[2:]) <= set(b"0123456789abcdef")))


def read_records(message, at, count):
    found = []
    for _ in range(count):
        owner, at = read_name(message, at)
        if at + 10 > len(message):
            raise Broken
        kind, klass, ttl, length = struct.unpack("!2HIH", message[at:at + 10])
        at += 10
        if at + length > len(message):
            raise Broken
        found.append((owner, kind, klass, 0 if ttl >> 31 else ttl, at, at + length))
        at += length
    return found


def read_section(message, at, name, kind, code):
    """(chain, addresses, ttl) of an answer section."""
    count = struct.unpack("!H", message[6:8])[0]
    if count > RECORDS:
        raise Broken
    records = [r for r in read_records(message, at, count) if r[2] == 1]
    chain, ttls = [], []
    while True:
        step = next((r for r in records if r[0] == name and r[1] == CNAME), None)
        if step is None:
            break
        name, behind = read_name(message, step[4], step[5])
        if behind != step[5] or len(chain) == CHAIN or not is_hostname(name):
            raise Broken
        chain.append(b".".join(name).decode())
        ttls.append(step[3])
    ips = []
    for owner, its, _, ttl, start, end in records if code == NOERROR else []:
        if owner != name or its != kind:
            continue
        if end - start != (4 if kind == A else 16):
            raise Broken
        ip = ipaddress.ip_address(message[start:end])
        if len(ips) < ADDRESSES and getattr(ip, "ipv4_mapped", None) is None:
            ips.append(str(ip))
            ttls.append(ttl)
    return chain, ips, min(ttls, default=0)


def read_answer(message, name, kind, number):
    """What dns_dump prints for the same bytes."""
    if len(message) < 12:
        return None
    its, flags, questions = struct.unpack("!3H", message[:6])
    if its != number or flags & 0xf800 != RESPONSE:
        return None
    code, at = flags & 15, 12
    told = code in (NOERROR, NXDOMAIN)
    wanted = [part.encode() for part in name.split(".")]
    if questions or told:
        try:
            got, at = read_name(message, 12)
        except Broken:
            return None
        if questions != 1 or got != wanted or message[at:at + 4] != struct.pack("!2H", kind, 1):
            return None
        at += 4
    cut = bool(flags & CUT)
    chain, ips, ttl = [], [], 0
    if told and not cut:
        try:
            chain, ips, ttl = read_section(message, at, wanted, kind, code)
        except Broken:
            code = SERVFAIL
    return {"cut": cut, "answer": {"code": code, "ttl": ttl, "chain": chain, "ips": ips}}
