#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the reader of DNS messages in src/gate with a second one, message by message.

    dns_against_python.py DNS_DUMP [SEED [COUNT]]

Random answers, most of them close to right, and mutations of them: both readers must agree on what
is an answer, on the chain, the addresses and the time to live.  Questions likewise, and what is written
back must be an answer to them.  Prints TAP; exit 1 when a test fails.
"""
import json
import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import dns_wire as dns  # noqa: E402  the path has to be set first
from tap import Tap  # noqa: E402

DEFAULT_SEED = 20240229
DEFAULT_COUNT = 12000


class Maker:
    """Writes answers in which the names, the order and the pointers are chance."""

    def __init__(self, rng):
        self.rng = rng

    def label(self):
        return self.rng.choice([b"a", b"b", b"example", b"WWW", b"x-1", b"_srv", b"xn--e1afmkfd", b"l" * 63, b"1", b"a-",
                                b"sp ace", b"d.t", b"nul\0", b"\xff"] + [b"c%d" % i for i in range(8)])

    def labels(self):
        return [self.label() for _ in range(self.rng.choice([1, 2, 2, 3, 3, 4, 9]))]

    def plain(self):
        """A name that a program may ask for."""
        parts = self.rng.choices(["a", "b", "www", "example", "test", "x-1", "xn--e1afmkfd", "l" * 63], k=3)
        return ".".join(parts[:self.rng.choice([1, 2, 3])])

    def put_name(self, out, labels, places):
        """Writes it, often with a pointer to where its end stands already, at times to somewhere else."""
        for i in range(len(labels)):
            rest = b".".join(labels[i:]).lower()
            if rest in places and self.rng.random() < 0.8:
                return out + struct.pack("!H", 0xc000 | places[rest])
            if self.rng.random() < 0.004:
                return out + struct.pack("!H", 0xc000 | self.rng.randrange(len(out) + 40))
            if len(out) < 0x3fff:
                places.setdefault(rest, len(out))
            out += bytes([len(labels[i])]) + labels[i]
        return out + b"\0"

    def cased(self, name):
        return [bytes(c ^ 32 if chr(c).isalpha() and self.rng.random() < 0.2 else c for c in part.encode())
                for part in name.split(".")]

    def chain(self, name):
        names = [self.cased(name)]
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2, 3, 7, 8, 9])):
            names.append(names[0] if self.rng.random() < 0.02 else
                         self.cased(self.plain()) if self.rng.random() < 0.9 else self.labels())
        return names

    def records(self, name, kind):
        """(owner, type, class, target or data)"""
        rng, names = self.rng, self.chain(name)
        found = [(a, dns.CNAME, 1, b) for a, b in zip(names, names[1:])]
        for _ in range(rng.choice([0, 1, 1, 2, 5, 20])):
            its = kind if rng.random() < 0.9 else rng.choice([dns.A, dns.AAAA, dns.OPT, 46, 65])
            size = {dns.A: 4, dns.AAAA: 16}.get(its, rng.randrange(30))
            size = size if rng.random() < 0.98 else rng.randrange(20)
            data = b"\0" * 10 + b"\xff\xff" + rng.randbytes(4) if size == 16 and rng.random() < 0.1 else rng.randbytes(size)
            owner = names[-1] if rng.random() < 0.9 else rng.choice(names + [self.labels()])
            found.append((owner, its, 1 if rng.random() < 0.97 else 3, data))
        if rng.random() < 0.3:
            rng.shuffle(found)
        return found

    def message(self, name, kind, number):
        rng, places = self.rng, {}
        code = rng.choice([0] * 12 + [1, 2, 3, 3, 4, 5, 7])
        flags = 0x8180 | code | (dns.CUT if rng.random() < 0.03 else 0)
        records = self.records(name, kind)
        count = len(records) if rng.random() < 0.97 else rng.choice([0, len(records) + 1, 600])
        out = self.put_name(struct.pack("!6H", number, flags, 1, count, 0, 0), self.cased(name), places)
        out += struct.pack("!2H", kind, 1)
        for owner, its, klass, data in records:
            out = self.put_name(out, owner, places)
            ttl = rng.choice([0, 1, 30, 60, 300, 86400, 1 << 31, 0xffffffff])
            out += struct.pack("!2HI", its, klass, ttl)
            at = len(out)
            out += b"\0\0"
            out = out + data if isinstance(data, bytes) else self.put_name(out, data, places)
            size = len(out) - at - 2 + (rng.choice([-1, 1, 5]) if rng.random() < 0.004 else 0)
            out = out[:at] + struct.pack("!H", size & 0xffff) + out[at + 2:]
        return out + (rng.randbytes(rng.randrange(40)) if rng.random() < 0.05 else b"")

    def asked(self):
        return self.plain(), self.rng.choice([dns.A, dns.AAAA]), self.rng.randrange(65536)


def mutate(rng, data):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del out[at:at + rng.randrange(1, 4)]
        elif kind == 1:
            out[at:at] = rng.randbytes(rng.randrange(1, 4))
        elif kind == 2 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            out[at:at + 2] = struct.pack("!H", 0xc000 | rng.randrange(len(out) + 20))
        else:
            del out[at:]
    return bytes(out)


def dump(program, mode, rows):
    """One answer of the product for each row of (head, bytes)."""
    stream = b"".join(head + b"%d\n" % len(data) + data for head, data in rows)
    done = subprocess.run([program, mode], input=stream, capture_output=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(rows):
        raise SystemExit(f"Bail out! {mode}: exit {done.returncode}, {len(lines)} lines for {len(rows)} messages\n"
                         + done.stderr.decode(errors="replace"))
    return [json.loads(line) for line in lines]


def compare_answers(tap, name, program, cases):
    """Returns how many gave addresses, a failure of what is behind the question, and nothing."""
    heads = [(b"%s %d %d " % (asked[0].encode(), asked[1], asked[2]), data) for asked, data in cases]
    problems, kinds = [], {"addresses": 0, "broken": 0, "none": 0}
    for (asked, data), got in zip(cases, dump(program, "answers", heads)):
        want = dns.read_answer(data, *asked)
        if got != want:
            problems.append(f"{asked} {data.hex()}: {got}, want {want}")
        kinds["none"] += want is None
        kinds["broken"] += want is not None and want["answer"]["code"] == dns.SERVFAIL and data[3] & 15 != dns.SERVFAIL
        kinds["addresses"] += want is not None and want["answer"]["ips"] != []
    tap.test(name, problems)
    return kinds


# ---- questions ----

def read_question(data):
    """What dns_dump prints of a query."""
    out = {"code": -1, "id": 0, "type": 0, "edns": 0, "size": 512, "name": ""}
    if len(data) < 12 or data[2] & 0x80:
        return out
    out["id"], flags, *counts = struct.unpack("!6H", data[:12])
    out["code"] = dns.NOTIMP if flags & 0x7800 else dns.FORMERR
    if flags & 0x7800 or counts[:3] != [1, 0, 0]:
        return out
    try:
        read_sections(data, counts[3], out)
    except dns.Broken:
        pass  # what was read until then stays
    return out


def read_sections(data, additional, out):
    labels, at = dns.read_name(data, 12)
    if at + 4 > len(data):
        raise dns.Broken
    out["type"], klass = struct.unpack("!2H", data[at:at + 4])
    out["name"] = b".".join(labels).decode("latin-1") if dns.is_hostname(labels) else ""
    at += 4
    version = 0
    for _ in range(additional):
        owner, kind, size, _, start, at = dns.read_records(data, at, 1)[0]
        if kind != dns.OPT:
            continue
        if out["edns"] or owner:
            raise dns.Broken
        out["edns"], out["size"], version = 1, max(512, min(1232, size)), data[start - 5]
    if at == len(data):
        out["code"] = 16 if version else dns.REFUSED if klass != 1 else dns.NOERROR


def make_question(rng, maker):
    name = maker.plain() if rng.random() < 0.8 else b".".join(maker.labels()).decode("latin-1")
    if any(len(part) > 63 for part in name.split(".")):
        name = "a"
    more, count = b"", 0
    if rng.random() < 0.6:
        more, count = dns.record("", dns.OPT, rng.randbytes(rng.choice([0, 0, 12])), ttl=rng.choice([0, 0, 0x8000, 1 << 16]),
                                 klass=rng.choice([0, 512, 1232, 4096, 65535])), 1
    counts = (1, 0, 0, count) if rng.random() < 0.97 else (rng.choice([0, 2]), rng.choice([0, 1]), 0, count + 1)
    return dns.question(name, rng.choice([1, 5, 28, 65, 255]), rng.randrange(65536), rng.choice([0x100, 0x120, 0x110, 0]),
                        more, counts)


def wrong_reply(data, got):
    """Why what was written back is no answer to the question; None when it is one."""
    out = bytes.fromhex(got["out"])
    if got["code"] < 0:
        return "it was answered" if out else None
    number, flags, questions, answers, authority, additional = struct.unpack("!6H", out[:12])
    if number != got["id"] or flags & 0xfe70 != 0x8000 or flags & 15 != got["code"] & 15 or answers or authority:
        return "the header is wrong"
    if bool(flags & 0x100) != bool(data[2] & 1) or additional != got["edns"]:
        return "the header is wrong"
    body = out[12:]
    if questions:
        asked = data[12:dns.question_end(data)]
        if not body.startswith(asked):
            return "the question is not repeated"
        body = body[len(asked):]
    option = dns.record("", dns.OPT, b"", ttl=got["code"] >> 4 << 24, klass=1232) if got["edns"] else b""
    return None if body == option else "what follows the question is wrong"


def compare_questions(tap, name, program, messages):
    problems, good = [], 0
    for data, got in zip(messages, dump(program, "questions", [(b"", data) for data in messages])):
        want = read_question(data)
        good += want["code"] == dns.NOERROR
        told = {key: got[key] for key in want}
        if told != want:
            problems.append(f"{data.hex()}: {told}, want {want}")
        elif wrong_reply(data, got):
            problems.append(f"{data.hex()}: {got}: {wrong_reply(data, got)}")
    tap.test(name, problems)
    return good


def main():
    if len(sys.argv) < 2:
        raise SystemExit("usage: dns_against_python.py DNS_DUMP [SEED [COUNT]]")
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT_SEED
    count = int(sys.argv[3]) if len(sys.argv) > 3 else DEFAULT_COUNT
    print("# seed %d, %d messages" % (seed, count))
    rng = random.Random(seed)
    maker, tap = Maker(rng), Tap()
    asked = [maker.asked() for _ in range(count // 2)]
    made = [(one, maker.message(*one)) for one in asked]
    mutated = [(one, mutate(rng, data)) for one, data in made]
    kinds = compare_answers(tap, "random answers are read alike", program, made)
    more = compare_answers(tap, "mutated answers are read alike", program, mutated)
    print(f"# {kinds} of {len(made)}, {more} of {len(mutated)}")
    # Without each kind in number, agreement would say little.
    few = [kind for kind in kinds if kinds[kind] + more[kind] < count / 40]
    tap.test("answers of every kind are well represented", few)
    questions = [make_question(rng, maker) for _ in range(count // 4)]
    good = compare_questions(tap, "random questions are read alike and answered", program, questions)
    compare_questions(tap, "mutated questions are read alike and answered", program, [mutate(rng, q) for q in questions])
    tap.test("most questions are good ones", [] if len(questions) / 2 < good < len(questions) else [f"{good}"])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
