#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral mcp` as its clients see it.

    tests/mcp/run.py --corral build/corral [--user games] [--jobs N] [PATTERN]

corrald has to be beside corral.  Run as root it drops to an unprivileged account.
"""
import argparse
import importlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]
import harness  # noqa: E402  the path has to be set first

class Box(harness.Box):
    """Ends the servers of a test that it left running: by the end of their input, or a signal."""

    def close(self):
        for process in self.ours:
            if process.stdin:
                process.stdin.close()
            elif process.poll() is None:
                process.terminate()
        return super().close()


harness.Box = Box
GROUPS = ("protocol", "malformed", "tools", "boundary", "running", "http", "http_malformed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--user", default="games")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("only", nargs="?", help="a regular expression for names of tests")
    args = parser.parse_args()
    suite = harness.Suite(args.corral, args.user)
    for group in GROUPS:
        importlib.import_module(group).register(suite)
    return suite.run(args.only, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
