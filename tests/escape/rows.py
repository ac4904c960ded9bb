"""The rows of *.case files: the catalogue of attempts, as data.

A file holds sections; a section is a row, or several when it has `each`:

    [FS01]
    title = an absolute path outside the workspace is written
    attempt = echo x >$O/canary
    twin = echo x >$W/a
    verdict = outside
    layers = mount+landlock

A value goes on for as long as the next lines are indented.  A line that begins
with # is a comment.  `each` is a list of words; every word makes one row with
the id NAME.PART, and {1}, {2}, ... in the other values stand for the parts of
the word, which `=` separates.
"""
import os
import re

# What a row may hold, and what that is for.
KEYS = {
    "title": "what is attempted, in words",
    "who": "user (default), root or both: who calls corral",
    "class": "C1 (default), C2 or C3: how the control proves itself",
    "source": "where the attack was seen",
    "layers": "what stops it; a+b means that either suffices",
    "each": "one row for every word",
    "need": "fixtures: victim tcp unix tty tty-stdin root account",
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
    "during": "shell, on the host while the call runs",
    "within": "seconds in which the call must return",
    "kill-after": "seconds after which the caller's process is killed",
    "may-refuse": "yes: not starting at all is a good answer",
    "writes": "further names that the row leaves in the workspace",
    "cleanup": "shell, outside, at the end of either side",
    "config": "yes: the standing policy files are read, which no other row does",
    "limit": "why the attempt succeeds today: a known limit, which must show",
    "slow": "yes: left out of a quick run",
}
REQUIRED = ("title", "attempt", "verdict", "layers")
SECTION = re.compile(r"^\[([A-Z]+[0-9]+[a-z]?)\]\s*$")
ENTRY = re.compile(r"^([a-z-]+)\s*=\s*(.*)$")


class BadRow(Exception):
    """A case file that does not say what it means."""


class Row(dict):
    """One attempt; absent keys read as the empty string."""

    def __init__(self, ident, where, values):
        super().__init__(values)
        self.ident = ident
        self.where = where

    def __missing__(self, key):
        return ""

    def words(self, key):
        return self[key].split()

    def lines(self, key):
        return [line.strip() for line in self[key].splitlines() if line.strip()]

    def passes(self):
        who = self["who"] or "user"
        return ("user", "root") if who == "both" else (who,)


def read_sections(path):
    """Yields (ident, line number, values) of one file."""
    section, key = None, None
    with open(path, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            line = line.rstrip("\n")
            if line.startswith("#"):
                continue
            if not line.strip():
                key = None
                continue
            header, entry = SECTION.match(line), ENTRY.match(line)
            if header:
                if section:
                    yield section
                section, key = (header.group(1), number, {}), None
            elif line[0].isspace() and key:
                section[2][key] += "\n" + line.strip()
            elif entry and section:
                key = entry.group(1)
                if key not in KEYS or key in section[2]:
                    raise BadRow(f"{path}:{number}: unknown or repeated key {key}")
                section[2][key] = entry.group(2)
            else:
                raise BadRow(f"{path}:{number}: neither a section nor a key")
    if section:
        yield section


def expand(text, word):
    """Puts the parts of one `each` word into a value."""
    parts = word.split("=")
    parts += [""] * (9 - len(parts))
    return re.sub(r"\{([1-9])\}", lambda found: parts[int(found[1]) - 1], text)


def rows_of(section, path):
    ident, number, values = section
    where = f"{os.path.basename(path)}:{number}"
    for key in REQUIRED:
        if not values.get(key):
            raise BadRow(f"{where}: [{ident}] has no {key}")
    if not (values.get("twin") or values.get("twin-inside") or values.get("limit")):
        raise BadRow(f"{where}: [{ident}] has no twin")
    words = values.get("each", "").split()
    if not words:
        yield Row(ident, where, values)
    for word in words:
        made = {key: expand(value, word) for key, value in values.items()}
        yield Row(f"{ident}.{word.split('=')[0]}", where, made)


def read_rows(directory):
    """Every row of every case file, in the order of names; ids are unique."""
    rows, seen = [], {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".case"):
            continue
        path = os.path.join(directory, name)
        for section in read_sections(path):
            for row in rows_of(section, path):
                if row.ident in seen:
                    raise BadRow(f"{row.where}: {row.ident} is also at {seen[row.ident]}")
                seen[row.ident] = row.where
                rows.append(row)
    return rows
