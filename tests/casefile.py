# SPDX-License-Identifier: Apache-2.0
"""Rows of *.case files: what the escape and compatibility suites are made of.

A file holds sections; a section is a row, or several when it has `each`:

    [FS01]
    title = an absolute path outside the workspace is written
    attempt = echo x >$O/canary

A value goes on for as long as the next lines are indented.  A line that begins
with # is a comment.  `each` is a list of words; every word makes one row with
the id NAME.PART, and {1}, {2}, ... in the other values stand for the parts of
the word, which `=` separates.  Which keys there are is the suite's to say.
"""
import os
import re

SECTION = re.compile(r"^\[([A-Z]+[0-9]+[a-z]?)\]\s*$")
ENTRY = re.compile(r"^([a-z-]+)\s*=\s*(.*)$")


class BadRow(Exception):
    """A case file that does not say what it means."""


class Row(dict):
    """One row; absent keys read as the empty string.  A suite's own class names its keys."""

    KEYS = {}  # name → what it is for
    REQUIRED = ()

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

    def reason(self, key):
        """The text of a key that may begin with [WORDS]: then it is only of these words of `each`."""
        named, text = re.match(r"(?:\[(.*?)\] )?(.*)", self[key], re.DOTALL).groups()
        return text if not named or self.ident.partition(".")[2] in named.split() else ""

    def complaint(self):
        """What is wrong with the row as a whole, or None."""
        lacking = [key for key in self.REQUIRED if not self[key]]
        return f"has no {lacking[0]}" if lacking else None


def read_sections(path, keys):
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
                if key not in keys or key in section[2]:
                    raise BadRow(f"{path}:{number}: unknown or repeated key {key}")
                section[2][key] = entry.group(2)
            else:
                raise BadRow(f"{path}:{number}: neither a section nor a key")
    if section:
        yield section


def expand(text, word):
    """Puts the parts of one `each` word into a value."""
    if "{" not in text:  # nearly every value
        return text
    parts = word.split("=")
    parts += [""] * (9 - len(parts))
    return re.sub(r"\{([1-9])\}", lambda found: parts[int(found[1]) - 1], text)


def rows_of(section, path, kind):
    ident, number, values = section
    where = f"{os.path.basename(path)}:{number}"
    words = values.get("each", "").split()
    if not words:
        yield kind(ident, where, values)
    for word in words:
        made = {key: expand(value, word) for key, value in values.items()}
        yield kind(f"{ident}.{word.split('=')[0]}", where, made)


def read_rows(directory, kind):
    """Every row of every case file, in the order of names; ids are unique."""
    rows, seen = [], {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".case"):
            continue
        path = os.path.join(directory, name)
        for section in read_sections(path, kind.KEYS):
            for row in rows_of(section, path, kind):
                if row.complaint():
                    raise BadRow(f"{row.where}: [{row.ident}] {row.complaint()}")
                if row.ident in seen:
                    raise BadRow(f"{row.where}: {row.ident} is also at {seen[row.ident]}")
                seen[row.ident] = row.where
                rows.append(row)
    return rows
