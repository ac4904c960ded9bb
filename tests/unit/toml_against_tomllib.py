#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Corral's TOML parser with Python's tomllib, document by document.

    toml_against_tomllib.py DOC_DUMP [SEED [COUNT]]

Random documents, most of them close to valid, and mutations of them go through
doc_dump in batches.  Both parsers must agree on what is valid, and on every
value, its type and the order of keys.  Where they may differ on purpose, the
reason is a row of DIFFERENCES.  Prints TAP; exit 1 when a test fails.
"""

import json
import math
import os
import random
import re
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tap import Tap  # noqa: E402  the path has to be set first

DEFAULT_SEED = 20240229
DEFAULT_COUNT = 8000
DEPTH_MAX = 64
BATCH = 1000


def leaves(tree):
    """Every key and scalar of a tree."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield key
            yield from leaves(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value)
    else:
        yield tree


def depth(tree):
    """As the parser counts: 0 for the document, scalars do not count."""
    inside = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return -1 if inside is None else 1 + max((depth(v) for v in inside), default=-1)


def has_bignum(tree):
    return any(type(v) is int and not -2**63 <= v < 2**63 for v in leaves(tree))


def has_nul(tree):
    return any(isinstance(v, str) and "\0" in v for v in leaves(tree))


def is_deep(tree):
    return depth(tree) > DEPTH_MAX


# What our error says where tomllib accepts, what tomllib's tree must then show,
# and why refusing is right.
DIFFERENCES = [
    ("does not fit a 64-bit integer", has_bignum, "TOML promises 64 bits; Python has bignums"),
    ("U+0000 is not allowed", has_nul, "strings are NUL-terminated in the document tree"),
    ("nested deeper than", is_deep, "readers of the tree recurse, so its depth has a bound"),
]

# Documents that tomllib refuses and we accept: (text, reason).
ACCEPTED_ONLY_HERE = [
    ("x = 0000-01-01\n", "the grammar has four digits; Python's years begin at 1"),
    ("x = 23:59:60\n", "RFC 3339 has leap seconds; Python's time has none"),
    ("x = 1990-12-31T23:59:60Z\n", "RFC 3339 has leap seconds; Python's time has none"),
]

# The same in a random document: what makes it one that tomllib accepts too.
ONLY_HERE = [(rb":60(?![0-9])", b":59"), (rb"(?<![0-9])0000-", b"0004-")]

# Documents whose verdict is known, from the rules of the format.
VALID = [
    "", "\n", "\r\n", "# only a comment", "a=1", "a = 1 # c\r\nb = 2\r\n", "a.b.c = 1\na.b.d = 2\n",
    "[a.b]\n[a]\n", "[a]\n[a.b]\n", "a.b = 1\n[a.c]\n", "[a.b.c]\n[a]\nb.x = 1\n", "[[a]]\n[[a]]\n[a.b]\n[[a.c]]\n",
    "[[a]]\n[a.b]\n[[a]]\n[a.b]\n", "a = [\n1, # c\n2,\n]\n", "a = {}\n", "a = { b.c = 1, b.d = 2 }\n",
    'a = """\nx"""\n', 'a = """x""\\"""""\n', 'a = """"x"""""\n', "a = '''x'''''\n", 'a = """x\\\n   \n  y"""\n',
    'a = """x\\   \r\n  y"""\r\n', '"" = 1\n', "'a b'.\"c\\td\" = 1\n", "3.14 = 1\n", "1 = 2\n", "- = 1\n",
    "a = 0x7fff_ffff_ffff_ffff\n", "a = -9223372036854775808\n", "a = 9223372036854775807\n", "a = -0\n", "a = +0\n",
    "a = 0e0\n", "a = 1_0.0_1e0_1\n", "a = 1e400\n", "a = -0.0\n", "a = +nan\n", "a = 2000-02-29\n",
    "a = 1979-05-27 07:32:00z\n", "a = [1979-05-27 , 07:32:00.123456789]\n", 'a = "\\u00e9\\U0010FFFF"\n',
    "a = [[[]]]\n", "a = [{b = 1}, {b = 2}]\n", "a = {b = [1,\n2]}\n", "a . b = 1\n", "[ a . 'b' ]\n",
]
INVALID = [
    "a", "a =", "a = \n", "= 1", "a = 1 b = 2", "a = 1\na = 2\n", "[a]\n[a]\n", "a.b = 1\n[a]\n", "[a.b]\n[a]\nb.c = 1\n",
    "a = {}\n[a.b]\n", "a = {}\na.b = 1\n", "a = []\n[[a]]\n", "[[a]]\n[a]\n", "[a]\n[[a]]\n", "a = [{}]\n[a.b]\n",
    "a = {b = 1,}\n", "a = {b = 1\n}\n", "a = {b = 1, b = 2}\n", "a = {b = {}, b.c = 1}\n", "a = [1 2]\n", "a = [,]\n",
    "a = [1,,2]\n", 'a = "x\ny"\n', 'a = "\\x"\n', 'a = "\\ud800"\n', 'a = "\\U00110000"\n', 'a = "\\u12"\n',
    '"""a""" = 1\n', "a = 01\n", "a = 1_\n", "a = _1\n", "a = 1__0\n", "a = 0X1\n", "a = +0x1\n", "a = 0x_1\n", "a = 1.\n",
    "a = .5\n", "a = 1.e2\n", "a = 1e\n", "a = 1e1.0\n", "a = True\n", "a = Inf\n", "a = 1979-02-29\n", "a = 1900-02-29\n",
    "a = 1979-13-01\n", "a = 24:00:00\n", "a = 07:32\n", "a = 07:32:00Z\n", "a = 1979-05-27T07:32\n",
    "a = 1979-05-27T07:32:00+24:00\n", "a = 1979-05-27  07:32:00\n", "a = 1979-05-27T\n", "a = 07:32:00.\n", "[]\n",
    "[a\n", "[[a]\n", "[a]]\n", "[ [a] ]\n", "[a.]\n", "[.a]\n", "a..b = 1\n", "a = 'x\n", 'a = "x\\\ny"\n', "[a]\nb.c = 1\n[a.b]\n", "[a.b]\nc.d = 1\n[a]\nb.c.e = 1\n", "a = '''x''\n", "a = \"\"\"x\\ y\"\"\"\n",
    "a = 1\rb = 2\n", "a = 1 # \x01\n", "a = '\x7f'\n", "a = '\x00'\n", "\ufeffa = 1\n", "\u00e9 = 1\n", "a\n= 1\n",
]
INVALID_BYTES = [b"a = '\xff'\n", b"# \xc0\x80\n", b"a = '\xed\xa0\x80'\n", b"a = '\xf4\x90\x80\x80'\n", b"a = '\xe2\x82'\n", b"# \xf8\x90\x80\x80\n"]


