#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the gate's reading of whole connections with a model of it that shares no code.

    conversation_against_model.py SNIFF [SEED [COUNT]]

The model is written from the table in src/net/conversation.h and the list in src/net/http.h, with regular
expressions over the whole of what was said; the gate reads as it comes, and sniff reads each case byte
by byte as well.  A case is a connection: the client's words and the server's answer to the first of
them.  They must agree on every host that is named and where, on what ends it, and on the byte from
which nothing is read any more.  Prints TAP.
"""

import base64
import hashlib
import random
import re
import struct
import subprocess
import sys

DEFAULT_SEED = 20261116
DEFAULT_COUNT = 8000

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
HOSTS = [b"a.test", b"b.test:8080", b"A.test.", b"c-d.test:80"]


def digest(key):
    return base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())


# ---- the model ----

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
HEAD = re.compile(rb"(?:\r\n){0,4}(" + TOKEN + rb") ([!-\x22\x24-~\x80-\xff]+) HTTP/1\.([01])\r\n((?:" + TOKEN +
                  rb":[\t -~\x80-\xff]*\r\n)*)\r\n")
LABEL = rb"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
OTHERS = (b"SSH-2.0-x\r\n", b"EHLO me\r\n", b"\0\0\0\x08", b"*1\r\n$4\r\nPING\r\n")
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t -~\x80-\xff]*)?\r\n")
TRAILERS = re.compile(rb"(?:" + TOKEN + rb":[\t -~\x80-\xff]*\r\n)*\r\n")
BLANKS = rb" \t\v\f\r\x1c-\x1f\x85\xa0"  # to str.split(), of Latin-1
GAP, SPACE, WORD = rb"[" + BLANKS + rb"]", rb"[\n" + BLANKS + rb"]", rb"[^\n" + BLANKS + rb"]"
THIRD = re.compile(SPACE + rb"*" + WORD + rb"+" + GAP + rb"+" + WORD + rb"+" + GAP + rb"+http/", re.I)
SIMPLE = re.compile(SPACE + rb"*get" + GAP + rb"+/", re.I)
ANYWHERE = re.compile(WORD + GAP + rb"+http/|(?:^|\n)" + GAP + rb"*get" + GAP + rb"+" + WORD, re.I)
HELLO = bytes.fromhex("160301003e0100003a0303" + "72" * 32 + "000002130101" "00" "000f" "0000000b0009000006") + b"a.test"


class Refused(Exception):
    """Two servers could read it in two ways."""


class Address(Exception):
    """A host that ends in a number: tests/unit/test_hostname.c has those."""


class Unfinished(Exception):
    """There is more to come."""


KNOWN = (b"host", b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"sec-websocket-key", b"sec-websocket-version")


def fields_of(text):
    pairs = [line.partition(b":") for line in text.split(b"\r\n") if line]
    return [(name.lower(), value.strip(b" \t")) for name, _, value in pairs]


def one(fields, name):
    values = [value for key, value in fields if key == name]
    if len(values) > 1:
        raise Refused
    return values[0] if values else None


def host_of(text):
    found = re.fullmatch(rb"(" + LABEL + rb"(?:\." + LABEL + rb")*)\.?(?::([1-9][0-9]{0,4}))?", text)
    if not found:
        raise Refused
    if re.fullmatch(rb"\d+|0x[0-9a-f]*", found[1].lower().rpartition(b".")[2]):
        raise Address
    return found[1].lower().decode(), int(found[2] or 0)


class Request:
    """One head."""

    def __init__(self, found):
        self.method, target, minor, text = found.groups()
        fields = fields_of(text)
        for name, value in fields:
            if b"_" in name and name.replace(b"_", b"-") in KNOWN:
                raise Refused
        if self.method.upper() in (b"TRACE", b"TRACK", b"PURGE", b"CONNECT", b"PRI") or len(self.method) > 32:
            raise Refused
        said = one(fields, b"host")
        if said is None:
            raise Refused
        self.host = host_of(said)
        if target[:7].lower() == b"http://":
            named = host_of(re.match(rb"[^/?]*", target[7:])[0])
            if (named[0], named[1] or 80) != (self.host[0], self.host[1] or 80):
                raise Refused
            self.host = named
        elif not target.startswith(b"/") and (target, self.method) != (b"*", b"OPTIONS"):
            raise Refused
        length, coding = one(fields, b"content-length"), one(fields, b"transfer-encoding")
        if (length is not None and not re.fullmatch(rb"0|[1-9][0-9]{0,17}", length)) or \
                (coding is not None and (coding.lower() != b"chunked" or length is not None or minor == b"0")):
            raise Refused
        options = {option.strip(b" \t").lower() for key, value in fields if key == b"connection" for option in value.split(b",")}
        options.discard(b"")
        if not all(re.fullmatch(TOKEN, option) for option in options):
            raise Refused
        if options & {b"host", b"content-length", b"transfer-encoding"}:
            raise Refused
        self.length, self.chunked = int(length or 0), coding is not None
        asked = [value for key, value in fields if key == b"upgrade"]
        keys = [value for key, value in fields if key == b"sec-websocket-key"]
        versions = [value for key, value in fields if key == b"sec-websocket-version"]
        self.switches = bool(asked) and not self.length and not self.chunked
        self.key = keys[0] if (self.method == b"GET" and minor == b"1" and [a.lower() for a in asked] == [b"websocket"] and
                               b"upgrade" in options and len(keys) == 1 and len(keys[0]) == 24 and versions[-1:] == [b"13"]) else None

    def body(self, rest):
        """How long it is."""
        if not self.chunked:
            size, whole = min(self.length, len(rest)), self.length <= len(rest)
        else:
            size, whole = chunks(rest)
        raw = rest[:size]
        if self.method in (b"POST", b"PUT", b"PATCH"):
            line = re.match(SPACE + rb"*[^\n]*", raw)[0]
            if THIRD.match(line) or SIMPLE.match(line):
                raise Refused
        elif ANYWHERE.search(raw):
            raise Refused
        if not whole:
            raise Unfinished(whole)
        return size


def chunks(rest):
    """(bytes that are there, whether that is all)."""
    at = 0
    while True:
        found = CHUNK.match(rest, at)
        if not found:
            if re.fullmatch(rb"(?:[0-9A-Fa-f]{1,15}(?:;[\t -~\x80-\xff]*)?\r?)?", rest[at:]):
                return len(rest), False
            raise Refused
        size, at = int(found[1], 16), found.end()
        if size == 0:
            ends = TRAILERS.match(rest, at)
            if ends:
                return ends.end(), True
            if b"\r\n\r\n" in rest[at - 2:]:
                raise Refused
            return len(rest), None
        if len(rest) < at + size + 2:
            if not b"\r\n".startswith(rest[at + size:]):
                raise Refused
            return len(rest), False
        if rest[at + size:at + size + 2] != b"\r\n":
            raise Refused
        at += size + 2


def switches(request, server):
    """True, or False: nothing was switched."""
    while True:
        found = re.match(rb"HTTP/\d\.\d (\d\d\d)(?:[ ][^\n]*)?\r?\n", server)
        if not found or not found[1].startswith(b"1"):
            return False
        head = re.match(rb"HTTP/1\.[01] \d\d\d(?: [^\r\n]*)?\r\n((?:" + TOKEN + rb":[\t -~\x80-\xff]*\r\n)*)\r\n", server)
        if not head:
            return False
        accepts = [value for name, value in fields_of(head[1]) if name == b"sec-websocket-accept"]
        if len(accepts) > 1:
            return False
        if found[1] == b"101":
            if request.key is None or accepts != [digest(request.key)]:
                raise Refused
            return True
        server = server[head.end():]


def frames(rest):
    """How it ends behind the handshake of a WebSocket: each frame says that it is masked, and how long it is."""
    while rest:
        if len(rest) < 2:
            return "MORE"
        if rest[1] < 128:
            raise Refused
        form = {126: ">H", 127: ">Q"}.get(rest[1] - 128)
        wide = struct.calcsize(form) if form else 0
        if len(rest) < 2 + wide:
            return "MORE"
        size = struct.unpack_from(form, rest, 2)[0] if form else rest[1] - 128
        if size >= 1 << 63:
            raise Refused
        if len(rest) < 2 + wide + 4 + size:
            return "MORE"
        rest = rest[2 + wide + 4 + size:]
    return "SOCKET"


METHODS = rb"(?:get|head|post|put|delete|patch|options|trace|connect)"


def is_http(client):
    """A version in the first line, or a method, or a word like one, with what HTTP asks for."""
    whole = re.match(SPACE + rb"*([^\n]*)", client)[1]
    line = re.match(rb"[\t\v\f\r\x1c-\x1f -~\x80-\xff]*", whole)[0]  # to the first control character
    return bool(re.search(GAP + rb"http/", line, re.I) or
                re.match(rb"[A-Za-z]" + TOKEN[:-1] + rb"*" + GAP + rb".*" + GAP + rb"http/", whole, re.I | re.S) or
                re.match(METHODS + GAP + rb"+(?:/|http:)", line, re.I) or
                re.match(METHODS + GAP + rb"+\*", line, re.I) and not re.match(rb"PRI", line) or
                re.match(rb"[A-Z][A-Z_-]*" + GAP + rb"+(?:/|[A-Za-z]+://)", line))


def answered(rest, server):
    """How it ends behind a hello."""
    if re.match(rb"[\x15\x16]\x03", server):
        return f"OPAQUE {len(HELLO)}"
    if server:
        raise Refused
    return "MORE" if rest else "END"


def model(client, server, strict):
    """(the hosts that are named, the last word); None for a last word on which two may differ."""
    at, named = 0, []
    try:
        if client.startswith(HELLO):
            named.append("0 a.test 0")
            return named, answered(client[len(HELLO):], server)
        if client.startswith(OTHERS):
            if strict:
                raise Refused
            return named, "OPAQUE 0"
        while at < len(client):
            found = HEAD.match(client, at)
            if not found:
                # Refused now or with the rest of it; or at the beginning it is no request at all.
                return named, "ANY" if at == 0 and not strict and not is_http(client) else None
            request = Request(found)
            named.append(f"{at} {request.host[0]} {request.host[1]}")
            at = found.end()
            if request.switches and len(named) == 1:
                if switches(request, server):
                    return named, frames(client[at:])
                continue
            at += request.body(client[at:])
        return named, "END"
    except Refused:
        return named, "BAD"
    except Address:
        return None, "ANY"
    except Unfinished as how:
        return named, "MORE" if how.args[0] is False else None  # trailers that may be broken already


# ---- connections ----

FIELDS = [b"Accept: */*", b"X: HTTP/1.1", b"Connection: keep-alive", b"Expect: 100-continue", b"TE: trailers"]
BODIES = [b"", b"hello", b"GET / HTTP/1.1\r\nHost: c.test\r\n\r\n", b"x\r\nGET / HTTP/1.1\r\n", b"get well soon", b"GET /",
          b"\r\n\r\nPUT  /\tHTTP/1.0\r\n", b'{"a": "GET / HTTP/1.1"}', b"HTTP/1.1 101 x\r\n\r\n", b"a b http/",
          b"GET\x85/\xa0HTTP/1.1\r\nHost: c.test\r\n\r\n", b"FROB\x1c/\x1fHTTP/1.1\r\n", b"caf\xc3\xa0 / http"]
BARE = [b"PROPFIND /", b"POST *", b"options *", b"NOTIFY http://c.test/", b"DESCRIBE rtsp://c.test/ RTSP/1.0", b"SOURCE / ICE/1.0", b"X-Y /",
        b"GET x", b"post http:x", b"TRACE\t/"]
UPGRADE = [b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: " + KEY]
FRAMES = [b"\x81\x85abcdhello", b"\x82\x80abcd", b"\x88\x82abcd\x03\xe8", b"\x82\xfe\0\x7eabcd" + bytes(126), b"\x02\xff" + bytes(7) + b"\x03abcdxyz",
          b"\x81\x05hello", b"GET / HTTP/1.1\r\n", b"\x82\xff" + b"\xff" * 8, b"\x82", b"\x82\xff\0", b"\x82\xa6" + bytes(4) + b"GET / HTTP/1.1\r\nHost: c.test\r\n\r\nabcdef"]
TRICKS = [b"Host: c.test\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Upgrade: h2c\r\n", b"\r\n", b"\n", b" ",
          b"\0", b"0\r\n\r\n", b";x / HTTP/1.1", b"http://c.test/", b"GET / HTTP/1.1\r\nHost: c.test\r\n\r\n", b" HTTP/1.1", b"_", b"\x85", b"\x1d", b"\x01"]


class Maker:
    """Writes connections."""

    def __init__(self, rng):
        self.rng = rng

    def chunked(self, body):
        out = b""
        while body:
            size = self.rng.randrange(1, len(body) + 1)
            out += b"%x" % size + self.rng.choice([b"", b"", b";a=b", b";a / HTTP/1.1"]) + b"\r\n" + body[:size] + b"\r\n"
            body = body[size:]
        return out + b"0\r\n" + self.rng.choice([b"", b"X: y\r\n"]) + b"\r\n"

    def request(self):
        rng, host = self.rng, self.rng.choice(HOSTS)
        method = rng.choice([b"GET", b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"FROB"])
        version = rng.choice([b"1.1", b"1.1", b"1.1", b"1.0"])
        target = rng.choice([b"/", b"/a?b=c", b"http://" + host + b"/p", b"http://e.test/"][:4 if rng.random() < 0.1 else 3])
        lines = rng.sample(FIELDS, rng.randrange(3)) + ([b"Host: " + host] if rng.random() < 0.97 else [])
        tail = b""
        if rng.random() < 0.3:
            lines += [line for line in UPGRADE if rng.random() < 0.95]
        if rng.random() < 0.4:
            body = rng.choice(BODIES)
            if rng.random() < 0.5:
                lines.append(b"Transfer-Encoding: chunked")
                tail = self.chunked(body)
            else:
                lines.append(b"Content-Length: %d" % len(body))
                tail = body
        rng.shuffle(lines)
        return b"\r\n" * rng.choice([0, 0, 0, 1, 3]) + b"\r\n".join([method + b" " + target + b" HTTP/" + version] + lines) + b"\r\n\r\n" + tail

    def client(self):
        if self.rng.random() < 0.03:
            return self.rng.choice(OTHERS) + self.request()
        if self.rng.random() < 0.03:
            return self.rng.choice(BARE) + b"\r\nHost: c.test\r\n\r\n"
        if self.rng.random() < 0.05:
            return HELLO + self.rng.choice([b"", self.request()])
        if self.rng.random() < 0.1:
            return b"\r\n".join([b"GET / HTTP/1.1", b"Host: a.test", *UPGRADE, b"", b""]) + b"".join(
                self.rng.choices(FRAMES, [9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 9], k=self.rng.randrange(6)))
        out = b"".join(self.request() for _ in range(self.rng.choice([1, 2, 3])))
        if self.rng.random() < 0.3:
            at = self.rng.randrange(len(out) + 1)
            if self.rng.random() < 0.6:
                at = out.find(b"\n", at) + 1
            out = out[:at] + self.rng.choice(TRICKS) + out[at + self.rng.choice([0, 0, 1]):]
        return out

    def server(self):
        rng = self.rng
        early = rng.choice([b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\n", b"HTTP/1.1 100 x\n\n"])
        accept = rng.choice([b"Sec-WebSocket-Accept: " + digest(KEY) + b"\r\n"] * 4 + [b"", b"Sec-WebSocket-Accept: AAAA\r\n"])
        final = rng.choice([b"HTTP/1.1 101 Switching Protocols\r\n" + accept + b"\r\n"] * 4 +
                           [b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x\r\n\r\n", b"HTTP/1.1 426 No\r\n\r\n", b"", b"garbage"])
        return early + final if rng.random() < 0.8 else rng.choice([b"\x16\x03\x03", b"\x15\x03", b"\x16", b"\x16\x02", b""])


def gate(program, cases):
    blob = b""
    for client, server, strict in cases:
        case = bytes([strict]) + struct.pack(">I", len(server)) + server + client
        blob += struct.pack(">I", len(case)) + case
    said = subprocess.run([program, "talk"], input=blob, stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in said.splitlines():
        *named, last = line.split("; ")
        yield named, last.strip()


def differ(ours, theirs):
    """None, or how."""
    (named, last), (their_named, their_last) = ours, theirs
    if named and named[0].startswith("DIFFERENT") or last.startswith("DIFFERENT"):
        return "byte by byte it is another"
    if their_named is None:
        return None
    if [" ".join(words.split()) for words in named] != their_named:
        return f"named {named}, model {their_named}"
    kind = "BAD" if last.startswith("BAD") else last
    if their_last == "ANY":
        return None
    if their_last is None:
        return None if kind in ("BAD", "MORE") else f"{last}, model: refused or unfinished"
    return None if kind == their_last else f"{last}, model {their_last}"


def main():
    program = sys.argv[1]
    maker = Maker(random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT_SEED))
    count = int(sys.argv[3]) if len(sys.argv) > 3 else DEFAULT_COUNT
    cases = [(maker.client(), maker.server(), maker.rng.random() < 0.5) for _ in range(count)]
    ours = list(gate(program, cases))
    theirs = [model(*case) for case in cases]
    faults = [(case, fault) for case, a, b in zip(cases, ours, theirs) if (fault := differ(a, b))]
    for case, fault in faults[:5]:
        print(f"# {fault}: {case!r}")
    ends = {}
    for _, last in ours:
        word = last.split(" ")[0]
        ends[word] = ends.get(word, 0) + 1
    print(f"# {sum(len(named) for named, _ in ours)} hosts named; {ends}")
    print(f"{'not ok' if faults or len(ours) != len(cases) else 'ok'} 1 - the gate and the model read the same")
    seen = all(ends.get(word, 0) > count // 100 for word in ("END", "BAD", "SOCKET", "OPAQUE"))
    print(f"{'ok' if seen else 'not ok'} 2 - every kind of end was seen\n1..2")
    return 1 if faults or not seen or len(ours) != len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
