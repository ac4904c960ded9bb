# SPDX-License-Identifier: Apache-2.0
"""The rows of the escape suite: the catalogue of attempts, as data.

tests/casefile.py has the syntax.  A row:

    [FS01]
    title = an absolute path outside the workspace is written
    attempt = echo x >$O/canary
    twin = echo x >$W/a
    verdict = outside
    layers = mount+landlock
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import casefile  # noqa: E402  the path has to be set first
import ladder  # noqa: E402

# What a level does not promise at all, by category: a row there that succeeds is
# this limit, and one that fails is welcome.  docs/THREAT_MODEL.md says the same.
FILES = "at this level files are open: the filter sees calls and not paths"
PROCESSES = "at this level the caller's processes, sockets and shared memory are the command's too"
NOTHING = "at this level nothing is closed but the environment, limits and time"
OPEN = {
    "minimal": {"DN": FILES, "FS": FILES, "LM": FILES, "MT": FILES, "PF": FILES, "PS": FILES, "SU": FILES,
                "IP": PROCESSES, "PR": PROCESSES},
    "none": {name: NOTHING for name in ("DN", "FS", "IP", "LM", "MT", "NN", "NS", "PF", "PR", "PS", "SC", "SU", "UI")},
}


class Row(casefile.Row):
    """One attempt."""

    KEYS = {
        "title": "what is attempted, in words",
        "who": "user (default), root or both: who calls corral",
        "class": "C1 (default), C2 or C3: how the control proves itself",
        "source": "where the attack was seen",
        "layers": "what stops it: groups that are all needed, a+b when either suffices; words of tests/mutation",
        "each": "one row for every word",
        "need": "fixtures: victim tcp unix tty tty-stdin root account processors page (a daemon with `corral ui`: $UH $UP, the"
                " token $UT, its request $SIGNIN, its runtime directory $UR) lab (tests/net: then $FILTERED and $PROXIED are options)",
        "place": "tmp: the scratch tree lies in /tmp, where the sandbox has a tree of its own",
        "setup": "shell, outside, before either side; knows $T",
        "setup-as": "root, when the caller cannot make the bait",
        "mounts": "shell, as root in a mount namespace of its own, around the call",
        "launch": "shell, outside, in the process that becomes the call; knows $T",
        "args": "options of corral run, as shell words",
        "control": "shell, outside; the attempt's own text when not given",
        "control-as": "root, or userns with flags of unshare(1)",
        "attempt": "shell, inside",
        "twin": "shell, on both sides; must succeed",
        "twin-inside": "shell, inside only; must succeed",
        "twin-launch": "shell for the twin instead of launch; - for none",
        "twin-args": "options for the twin instead of args; - for none",
        "verdict": "lines; each must find the control guilty and the attempt innocent",
        "check": "shell, on the host after the attempt; must succeed",
        "during": "shell, on the host while the call runs; $DONE is there when it has ended",
        "within": "seconds in which the call must return",
        "kill-after": "seconds after which the caller's process is killed",
        "may-refuse": "yes: not starting at all is a good answer",
        "writes": "further names that the row leaves in the workspace",
        "cleanup": "shell, outside, at the end of either side",
        "config": "yes: the standing policy files are read, which no other row does",
        "limit": "why the attempt succeeds today: a known limit, which must show",
        "limit-standard": "the same at level standard and below; - where `limit` is none there;"
                          " [WORDS] before it: only of these words of `each`",
        "limit-minimal": "the same at level minimal and below",
        "limit-shared": "the same in a container where /proc is the container's (--shared-proc); - as above",
        "attempt-standard": "shell, inside, and outside unless there is a control, at level standard and below",
        "twin-standard": "shell, inside only, instead of either twin at level standard and below",
        "verdict-standard": "lines instead of verdict at level standard and below",
        "levels": "the levels that the row is about, and after a colon why no other: full: the view of /",
        "slow": "yes: left out of a quick run",
        "cold": "why the row says nothing about a session: left out with --warm",
    }
    REQUIRED = ("title", "attempt", "verdict", "layers")

    def complaint(self):
        if not (self["twin"] or self["twin-inside"] or self["limit"]):
            return "has no twin"
        named, _, why = self["levels"].partition(":")
        if set(named.split()) - set(ladder.ORDER) or (named and not why.strip()):
            return "has levels without a reason, or one that is no level"
        return super().complaint()

    def passes(self):
        who = self["who"] or "user"
        return ("user", "root") if who == "both" else (who,)


    def concerns(self, level):
        """Whether the row says anything at this level; one that nobody asked for is judged as full."""
        named = self["levels"].partition(":")[0].split()
        return not named or ("full" if level == ladder.AUTO else level) in named

    def limit(self, level, shared=False):
        """Why the attempt has to succeed at this level, or the empty string."""
        if shared and self.reason("limit-shared"):
            return self.reason("limit-shared").removeprefix("-")
        for name in ladder.from_here_down(level):
            why = self.reason("limit" if name == "full" else f"limit-{name}")
            if why:
                return "" if why == "-" else why
        return ""

    def at(self, level):
        """The row as it is at this level."""
        if level in (ladder.AUTO, "full"):
            return self
        row = Row(self.ident, self.where, self)
        for key in ("attempt", "verdict"):
            row[key] = self[f"{key}-standard"] or self[key]
        if self["twin-standard"]:
            row.update({"twin": "", "twin-inside": self["twin-standard"]})
        return row

    def unpromised(self, level):
        """Why the attempt may succeed at this level, or the empty string."""
        return OPEN.get(level, {}).get(self.ident[:2], "")


def read_rows(directory):
    return casefile.read_rows(directory, Row)
