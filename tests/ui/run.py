#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `corral ui`, over HTTP, against a real daemon: its views and actions (views.py), and who may see it (security.py).

    tests/ui/run.py --corral build/corral [--quick] [NAME]

The browser tests are tests/ui/real.py.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{os.path.dirname(HERE)}/session"]

from service import run_suite  # noqa: E402  the path has to be set first
import security  # noqa: E402
import views  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--quick", action="store_true", help="each user at one level, smaller numbers")
    parser.add_argument("only", nargs="?", default=".")
    args = parser.parse_args()
    users = ["user", "root"] if os.geteuid() == 0 else ["user"]
    passes = [(user, level) for user in users for level in ("full", "standard")]
    if args.quick:
        passes = [("user", "full"), ("user", "standard")]

    def prepare(service):
        service.thorough = not args.quick

    return run_suite(args.corral, passes, lambda _level: [views, security], args.only, prepare)


if __name__ == "__main__":
    sys.exit(main())
