# SPDX-License-Identifier: Apache-2.0
"""The rows of one kernel in several machines, one after the other: an emulated machine takes hours for all of them.

What a machine found stays in PLACE/NAME.slices until the binaries or the choice of rows change, so that an interrupted
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

    def path(self, number):
        return os.path.join(self.place, f"{number}.json")

    def has(self, number):
        return os.path.exists(self.path(number))

    def keep(self, number, report):
        with open(self.path(number) + ".new", "w", encoding="utf-8") as out:
            json.dump(report, out)
        os.rename(self.path(number) + ".new", self.path(number))

    def reports(self):
        """In the order of their numbers: the first has what is checked once."""
        found = []
        for name in sorted((name for name in os.listdir(self.place) if name.endswith(".json")), key=lambda n: int(n[:-5])):
            with open(os.path.join(self.place, name), encoding="utf-8") as source:
                found.append(json.load(source))
        return found


def add(total, rows):
    """The verdicts of one more slice; a status that is not 0 stays."""
    total["status"] = total["status"] or rows["status"]
    total["seconds"] += rows["seconds"]
    total["rows"] += rows["rows"]
    total["counts"] = dict(collections.Counter(total["counts"]) + collections.Counter(rows["counts"]))
    total["others"] += rows["others"]


def joined(reports):
    """One report of all slices.  Their plans are the same: it is the same machine."""
    total = reports[0]
    for report in reports[1:]:
        total["seconds"] += report["seconds"]
        for mode, more in zip(total["modes"], report["modes"]):
            for caller, found in mode["callers"].items():
                other = more["callers"][caller]
                if other["plan"] != found["plan"]:
                    raise ValueError(f"{mode['name']}, {caller}: the plans of two slices differ")
                if "escape" in found:
                    add(found["escape"], other["escape"])
    return total
