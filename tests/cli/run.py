#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as its users see it: words in, bytes, codes and objects out.

    tests/cli/run.py --corral build/corral [--build build] [--user games] [--jobs N] [PATTERN]

Run as root it drops to an unprivileged account for every command and repeats
the tests that are marked for it as root.
"""
import argparse
import importlib
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402  the path has to be set first

GROUPS = ("agents", "exits", "identities", "usage", "streams", "results", "result_fds", "signals", "terminal", "live", "environment",
          "inherited", "faults", "limits", "sampling", "homes", "inventory", "grants", "created", "cow", "policies", "choices",
          "floors", "profiles", "levels", "full_access", "network", "hints", "denials", "denial_kinds", "ask", "status", "checks", "whys",
          "learns", "programs", "urls", "leaks", "requests", "scans", "placement", "products", "imports", "commands",
          "snapshots", "seatbelt", "secrets", "runids", "audit", "nested", "skills", "tools")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--build", help="accepted for uniformity with the other suites")
    parser.add_argument("--user", default="games")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-v", action="store_true", help="print how long each test took")
    parser.add_argument("only", nargs="?", help="a regular expression for names of tests")
    args = parser.parse_args()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # under nohup or in the background they are ignored, and so by what we start
    suite = harness.Suite(args.corral, args.user)
    for group in GROUPS:
        importlib.import_module(group).register(suite)
    return suite.run(args.only, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
