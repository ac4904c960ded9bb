# SPDX-License-Identifier: Apache-2.0
"""Patterns: base/glob against the definition in patterns.py, and against rows by hand."""
import fnmatch
import random
import subprocess

import patterns
from harness import Skip, check, equal

# (pattern, fold, paths that it holds for, paths that it does not); None for both: an error.
ROWS = (
    (b"secret", 0, (b"secret", b"secret/a", b"secret/a/b"), (b"a/secret", b"secrets", b"Secret", b"secre", b"")),
    (b"*.key", 0, (b"a.key", b".key", b"x.key/in"), (b"a/b.key", b"a.keys", b"a.KEY", b"key")),
    (b"*.key", 1, (b"a.KEY", b"a.kEy"), (b"a.kex",)),
    (b"**/.env", 0, (b".env", b"a/.env", b"a/b/.env", b"a/.env/x"), (b"a.env", b".envs", b"env")),
    (b"a/**/b", 0, (b"a/b", b"a/x/b", b"a/x/y/b", b"a/b/c"), (b"a", b"b", b"ab", b"x/a/b")),
    (b"a/**", 0, (b"a/b", b"a/b/c"), (b"a", b"b")),
    (b"**", 0, (b"a", b"a/b"), (b"",)),
    (b"a/**/**/b", 0, (b"a/b", b"a/x/b"), (b"a/x",)),
    (b"**/a/**/b", 0, (b"a/b", b"x/a/y/b"), (b"a", b"b/a")),
    (b"a/*/b", 0, (b"a/x/b",), (b"a/b", b"a/x/y/b")),
    (b"secret/", 0, (b"secret", b"secret/a"), (b"secrets",)),
    (b"a//b", 0, (b"a/b",), (b"a/x/b", b"a")),
    (b"/a", 0, (b"a",), (b"b/a",)),
    (b"[!]a]", 0, (b"b", b"["), (b"]", b"a", b"", b"bb")),
    (b"[]a]", 0, (b"]", b"a"), (b"b", b"[")),
    (b"[]-a]", 0, (b"]", b"^", b"_", b"`", b"a"), (b"b", b"-", b"\\")),
    (b"[a-]", 0, (b"a", b"-"), (b"b",)),
    (b"[-a]", 0, (b"a", b"-"), (b"b",)),
    (b"[a-c]x", 0, (b"ax", b"cx"), (b"dx", b"x", b"-x")),
    (b"[^a]", 0, (b"b", b"^"), (b"a",)),
    (b"[a^]", 0, (b"a", b"^"), (b"b",)),
    (b"[!!]", 0, (b"a",), (b"!",)),
    (b"[\\]]", 0, (b"]",), (b"\\", b"a")),
    (b"[a\\-c]", 0, (b"a", b"-", b"c"), (b"b", b"\\")),
    (b"[[]", 0, (b"[",), (b"]",)),
    (b"[[:digit:]x]", 0, (b"5", b"x"), (b"d", b":", b"[")),
    (b"[![:alpha:]]", 0, (b"5", b"-"), (b"a", b"Z")),
    (b"[[:nothing:]]", 0, (b"[]", b"n]", b":]"), (b"n", b"x]")),
    (b"[A-C]", 1, (b"a", b"B"), (b"d",)),
    (b"[!A-C]", 1, (b"d",), (b"a", b"B")),
    (b"[[:upper:]]", 1, (b"a", b"A"), (b"1",)),
    (b"?", 0, (b"a", b"\n", b"\xc3\xa9", b"\xe2\x82\xac", b"\xff"), (b"", b"ab", b"\xff\xff")),
    (b"??", 0, (b"ab", b"\xff\xfe", b"\xe2\x82", b"\xc3\xa9\xff"), (b"\xc3\xa9",)),
    (b"a?b", 0, (b"a\nb", b"a\\b", b"a*b"), (b"ab", b"a/b")),
    (b"[\xc3\xa9]", 0, (b"\xc3\xa9",), (b"\xc3", b"\xa9", b"e")),
    (b"[\xc3\xa0-\xc3\xbf]", 0, (b"\xc3\xa9",), (b"\xc3\x80", b"e")),
    (b"[\xff]", 0, (b"\xff",), (b"\xfe", b"\xc3\xbf")),
    (b"[!a]", 0, (b"\xff", b"\xc3\xa9", b"\n"), (b"a", b"\xff\xff")),
    (b"a\xff*", 0, (b"a\xff", b"a\xffb"), (b"a", b"a\xfe")),
    (b"*\xa9", 0, (b"\xff\xa9",), (b"\xc3",)),
    (b"*", 0, (b"a", b".a", b"..a", b"\n", b"\xff", b"a/b"), (b"",)),
    (b".*", 0, (b".a", b".", b".a/b"), (b"a",)),
    (b"a*b*c", 0, (b"abc", b"aXbYc", b"abbcc", b"abcbc"), (b"ab", b"acb", b"abcd")),
    (b"*a*", 0, (b"a", b"bab"), (b"b", b"b/a")),
    (b"\\*", 0, (b"*",), (b"a", b"\\*")),
    (b"\\\\", 0, (b"\\",), (b"a", b"\\\\")),
    (b"a\\b", 0, (b"ab",), (b"a\\b",)),
    (b"\\[a]", 0, (b"[a]",), (b"a", b"[")),
    (b"\\{a,b\\}", 0, (b"{a,b}",), (b"a", b"b")),
    (b"*\\.key", 0, (b"a.key", b".key"), (b"akey",)),
    (b"a\nb", 0, (b"a\nb",), (b"a", b"b", b"a b")),
    (b"!a", 0, (b"!a",), (b"a", b"b")),
    (b"\xc3\x89", 1, (b"\xc3\x89",), (b"\xc3\xa9",)),
    (b"", 0, None, None), (b"/", 0, None, None), (b"///", 0, None, None),
    (b"[", 0, None, None), (b"[a", 0, None, None), (b"[]", 0, None, None), (b"[!]", 0, None, None),
    (b"[a-", 0, None, None), (b"a/[b/c]", 0, None, None), (b"[a\\]", 0, None, None), (b"[[:alpha:]", 0, None, None),
    (b"[c-a]", 0, None, None), (b"[!\xff-a]", 0, None, None),
    (b"a\\", 0, None, None), (b"a\\/b", 0, None, None),
    (b"a**", 0, None, None), (b"**a", 0, None, None), (b"a/b**/c", 0, None, None), (b"***", 0, None, None),
    (b"{a,b}", 0, None, None), (b"a{", 0, None, None),
)

