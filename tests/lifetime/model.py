#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has Spin try every order of deaths in src/linux/lifetime.pml, and again without edges that are needed."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src/linux/lifetime.pml")

# How everything is killed: by one kill(-1) in a Landlock domain, or child by child.
WAYS = ("SCOPED", "CHILD_BY_CHILD")

# Without these a run outlives some order of two faults, or its end is told wrongly.  What is not
# here alone is a second line: another edge sees the same death.
NEEDED = (("inner_sees_guard",), ("inner_sees_channel",), ("inner_clock",), ("outer_sees_inner",),
          ("supervisor_sees_outer",), ("outer_removes",), ("inner_removes",), ("run_state",),
          ("guard_sees_inner", "guard_sees_channel"), ("guard_clock", "inner_clock"))


def errors(place, *defined):
    """How many orders violate an assertion: Spin stops at the first."""
    def run(*argv):
        return subprocess.run(argv, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
    run("spin", "-a", *[f"-D{word}" for word in defined], MODEL)
    run("gcc", "-O1", "-w", "-DSAFETY", "-o", "pan", "pan.c")
    said = run("./pan", "-E", "-m100000", "-w22")
    if "errors: " not in said or "max search depth too small" in said:
        raise RuntimeError(said)
    return int(said.split("errors: ")[1].split()[0])


def cases():
    """(what, the words that are defined, whether an order violates)"""
    for way in WAYS:
        yield f"every order of two faults ends the run, {way}", (way,), False
        yield f"three faults at once do not, {way}", (way, "FAULTS=3"), True
        for edges in NEEDED:
            yield f"fails without {' and '.join(edges)}, {way}", (way, *[f"WITHOUT_{edge}" for edge in edges]), True


def main():
    rows = list(cases())
    if shutil.which("spin") is None:
        for number, (what, *_) in enumerate(rows, 1):
            print(f"ok {number} {what} # SKIP there is no spin")
        print(f"1..{len(rows)}")
        return 0
    bad = 0
    for number, (what, defined, violated) in enumerate(rows, 1):
        with tempfile.TemporaryDirectory(prefix="lifetime-") as place:
            good = (errors(place, *defined) > 0) == violated
        bad += not good
        print(f"{'ok' if good else 'not ok'} {number} {what}", flush=True)
    print(f"1..{len(rows)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
