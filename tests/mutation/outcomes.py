# SPDX-License-Identifier: Apache-2.0
"""What is known of the mutants, a line of a file for each, with the commit and the day it was asked.

All mutants take hours.  So a line stays until its mutant is asked again: the next call, on any machine, asks those
without a line first, and then those whose source has changed since.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from stamp import stamp  # noqa: E402  the path has to be set first


class Outcomes:
    """mutant → who noticed it."""

    def __init__(self, path):
        self.path, self.run, self.lines = path, stamp(), {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                self.lines = {line["mutant"]: line for line in map(json.loads, source)}

    def found(self, mutant):
        """The word of the last time; "": nothing noticed; None: it was never asked."""
        line = self.lines.get(mutant.title())
        return None if line is None else line["found"]

    def is_stale(self, mutant):
        """It was asked when its source was another one."""
        line = self.lines.get(mutant.title())
        return line is not None and line["key"] != mutant.key()

    def age(self, mutant):
        """To sort by: never asked, stale, nothing noticed it, noticed."""
        found = self.found(mutant)
        return 0 if found is None else 1 if self.is_stale(mutant) else 2 if not found else 3

    def keep(self, mutant, found):
        self.lines[mutant.title()] = {"mutant": mutant.title(), "key": mutant.key(), "found": found, "run": self.run}
        with open(self.path + ".new", "w", encoding="utf-8") as out:
            for _, line in sorted(self.lines.items()):
                print(json.dumps(line), file=out)
        os.rename(self.path + ".new", self.path)
