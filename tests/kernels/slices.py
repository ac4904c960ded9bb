# SPDX-License-Identifier: Apache-2.0
"""The rows of one kernel in several machines, one after the other: an emulated machine takes hours for all of them.

A slice is every Nth row in one configuration, (its number in guest.MODES, which rows).  What a machine found stays in PLACE/NAME.slices until the binaries or the choice of rows change, so that an interrupted
run continues where it ended.
"""
import collections
import hashlib
import json
import os


class Store:
    """The reports of one kernel's slices, for these binaries and these rows."""

    def __init__(self, place, name, binaries, words):
        digest = hashlib.sha256("\n".join(words).encode())
        for path in binaries:
            with open(path, "rb") as source:
                digest.update(source.read())
        self.place = os.path.join(place, f"{name}.slices", digest.hexdigest()[:16])
        os.makedirs(self.place, exist_ok=True)

    def path(self, piece):
        return os.path.join(self.place, f"{piece[0]}-{piece[1]}.json")

    def has(self, piece):
        return os.path.exists(self.path(piece))

    def keep(self, piece, report):
        with open(self.path(piece) + ".new", "w", encoding="utf-8") as out:
            json.dump(report, out)
        os.rename(self.path(piece) + ".new", self.path(piece))

    def report(self, piece):
        with open(self.path(piece), encoding="utf-8") as source:
            return json.load(source)


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


def joined(reports):
    """One report of all slices, those of a configuration one after the other, the first with what is checked once.

    The plans of a configuration are the same in each: it is the same machine."""
    total = reports[0] | {"seconds": sum(report["seconds"] for report in reports), "modes": []}
    for report in reports:
        (mode,) = report["modes"]
        if not total["modes"] or total["modes"][-1]["name"] != mode["name"]:
            total["modes"].append(mode)
            continue
        for caller, found in total["modes"][-1]["callers"].items():
            other = mode["callers"][caller]
            if other["plan"] != found["plan"]:
                raise ValueError(f"{mode['name']}, {caller}: the plans of two slices differ")
            if "escape" in found:
                add(found["escape"], other["escape"])
    return total
