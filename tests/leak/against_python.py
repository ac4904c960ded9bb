#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the scanner with Python's `re` and Python's decoders.

    against_python.py LEAK_DUMP LEAK_KINDS_DUMP [TEXTS] [SEED|any]

Texts are random: examples, near misses and mutations of them between other
text.  Raw: each kind must have the same secrets at the same places.  Encoded:
Python encodes an example, and the scanner must find it inside of the encoded
part.  Prints TAP; a failure prints its seed.
"""
import base64
import json
import os
import random
import re
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kind_table  # noqa: E402

DEFAULT_SEED = 1746146049
GLUE = [b" ", b"\n", b"=", b": ", b"\\n", b"\\t", b"\\", b"\"", b"a", b"_", b"-", b"/", b"0", b"Z", b"%", b"\0", b"\xff", b"key", b", "]


def patterns(kinds):
    """Each kind with the rule that the letter of \\n before a match belongs to the escape."""
    found = []
    for kind in kinds:
        before, after = (kind_table.EDGES[kind.row[edge]] for edge in ("before", "after"))
        pattern = f"(?:{kind.row['pattern']})" + (f"(?![{after}])" if after else "")
        found.append((kind, re.compile(pattern.encode()), re.compile(f"[{before}]".encode()) if before else None))
    return found


def starts(text, at, edge):
    if edge is None or at == 0 or not edge.match(text, at - 1):
        return True
    sign = text[at - 1:at] in (b"-", b"+") and text[at - 2:at - 1] in (b"", b"\n")  # of a patch or a list
    return sign or at > 1 and text[at - 2:at - 1] == b"\\" and text[at - 1:at] in (b"n", b"t", b"r", b"f", b"b")


MARK = re.compile(rb"\n[-+>|: \t0-9]{0,12}\Z")


def body_end(text, pattern, at):
    """The end of a private key: its body may have a sign or a number before each line."""
    body = re.search(r"(\[[^][]*\])\{\d+,(?:8192|6000)\}\)$", pattern)
    if not body:
        return at
    byte = re.compile(body.group(1).encode())
    while at < len(text):
        one = text[at:at + 1]
        mark = one in (b"-", b">", b"|", b":", b"+") and MARK.search(text, max(0, at - 13), at)
        if not byte.match(one) and not (mark and text[at:at + 2] not in (b"--", b"-")):
            break
        at += 1
    return at


def secrets(text, row, regex, edge, check):
    """Places of the secrets, as the scanner reports them: of two that overlap only the first."""
    matches = []
    for at in range(len(text)):
        match = regex.match(text, at)
        if match and starts(text, at, edge) and check(match, row):
            group = 1 if regex.groups and match.group(1) is not None else 0
            begin, end = match.span(group)
            matches.append((begin, body_end(text, row["pattern"], end)))
    found, hidden = set(), 0
    for begin, end in sorted(matches, key=lambda span: (span[0], -span[1])):
        if begin >= hidden:
            found.add((begin, end - begin))
        hidden = max(hidden, end)
    return found


def mutated(rng, text):
    text = bytearray(text)
    for _ in range(rng.choice((0, 0, 1, 2))):
        at = rng.randrange(len(text))
        text[at:at + rng.choice((0, 1, 1))] = rng.choice((b"", b"x", b"0", b"A", b"_", b"=", b" ", b"\xe9", text[at:at + 1].swapcase()))
    return bytes(text)


def random_text(rng, kinds):
    parts = []
    for _ in range(rng.randrange(3, 12)):
        row = rng.choice(kinds).row
        parts.append(mutated(rng, row[rng.choice(("match", "match", "miss"))].encode()))
        parts.append(b"".join(rng.choice(GLUE) for _ in range(rng.randrange(0, 4))))
    return b"".join(parts)


def dump(program, text, *words):
    done = subprocess.run([program, *words], input=text, stdout=subprocess.PIPE, check=True)
    found = {}
    for line in done.stdout.decode().splitlines():
        name, offset, length, view = line.split()
        found.setdefault(name, set()).add((int(offset), int(length), view))
    return found


def compare_raw(program, all_patterns, rng):
    text = random_text(rng, [kind for kind, _, _ in all_patterns])
    found = dump(program, text, "raw")
    for kind, regex, edge in all_patterns:
        want = secrets(text, kind.row, regex, edge, kind_table.CHECKS[kind.row["check"]])
        got = {(offset, length) for offset, length, _ in found.get(kind.name, ())}
        if want != got and kind.row["check"] != "jwt":  # the scanner does not parse all of the header
            return f"{kind.name}: got {sorted(got)}, wanted {sorted(want)} in {text!r}"
    return None


def encoders(rng):
    return [("base64", base64.b64encode), ("base64", base64.encodebytes), ("base64", base64.urlsafe_b64encode),
            ("hex", lambda data: data.hex().encode()), ("hex", lambda data: data.hex().upper().encode()),
            ("json", lambda data: b"".join(b"\\u%04x" % byte for byte in data)),
            ("json", lambda data: json.dumps(data.decode("latin-1")).replace("/", "\\/").encode()),
            ("url", lambda data: urllib.parse.quote(data, safe="").encode()),
            ("url", lambda data: b"".join(b"%%%02x" % byte if rng.random() < 0.5 else bytes([byte]) for byte in data)),
            ("utf-16le", lambda data: data.decode("latin-1").encode("utf-16le")),
            ("utf-16be", lambda data: data.decode("latin-1").encode("utf-16be"))]


def compare_encoded(program, all_patterns, rng):
    kind = rng.choice(all_patterns)[0]
    inner, outer = rng.choice(encoders(rng)), rng.choice(encoders(rng))
    nested = rng.random() < 0.5 and not (inner[0][:3] == outer[0][:3] == "utf")
    data = b"." * rng.randrange(0, 7) + b" <" + kind.row["match"].encode() + b"> " + b"text" * rng.randrange(2, 9)
    coded = inner[1](data)
    coded = outer[1](coded) if nested else coded
    text = b"before it <" + coded + b"> after it"
    for offset, length, _ in dump(program, text).get(kind.name, ()):
        if offset >= 10 and offset + length <= 12 + len(coded):
            return None
    return f"{kind.name} in {inner[0]}{' in ' + outer[0] if nested else ''} is not found: {text!r}"


def main():
    program, kinds_dump = sys.argv[1:3]
    texts = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    given = sys.argv[4] if len(sys.argv) > 4 else DEFAULT_SEED
    seed = random.randrange(1 << 32) if given == "any" else int(given)
    all_patterns = patterns(kind_table.load(kinds_dump))
    failed = 0
    for number, (what, compare) in enumerate((("raw", compare_raw), ("encoded", compare_encoded)), 1):
        faults = [fault for i in range(texts) if (fault := compare(program, all_patterns, random.Random(seed + i)))]
        for fault in faults[:5]:
            print(f"# seed {seed}: {fault[:1500]}")
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {texts} texts, {what}", flush=True)
    print("1..2")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
