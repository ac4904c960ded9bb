#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `corral ui`, over HTTP, against a real daemon: its views and actions (views.py), and who may see it (security.py).

    tests/ui/run.py --corral build/corral [--quick] [NAME]

The browser tests are tests/ui/real.py.
"""
import argparse
import os
import re
import sys
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{os.path.dirname(HERE)}/session"]

from service import Service  # noqa: E402  the path has to be set first
import security  # noqa: E402
import views  # noqa: E402


def tests_of(module):
    return [(name, value) for name, value in vars(module).items() if name.startswith("test_")]


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
    number, bad = 0, 0
    for user, level in passes:
        service = Service(args.corral, user, level).start()
        service.thorough = not args.quick
        try:
            for name, test in sum(map(tests_of, [views, security]), []):
                if not re.search(args.only, name):
                    continue
                number += 1
                try:
                    test(service)
                    print(f"ok {number} - {name} ({user}, {level})", flush=True)
                except Exception:  # pylint: disable=broad-except
                    bad += 1
                    for line in traceback.format_exc().splitlines() + service.text()[-2000:].decode(errors="replace").splitlines():
                        print(f"# {line}")
                    print(f"not ok {number} - {name} ({user}, {level})", flush=True)
        finally:
            service.close()
    print(f"1..{number}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
