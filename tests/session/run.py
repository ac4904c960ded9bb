#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions and their daemon: life cycle, isolation, tokens, bounds.

Each test runs against a real daemon, as an ordinary user and as root, at both levels.  A test of
isolation has a control outside, a twin inside, and a verdict from the host.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import audited  # noqa: E402  the path has to be set first
import bounds  # noqa: E402
import bridge  # noqa: E402
import copies  # noqa: E402
import cow  # noqa: E402
import direct  # noqa: E402
import hints  # noqa: E402
import isolation  # noqa: E402
import life  # noqa: E402
import overview  # noqa: E402
import places  # noqa: E402
import pool  # noqa: E402
import questions  # noqa: E402
import scopes  # noqa: E402
import several  # noqa: E402
import limits  # noqa: E402
import listed  # noqa: E402
import lock  # noqa: E402
import metrics  # noqa: E402
import on_demand  # noqa: E402
import terminal  # noqa: E402
import tools  # noqa: E402
import variables  # noqa: E402
from service import run_suite  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--as", dest="user", choices=("user", "root", "both"), default="both")
    parser.add_argument("--level", choices=("full", "standard", "both"), default="both")
    parser.add_argument("--quick", action="store_true", help="root at one level, and without the pool")
    parser.add_argument("--times", action="store_true", help="print the seconds of each test")
    parser.add_argument("only", nargs="?", default=".")
    args = parser.parse_args()
    users = ["user", "root"] if args.user == "both" and os.geteuid() == 0 else ["user" if args.user == "both" else args.user]
    levels = ["full", "standard"] if args.level == "both" else [args.level]
    passes = [(user, level) for user in users for level in levels]
    if args.quick:
        passes = [one for one in passes if one != ("root", "standard")]

    def modules_of(level):
        modules = [life, direct, bridge, copies, cow, limits, lock, terminal, on_demand, isolation, scopes, places, metrics, audited, tools, bounds,
                   questions, overview, variables, hints, listed, several]
        # A mount anywhere on the host ends a pool, and other suites mount; level full alone has one.
        return modules + ([pool] if not args.quick and level == "full" else [])

    return run_suite(args.corral, passes, modules_of, args.only, times=args.times)


if __name__ == "__main__":
    sys.exit(main())