class Maker:
    """Writes random documents: right in grammar, mostly right in meaning."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *choices):
        return self.rng.choice(choices)

    def blank(self):
        return self.pick("", "", " ", " ", "\t", "  ")

    def newline(self):
        return self.pick("\n", "\n", "\n", "\r\n")

    def key_part(self):
        # Few names, so that keys and tables often meet again.
        name = self.pick("a", "b", "c", "d", "e-1", "f_2", "7", "long" * 9, "k%d" % self.rng.randrange(400))
        return self.pick(name, name, name, name, '"%s"' % name, "'%s'" % name, '"\\u00e9 %s"' % name, "''")

    def key(self, most=3):
        dot = self.blank() + "." + self.blank() if self.rng.random() < 0.2 else "."
        return dot.join(self.key_part() for _ in range(self.rng.choice([1, 1, 1, 1, 2, most])))

    def underscored(self, digits):
        return "".join(d + ("_" if i + 1 < len(digits) and self.rng.random() < 0.1 else "") for i, d in enumerate(digits))

    def decimal(self):
        n = str(self.rng.choice([0, 1, 7, self.rng.randrange(1000), self.rng.randrange(2**63), self.rng.randrange(2**65)]))
        return self.pick("", "", "-", "+") + self.underscored(n)

    def integer(self):
        n = self.rng.randrange(self.pick(2, 300, 2**40, 2**63, 2**64))
        return self.pick(self.decimal(), self.decimal(), "0x%s" % self.underscored("%x" % n), "0x%X" % n,
                         "0o%s" % self.underscored("%o" % n), "0b%s" % self.underscored("{:b}".format(n)))

    def floating(self):
        part = "." + self.underscored("%0*d" % (self.rng.randrange(1, 20), self.rng.randrange(10)))
        exp = self.pick("e", "E") + self.pick("", "+", "-") + "%0*d" % (self.rng.randrange(1, 4), self.rng.randrange(330))
        return self.pick(self.decimal() + part, self.decimal() + exp, self.decimal() + part + exp, "inf", "-inf", "+inf",
                         "nan", "-nan", "+nan", repr(self.rng.random()), repr(self.rng.uniform(-1e300, 1e300)))

    def date(self):
        return "%04d-%02d-%02d" % (self.rng.randrange(1, 10000), self.rng.randrange(1, 13), self.rng.choice([1, 28, 29, 30, 31, 9]))

    def time(self):
        fraction = self.pick("", "", ".5", ".000001", ".123456789", ".%d" % self.rng.randrange(10**6))
        return "%02d:%02d:%02d%s" % (self.rng.randrange(24), self.rng.randrange(60), self.rng.randrange(60), fraction)

    def moment(self):
        offset = self.pick("", "Z", "z", "+00:00", "-08:30", "+23:59")
        return self.pick(self.date(), self.time(), self.date() + self.pick("T", "t", " ") + self.time() + offset)

    def text(self, extra):
        pieces = ["a", "b c", "#", "[", "]", "=", ",", "\t", "\u00e9", "\u20ac", "\U0001f600", "", "", "{", "}"] + extra
        return "".join(self.rng.choice(pieces) for _ in range(self.rng.randrange(8)))

    def string(self):
        escapes = ["\\b", "\\t", "\\n", "\\f", "\\r", '\\"', "\\\\", "\\u0041", "\\u00E9", "\\uFFFD", "\\U0001F600", "\\u007f",
                   self.pick("\\u0000", "\\u0001"), "'"]
        fold = ["\\\n  ", "\\ \r\n \n", "\\\n"]
        return self.pick('"' + self.text(escapes) + '"', "'" + self.text(["\\", '"', "\\u"]) + "'",
                         '"""' + self.text(escapes + fold + ["\n", "\r\n", '"', '""']) + '"""',
                         "'''" + self.text(["\n", "\r\n", "'", "''", "\\", '"""']) + "'''")

    def gap(self):
        return self.pick("", "", " ", "\n", " # c\n", "\r\n\t", "\n\n")

    def array(self, depth):
        items = [self.gap() + self.value(depth + 1) + self.gap() for _ in range(self.rng.randrange(4))]
        return "[" + ",".join(items) + ("," + self.gap() if items and self.rng.random() < 0.3 else self.gap()) + "]"

    def inline(self, depth):
        pairs = [self.blank() + self.pair(depth + 1) + self.blank() for _ in range(self.rng.randrange(4))]
        return "{" + ",".join(pairs) + ("" if pairs else self.blank()) + "}"

    def value(self, depth=0):
        kinds = [self.integer, self.floating, self.moment, self.string, self.string, lambda: self.pick("true", "false")]
        if depth < 5:
            kinds += [lambda: self.array(depth), lambda: self.inline(depth)]
        return self.rng.choice(kinds)()

    def pair(self, depth=0):
        return self.key() + self.blank() + "=" + self.blank() + self.value(depth)

    def line(self):
        kind = self.rng.random()
        if kind < 0.05:
            return self.blank() + self.pick("", "# comment \u00e9", "#")
        if kind < 0.20:
            return self.blank() + "[" + self.blank() + self.key(4) + self.blank() + "]"
        if kind < 0.28:
            return "[[" + self.blank() + self.key(4) + self.blank() + "]]"
        return self.blank() + self.pair()

    def document(self):
        lines = [self.line() + self.pick("", "", " ", " # c") + self.newline() for _ in range(self.rng.choice([1, 2, 3, 5, 8]))]
        return "".join(lines).encode()

    def deep(self):
        n = self.rng.randrange(DEPTH_MAX - 4, DEPTH_MAX + 5)
        return self.pick("a = " + "[" * n + "]" * n, "a = " + "{b=" * n + "1" + "}" * n, ".".join("a" * n) + " = 1",
                         "[" + ".".join("a" * n) + "]", "[[" + ".".join("a" * n) + "]]").encode()


