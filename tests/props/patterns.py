# SPDX-License-Identifier: Apache-2.0
"""What a pattern means, written down a second time.

The product walks names with a set of places; this is the definition instead: which
ends can a piece reach from a given start.  Nothing here is taken from src/base/glob.c,
so that the two agree only where both are right.  Names are lists of characters: a
code point, or a byte that belongs to no UTF-8 character.
"""
import functools

STRAY = 0x200000  # a byte that is no text lies behind every code point

NAMED = {
    "alnum": lambda c: c < 128 and chr(c).isalnum(),
    "alpha": lambda c: c < 128 and chr(c).isalpha(),
    "digit": lambda c: c < 128 and chr(c).isdigit(),
    "lower": lambda c: c < 128 and chr(c).islower(),
    "punct": lambda c: 33 <= c < 127 and not chr(c).isalnum(),
    "space": lambda c: c in (9, 10, 11, 12, 13, 32),
    "upper": lambda c: c < 128 and chr(c).isupper(),
    "xdigit": lambda c: c < 128 and chr(c) in "0123456789abcdefABCDEF",
}


class BadPattern(Exception):
    """A pattern that must be refused."""


def characters(raw):
    """Bytes as characters."""
    return [STRAY + ord(c) - 0xDC00 if 0xDC80 <= ord(c) <= 0xDCFF else ord(c)
            for c in raw.decode("utf-8", "surrogateescape")]


def cases(c):
    """The character in both cases, where it is an ASCII letter."""
    return {c, ord(chr(c).swapcase())} if c < 128 else {c}


class Class:
    """[…]: members are single characters, ranges and named classes."""

    def __init__(self, negated, ranges, names):
        self.negated, self.ranges, self.names = negated, ranges, names

    def holds(self, c, fold):
        asked = cases(c) if fold else {c}
        has = any(low <= one <= high for one in asked for low, high in self.ranges) or \
            any(NAMED[name](one) for one in asked for name in self.names)
        return has != self.negated


class Reader:
    """Takes a name of a pattern apart."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def more(self):
        return self.at < len(self.text)

    def see(self, literal):
        return self.text[self.at:self.at + len(literal)] == [ord(c) for c in literal]

    def take(self):
        if not self.more():
            raise BadPattern("ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def plain(self):
        """One character, which a backslash may hide."""
        c = self.take()
        return self.take() if c == ord("\\") else c

    def named(self):
        for name in NAMED:
            if self.see(f"[:{name}:]"):
                self.at += len(name) + 4
                return name
        return None

    def klass(self):
        """Behind the opening bracket."""
        negated = self.see("!") or self.see("^")
        self.at += negated
        ranges, names, first = [], [], True
        while first or not self.see("]"):
            first = False
            name = self.named()
            if name:
                names.append(name)
                continue
            low = high = self.plain()
            if self.see("-") and self.at + 1 < len(self.text) and self.text[self.at + 1] != ord("]"):
                self.at += 1
                high = self.plain()
            if high < low:
                raise BadPattern("a range that ends before it begins")
            ranges.append((low, high))
        self.at += 1
        return Class(negated, ranges, names)

    def pieces(self):
        while self.more():
            if self.see("**"):
                raise BadPattern("** within a name")
            if self.see("{"):
                raise BadPattern("braces")
            if self.see("*") or self.see("?"):
                yield chr(self.take())
            elif self.see("["):
                self.at += 1
                yield self.klass()
            else:
                yield self.plain()


def parse(raw):
    """A pattern as names; a name is "**" or a tuple of pieces."""
    names = []
    for part in raw.split(b"/"):
        if part == b"**":
            names.append("**")
        elif part:
            names.append(tuple(Reader(characters(part)).pieces()))
    if not names:
        raise BadPattern("empty")
    return names


def one(piece, c, fold):
    """Whether a piece other than * takes this character."""
    if piece == "?":
        return True
    if isinstance(piece, Class):
        return piece.holds(c, fold)
    return c in (cases(piece) if fold else {piece})


def name_matches(pieces, name, fold):
    ends = {0}
    for piece in pieces:
        if piece == "*":
            ends = set(range(min(ends), len(name) + 1)) if ends else ends
        else:
            ends = {at + 1 for at in ends if at < len(name) and one(piece, name[at], fold)}
    return len(name) in ends


def matches(pattern, path, fold=False):
    """Whether a pattern (of parse) holds for a relative path: for it, or for a directory above it."""
    names = [characters(part) for part in path.split(b"/") if part]
    return any(whole(pattern, names[:count], fold) for count in range(1, len(names) + 1))


def whole(pattern, names, fold):
    """Whether the pattern is of this very path."""
    @functools.lru_cache(None)
    def rest(p, n):
        if p == len(pattern):
            return n == len(names)
        if pattern[p] == "**":
            # At the end it stands for what is beneath, elsewhere also for nothing.
            least = n + 1 if p + 1 == len(pattern) else n
            return any(rest(p + 1, to) for to in range(least, len(names) + 1))
        return n < len(names) and name_matches(pattern[p], names[n], fold) and rest(p + 1, n + 1)
    return rest(0, 0)
