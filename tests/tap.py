# SPDX-License-Identifier: Apache-2.0
"""Prints TAP, and counts it."""


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def line(self, good, name, note=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}{note}", flush=True)

    def skip(self, name, why):
        self.line(True, name, f" # SKIP {why}")

    def test(self, name, problems):
        """Fails with the first of the problems, if there are any."""
        for problem in problems[:10]:
            print("# " + problem[:1500])
        self.line(not problems, name)

    def finish(self):
        """The plan, and the exit status."""
        print(f"1..{self.count}")
        return 1 if self.failed else 0