def mutate(rng, text, other):
    """One to three small changes, of the kind that typing errors and splices make."""
    alphabet = b"\"'\\[]{}.,=#-+_:0123456789abeEntTxzZ \t\r\n\x00\x1f\x7f\x80\xc3\xed"
    out = bytearray(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            out[at:at + 1] = b""
        elif kind == 1:
            out[at:at] = bytes([rng.choice(alphabet)])
        elif kind == 2:
            out[at:at + 1] = bytes([rng.choice(alphabet)])
        elif kind == 3:
            out[at:at] = out[at:at + rng.randrange(1, 12)]
        elif kind == 4:
            cut = rng.randrange(len(other) + 1)
            out[at:] = other[cut:]
        else:
            del out[at:]
    return bytes(out)


def reference(text):
    """tomllib's tree, or None; what else it raises on bad input is a refusal too."""
    try:
        return tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def time_value(text):
    return tomllib.loads("x = " + text)["x"]


def same_float(text, want):
    got = float(text)
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1, got) == math.copysign(1, want)


def difference(got, want, where="document"):
    """The first place at which a tagged value is not tomllib's, or None."""
    (tag, value), = got.items()
    if isinstance(want, dict):
        if tag != "table" or list(value) != list(want):
            return "%s: %s %s, want the keys %s" % (where, tag, value, list(want))
        return next(filter(None, (difference(value[k], want[k], where + "." + k) for k in want)), None)
    if isinstance(want, list):
        if tag != "array" or len(value) != len(want):
            return "%s: %s, want %s" % (where, got, want)
        return next(filter(None, (difference(g, w, "%s[%d]" % (where, i)) for i, (g, w) in enumerate(zip(value, want)))), None)
    if isinstance(want, bool):
        same = tag == "bool" and value is want
    elif isinstance(want, int):
        same = tag == "int" and value == str(want)
    elif isinstance(want, float):
        same = tag == "float" and same_float(value, want)
    elif isinstance(want, str):
        same = tag == "string" and value == want
    else:
        same = tag == "time" and time_value(value) == want
    return None if same else "%s: %s, want %r" % (where, got, want)


