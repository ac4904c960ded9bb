# SPDX-License-Identifier: Apache-2.0
"""The rows of one kernel in several machines, one after the other: an emulated machine takes hours for all of them.

A slice is every Nth row in one configuration, (its number in guest.MODES, which rows).  What a machine found is a line of
a file, with the commit and the day.  The next call goes on with the slices that were never judged, and then with those that
other binaries judged; so the rows of a kernel become complete in as many calls as it takes, on any machine.
"""
import collections
import hashlib
import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from stamp import stamp  # noqa: E402  the path has to be set first


def digest(parts):
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:16]


def compact(piece, report):
    """Without what the first slice of its configuration says, too."""
    if piece[1] == 0:
        return report
    (mode,) = report["modes"]
    callers = {caller: found | {"plan": digest([json.dumps(found["plan"], sort_keys=True).encode()])}
               for caller, found in mode["callers"].items()}
    return {"seconds": report["seconds"], "modes": [{"name": mode["name"], "callers": callers}]}


class Store:
    """The lines of one kernel in the file, for a share of the rows: (which, every Nth, number of slices)."""

    def __init__(self, path, kernel, share, binaries=(), words=()):
        self.path, self.kernel, self.share, self.lock = path, kernel, list(share), threading.Lock()
        parts = ["\n".join(words).encode()]
        for binary in binaries:
            with open(binary, "rb") as source:
                parts.append(source.read())
        self.digest = digest(parts)
        self.lines = {(line["mode"], line["slice"]): line for line in read(path)
                      if (line["kernel"], line["share"]) == (kernel, self.share)}

    def is_missing(self, piece):
        return piece not in self.lines

    def is_stale(self, piece):
        return piece in self.lines and self.lines[piece]["digest"] != self.digest

    def report(self, piece):
        return self.lines[piece]["report"]

    def keep(self, piece, report):
        with self.lock:
            self.lines[piece] = {"kernel": self.kernel, "share": self.share, "mode": piece[0], "slice": piece[1],
                                 "digest": self.digest, "run": stamp(), "report": compact(piece, report)}
            others = [line for line in read(self.path) if (line["kernel"], line["share"]) != (self.kernel, self.share)]
            with open(self.path + ".new", "w", encoding="utf-8") as out:
                for line in [*others, *self.in_order()]:
                    print(json.dumps(line, separators=(",", ":")), file=out)
            os.rename(self.path + ".new", self.path)

    def in_order(self):
        return [self.lines[piece] for piece in sorted(self.lines)]

    def judged(self):
        """How many slices each configuration has: {number: count}."""
        return collections.Counter(mode for mode, _ in self.lines)


def read(path):
    """All lines of the file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as source:
        return [json.loads(line) for line in source]


def rows_of(line):
    return sum(found.get("escape", {}).get("rows", 0) for mode in line["report"]["modes"] for found in mode["callers"].values())


def fullest(path, kernel):
    """The share of the rows of which most were judged; None: the file has none of this kernel."""
    counts = collections.Counter()
    for line in read(path):
        if line["kernel"] == kernel:
            counts[tuple(line["share"])] += rows_of(line)
    return max(counts, key=counts.get) if counts else None


def unlike(report):
    """Whether a configuration has rows of its own: it starts, and its plan is not that of another."""
    return any("escape" in found for mode in report["modes"] for found in mode["callers"].values())


def add(total, rows):
    """The verdicts of one more slice; a status that is not 0 stays."""
    total["status"] = total["status"] or rows["status"]
    total["seconds"] += rows["seconds"]
    total["rows"] += rows["rows"]
    total["counts"] = dict(collections.Counter(total["counts"]) + collections.Counter(rows["counts"]))
    total["others"] += rows["others"]


def joined(lines):
    """One report of all slices, those of a configuration one after the other, the first with what is checked once.

    With the same binaries the plans of a configuration are the same in each: it is the same machine."""
    reports = [json.loads(json.dumps(line["report"])) for line in lines]  # add() changes them
    total, first = reports[0] | {"seconds": sum(report["seconds"] for report in reports), "modes": []}, None
    for line, report in zip(lines, reports):
        (mode,) = report["modes"]
        if line["slice"] == 0:
            total["modes"].append(mode)
            first = line
            continue
        for caller, found in total["modes"][-1]["callers"].items():
            other = mode["callers"][caller]
            plan = digest([json.dumps(found["plan"], sort_keys=True).encode()])
            if line["digest"] == first["digest"] and other["plan"] != plan:
                raise ValueError(f"{mode['name']}, {caller}: the plans of two slices differ")
            if "escape" in found and "escape" in other:
                add(found["escape"], other["escape"])
    return total
