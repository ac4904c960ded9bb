#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a script can see of the house style.  Speaks TAP.

    lint.py [--build DIR] [--quick | --thorough] [--only WORDS] [--times]

Each check is run on the tree, and then on a copy of it in which a violation has
been planted: a check that does not see it is itself a failure."""
import argparse
import os
import resource
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # the clone stays as it is

# One file a subject; each lists its checks in harness.CHECKS, in this order.
import rooms  # noqa: E402,F401
import shape  # noqa: E402,F401
import words  # noqa: E402,F401
import invariants  # noqa: E402,F401
import tables  # noqa: E402,F401
import forges  # noqa: E402,F401
import archives  # noqa: E402,F401
import binary  # noqa: E402,F401
import compilers  # noqa: E402,F401
from harness import CHECKS, LONGER, MINUTES, ROOT, SECONDS, Tree  # noqa: E402


def blind(checked, tree):
    """The plants that a check does not see."""
    bad = []
    for number, plant in enumerate(checked.plants, 1):
        with plant.planted(tree) as spoilt:
            if not checked.look(spoilt):
                bad.append(f"the violation {number} that was planted in {plant.name} is not seen")
    # What it saw was the violation: without it there is nothing to see.
    only = {plant.name for plant in checked.plants if os.path.exists(tree.path(plant.name))}
    return bad + [line for name in only for line in checked.look(Tree(tree.root, tree.build, only=name))]


def attempts(chosen, tree, copy):
    """(what is shown, a function that returns complaints)."""
    skipped = {checked.name: checked.other_tool() for checked in chosen}
    for words, look in (("", lambda checked: checked.look(tree)), ("would fail: ", lambda checked: blind(checked, copy))):
        for checked in chosen:
            why = skipped[checked.name]
            yield f"{words}{checked.name}{f' # SKIP {why}' if why else ''}", lambda c=checked, w=why: [] if w else look(c)


def copy_tree(place):
    """Without what was built, and without the history."""
    copy = os.path.join(place, "corral")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build", "build-*", ".git", "__pycache__"))
    return copy


def processor_seconds():
    """Of this process and its children: what a check costs, whatever else the machine does."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def run(chosen, build, times):
    number = failed = 0
    with tempfile.TemporaryDirectory(prefix="corral-lint-") as place:
        for name, look in attempts(chosen, Tree(ROOT, build), Tree(copy_tree(place), build)):
            start = processor_seconds()
            complaints = look()
            number += 1
            failed += bool(complaints)
            for line in "\n".join(complaints).splitlines():
                print(f"# {line}")
            if times:
                print(f"# {processor_seconds() - start:.1f} s")
            print(f"{'not ok' if complaints else 'ok'} {number} - {name}", flush=True)
    print(f"1..{number}")
    return 1 if failed or not number else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--quick", dest="cost", action="store_const", const=SECONDS, default=MINUTES,
                        help="without the analysers, which take minutes")
    parser.add_argument("--thorough", dest="cost", action="store_const", const=LONGER,
                        help="clang's analyser too, which takes longer still")
    parser.add_argument("--only", default="", help="checks whose name holds these words")
    parser.add_argument("--times", action="store_true", help="the processor time of each")
    args = parser.parse_args()
    chosen = [c for c in CHECKS if args.only in c.name and c.cost <= args.cost]
    return run(chosen, os.path.abspath(args.build), args.times)


if __name__ == "__main__":
    sys.exit(main())