def dump(program, texts):
    """doc_dump's answers, in the order of the texts."""
    answers = []
    for at in range(0, len(texts), BATCH):
        batch = texts[at:at + BATCH]
        stream = b"".join(b"%d\n%s" % (len(t), t) for t in batch)
        done = subprocess.run([program, "toml", "--batch"], input=stream, capture_output=True)
        lines = done.stdout.decode().splitlines()
        if done.returncode != 0 or len(lines) != len(batch):
            raise SystemExit("Bail out! doc_dump: exit %d, %d answers for %d documents\n%s"
                             % (done.returncode, len(lines), len(batch), done.stderr.decode(errors="replace")))
        answers += [json.loads(line) for line in lines]
    return answers


def only_python_refuses(text):
    """True when the calendar of Python's datetime is all that is wrong."""
    for pattern, plain in ONLY_HERE:
        text = re.sub(pattern, plain, text)
    return reference(text) is not None


def disagreement(text, answer, want):
    """Why the answer is wrong, or None; known differences are not wrong."""
    error = answer.get("error")
    if error is None and want is None:
        return None if only_python_refuses(text) else "accepted, tomllib refuses"
    if error is None:
        beyond = [reason for _, shows, reason in DIFFERENCES if shows(want)]
        return "accepted, although " + beyond[0] if beyond else difference(answer, want)
    if want is None or any(known in error and shows(want) for known, shows, _ in DIFFERENCES):
        return None
    return "refused, tomllib accepts: " + error


def compare(tap, name, program, texts):
    """Tests one set; returns how many of it both sides accept."""
    problems, valid = [], 0
    for text, answer in zip(texts, dump(program, texts)):
        want = reference(text)
        why = disagreement(text, answer, want)
        valid += want is not None and "error" not in answer
        if why is not None:
            problems.append("%r: %s" % (text, why))
    tap.test(name, problems)
    return valid


def expect(tap, name, program, texts, accepted):
    problems = []
    for text, answer in zip(texts, dump(program, texts)):
        if ("error" not in answer) != accepted:
            problems.append("%r: %s" % (text, answer))
    tap.test(name, problems)


def check_lists(tap, program):
    valid = [t.encode() for t in VALID]
    invalid = [t.encode() for t in INVALID] + INVALID_BYTES
    expect(tap, "documents of the valid list are accepted", program, valid, True)
    expect(tap, "documents of the invalid list are refused", program, invalid, False)
    compare(tap, "the lists agree with tomllib value by value", program, valid + invalid)
    ours = [t.encode() for t, _ in ACCEPTED_ONLY_HERE]
    expect(tap, "what only tomllib refuses is accepted", program, ours, True)
    tap.test("tomllib still refuses what only it refuses", [repr(t) for t in ours if reference(t) is not None])


def main():
    if len(sys.argv) < 2:
        raise SystemExit("usage: toml_against_tomllib.py DOC_DUMP [SEED [COUNT]]")
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT_SEED
    count = int(sys.argv[3]) if len(sys.argv) > 3 else DEFAULT_COUNT
    print("# seed %d, %d documents" % (seed, count))
    rng = random.Random(seed)
    maker = Maker(rng)
    made = [maker.document() for _ in range(count // 2)]
    mutated = [mutate(rng, rng.choice(made), rng.choice(made)) for _ in range(count - count // 2)]
    tap = Tap()
    check_lists(tap, program)
    valid = compare(tap, "random documents agree with tomllib", program, made)
    still = compare(tap, "mutated documents agree with tomllib", program, mutated)
    compare(tap, "nesting around the bound agrees with tomllib", program, [maker.deep() for _ in range(200)])
    # Without both kinds in number, agreement would say little.
    few = ["%d valid and %d mutated but valid documents of %d" % (valid, still, count)]
    tap.test("valid and invalid documents are both well represented",
             [] if 0.2 * len(made) < valid < 0.95 * len(made) and 0.05 * len(mutated) < still < 0.8 * len(mutated) else few)
    print("# " + few[0])
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
