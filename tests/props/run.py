#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Properties of rules about files, over random patterns, trees, rules and calls, and of URLs.  Speaks TAP.

    tests/props/run.py --corral build/corral --build build [--trees N] [--seed N] [--levels full] [PATTERN]

A failure names its seed; `--seed N --trees 1` plays that tree again.
"""
import argparse
import importlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]
import harness  # noqa: E402  the path has to be set first

GROUPS = ("globs", "urls", "requests", "layers", "trees", "seen")


def built(build, name):
    path = os.path.join(os.path.abspath(build), "tests/props", name)
    return path if os.access(path, os.X_OK) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True)
    parser.add_argument("--build", required=True, help="where tests/props was built")
    parser.add_argument("--user", default="games")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trees", type=int, default=150, help="random trees a level")
    parser.add_argument("--layers", type=int, default=50, help="random project files a level, and random floors")
    parser.add_argument("--calls", type=int, default=40, help="calls in each tree")
    parser.add_argument("--patterns", type=int, default=5000, help="random patterns")
    parser.add_argument("--levels", default="full,standard")
    parser.add_argument("-v", action="store_true", help="print how long each test took")
    parser.add_argument("only", nargs="?", help="a regular expression for names of tests")
    args = parser.parse_args()
    suite = harness.Suite(args.corral, args.user)
    suite.build, suite.seed, suite.trees, suite.calls = args.build, args.seed, args.trees, args.calls
    suite.patterns, suite.levels, suite.portion = args.patterns, args.levels.split(","), 25
    suite.layers = args.layers
    suite.globs, suite.doer = built(args.build, "globs"), built(args.build, "doer")
    suite.urls = built(args.build, "urls")
    for group in GROUPS:
        importlib.import_module(group).register(suite)
    return suite.run(args.only, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
