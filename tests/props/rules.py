# SPDX-License-Identifier: Apache-2.0
"""What a list of rules means for a path, written down a second time.

A rule is a pattern; without a slash inside it holds at any depth.  A text in which
nothing is special is a path, unless it is an exception.  "!" before a rule makes one.
Of the rules of one list the last that holds decides; what is denied is denied, whatever
is said about protecting it.
"""
import patterns

DENIED, PROTECTED, FREE = "denied", "protected", "free"


class Rule:
    """One --deny or --protect."""

    def __init__(self, text, top=b""):
        self.text = text
        self.exception = text.startswith(b"!")
        pattern = text[1:] if self.exception else text
        if top and pattern.startswith(top + b"/"):
            pattern, self.anchored = pattern[len(top) + 1:], True
        else:
            self.anchored = not self.special(pattern) or b"/" in pattern.rstrip(b"/")
        self.plain = not self.special(pattern)
        pattern = pattern.removeprefix(b"./")
        self.place = pattern.rstrip(b"/") if self.plain else None
        self.parsed = patterns.parse(pattern)
        if not self.anchored:
            self.parsed = ["**", *self.parsed]

    def special(self, pattern):
        """Whether it is more than a path."""
        return self.exception or bool(set(pattern) & set(b"*?["))

    def holds(self, path):
        return patterns.matches(self.parsed, path)


class Rules:
    """The rules of one run; paths are relative to the workspace, top."""

    def __init__(self, deny, protect, top):
        self.deny = [Rule(text, top) for text in deny]
        self.protect = [Rule(text, top) for text in protect]
        self.anchored = any(rule.anchored for rule in self.deny + self.protect)
        # A path that is there may be covered by mounts, between which nothing is moved or linked.
        self.places = [rule.place for rule in self.deny + self.protect if rule.plain]
        self.known = {}

    @staticmethod
    def decided(rules, path):
        holding = [rule for rule in rules if rule.holds(path)]
        return bool(holding) and not holding[-1].exception

    def of(self, path):
        if path not in self.known:
            self.known[path] = (DENIED if self.decided(self.deny, path) else
                                PROTECTED if self.decided(self.protect, path) else FREE)
        return self.known[path]

    def words(self):
        """As options of corral run."""
        for option, rules in ((b"--deny", self.deny), (b"--protect", self.protect)):
            for rule in rules:
                yield from (option, rule.text)
