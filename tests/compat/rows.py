# SPDX-License-Identifier: Apache-2.0
"""The rows of the compatibility suite: what people and agents run, as data.

tests/casefile.py has the syntax.  A row:

    [GI07]
    command = git add -A && git commit -qm one && git log --format=%s
    fixture = repo
    needs = git

It passes when the command does inside what it does outside: same status, same
standard output, same standard error.  A row that is meant to differ says in
`why` for what reason, and in `inside-status`, `says` and `within` how.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import casefile  # noqa: E402  the path has to be set first

PASSES = {"user": ("user", "root"), "user-only": ("user",), "root-only": ("root",)}
DIFFERENT = ("inside-status", "says", "within")
CHOICES = {
    "tier": ("1", "2", "3"), "who": tuple(PASSES),
    "sort": ("yes",), "tty": ("yes",), "quick": ("yes",), "tree": ("yes",),
}
NUMBER = re.compile(r"^[0-9]+(\.[0-9]+)?$")


class Row(casefile.Row):
    """One command."""

    KEYS = {
        "command": "shell, in a workspace of the row's own",
        "about": "one line, where the command does not speak for itself",
        "tier": "1 (default), 2 or 3",
        "each": "one row for every word",
        "fixture": "names of fixtures.py or of a directory in fixtures/",
        "setup": "shell, outside, before either side, in that side's workspace",
        "needs": "programs on PATH, or paths; without them the row is unproven",
        "status": "what the control exits with (default 0)",
        "blur": "lines, regular expressions: what matches reads ~ on both sides",
        "sort": "yes: lines are sorted before they are compared",
        "seconds": "time limit of either side (default 180)",
        "tty": "yes: on a terminal, on both sides",
        "quick": "yes: part of the quick subset",
        "who": "user (default: the account and root), user-only, root-only",
        "tree": "yes: the workspaces are compared afterwards as well",
        "inside-status": "exit status wanted inside instead, or fail: any but 0",
        "says": "regular expression that the output inside must match",
        "within": "seconds in which the call inside must return; judged without --quick",
        "why": "one sentence: why inside is different",
        "standard": "one sentence: why the command cannot do inside at level standard what the row wants;"
                    " [WORDS] before it: only of these words of `each`",
    }
    REQUIRED = ("command",)

    def complaint(self):
        for key, allowed in CHOICES.items():
            if self[key] and self[key] not in allowed:
                return f"has {key} = {self[key]}, which is none of {' '.join(allowed)}"
        for key in ("seconds", "within", "status"):
            if self[key] and not NUMBER.match(self[key]):
                return f"has {key} = {self[key]}, which is no number"
        if bool(self["why"]) != any(self[key] for key in DIFFERENT):
            return "needs why together with one of " + " ".join(DIFFERENT)
        return super().complaint()

    def passes(self):
        return PASSES[self["who"] or "user"]

    def known(self, level):
        """Why the row has to fail at this level, or the empty string."""
        return self.reason("standard") if level == "standard" else ""

    def tier(self):
        return int(self["tier"] or 1)

    def category(self):
        return re.match("[A-Z]+", self.ident)[0]

    def status(self):
        return int(self["status"] or 0)

    def seconds(self):
        return float(self["seconds"] or 180)

    def title(self):
        """One line for people and for TAP, in which # begins a directive."""
        text = " ".join((self["about"] or self["command"]).split()).replace("#", "")
        return text if len(text) <= 100 else text[:99] + "…"


def read_rows(directory):
    return casefile.read_rows(directory, Row)