# What random patterns and names are made of: few enough to meet each other.
PIECES = (b"a", b"b", b"A", b"c", b".", b"-", b"]", b"^", b"!", b"*", b"*", b"?", b"[ab]", b"[!a]", b"[a-c]", b"[^b-]",
          b"[]a]", b"[[:alpha:]]", b"[[:upper:]b]", b"\\*", b"\\a", b"\\\\", b"[\\]]", b"\xc3\xa9", b"\xff", b"[\xc3\xa9\xff]",
          b"[\xc3\xa0-\xc3\xbf]", b"\n", b"[", b"{", b"\\", b"[b-a]")
LETTERS = (b"a", b"a", b"b", b"b", b"A", b"B", b"c", b".", b"-", b"]", b"[", b"*", b"\\", b"^", b"!", b"\xc3\xa9", b"\xc3",
           b"\xa9", b"\xff", b"\n", b"{", b"1")


def word(word_):
    return word_.hex() or "-"


class Program:
    """The product's side."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, pattern, fold, paths):
        """A list of truths, or None for an error."""
        self.process.stdin.write(" ".join([str(int(fold)), word(pattern), *map(word, paths)]) + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        check(said, f"no answer to {pattern!r} {paths!r}")
        return None if said == "error" else [c == "1" for c in said]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        equal(self.process.wait(timeout=60), 0, "the program's end")


def meant(pattern, fold, paths):
    try:
        parsed = patterns.parse(pattern)
    except patterns.BadPattern:
        return None
    return [patterns.matches(parsed, path, fold) for path in paths]


def random_pattern(chance):
    names = []
    for _ in range(chance.randrange(1, 5)):
        few = chance.randrange(0, 5)
        names.append(b"**" if chance.random() < 0.25 else b"".join(chance.choice(PIECES) for _ in range(few)))
    return b"/".join(names)


def random_path(chance):
    return b"/".join(b"".join(chance.choice(LETTERS) for _ in range(chance.randrange(1, 5)))
                     for _ in range(chance.randrange(1, 6)))


def near(chance, pattern):
    """A path that the pattern was bent into, so that matches are not rare."""
    out = pattern.replace(b"**", chance.choice((b"a", b"b/a", b""))).replace(b"*", chance.choice((b"", b"ab")))
    out = out.replace(b"?", chance.choice((b"a", b"\xc3\xa9"))).replace(b"\\", b"")
    for piece in PIECES:
        if piece.startswith(b"[") and len(piece) > 1:
            out = out.replace(piece, chance.choice((b"a", b"b", b"]", b"\xff")))
    return out.strip(b"/") or b"a"


def compare(program, chance, rounds):
    """Returns (matches, errors) seen, so that the caller can tell that neither is rare."""
    hits = errors = 0
    for _ in range(rounds):
        pattern, fold = random_pattern(chance), chance.random() < 0.3
        paths = [random_path(chance) for _ in range(6)] + [near(chance, pattern) for _ in range(4)]
        wanted = meant(pattern, fold, paths)
        got = program.ask(pattern, fold, paths)
        if got != wanted:
            differ = [p for p, g, w in zip(paths, got or [], wanted or []) if g != w]
            check(False, f"{pattern!r} fold={fold}: the program says {'error' if got is None else got}, "
                         f"meant is {'error' if wanted is None else wanted}; {differ!r}")
        hits += sum(wanted or [])
        errors += wanted is None
    return hits, errors


def register(suite):
    def program():
        if not suite.globs:
            raise Skip("the build has no program for patterns")
        return Program(suite.globs)

    @suite.test("the rows of patterns are what the definition says")
    def _(_box):
        for pattern, fold, yes, no in ROWS:
            if yes is None:
                equal(meant(pattern, fold, []), None, f"{pattern!r}")
            else:
                equal(meant(pattern, fold, yes + no), [True] * len(yes) + [False] * len(no), f"{pattern!r} {yes + no!r}")

    @suite.test("the definition agrees with fnmatch where both have the same words")
    def _(_box):
        chance = random.Random(suite.seed)
        for _ in range(20000):
            pattern = "".join(chance.choice(("a", "b", ".", "*", "?", "[ab]", "[!a]", "[a-c]")) for _ in range(5))
            name = "".join(chance.choice("abc.") for _ in range(chance.randrange(1, 7)))
            if "**" not in pattern:
                equal(meant(pattern.encode(), False, [name.encode()])[0], fnmatch.fnmatchcase(name, pattern), f"{pattern} {name}")

    @suite.test("the rows of patterns match and refuse as written")
    def _(_box):
        asked = program()
        for pattern, fold, yes, no in ROWS:
            paths = (b"a",) if yes is None else yes + no
            equal(asked.ask(pattern, fold, paths),
                  None if yes is None else [True] * len(yes) + [False] * len(no), f"{pattern!r} fold={fold} {paths!r}")
        asked.close()

    @suite.test("random patterns mean what the definition says")
    def _(_box):
        asked = program()
        hits, errors = compare(asked, random.Random(suite.seed), suite.patterns)
        asked.close()
        check(hits > suite.patterns / 4 and errors > suite.patterns / 50, f"too few of a kind: {hits} hits, {errors} errors")

    @suite.test("a pattern that is made to be slow is not")
    def _(_box):
        asked = program()
        evil = b"/".join([b"*a" * 20 + b"b"] * 3) + b"/**/x" * 20
        equal(asked.ask(evil, False, [b"/".join([b"a" * 250] * 16)]), [False], "the answer")
        asked.close()
