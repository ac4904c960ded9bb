#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges rows with one binary, as an account that is not root; one JSON line each.

Started by scratch.py as the first process of a pid namespace.
"""
import argparse
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "escape"))

import run as escape  # noqa: E402

# In the place of a row's own: whether the sandbox is still usable is not the question.
NO_TWIN = {"twin": "", "twin-inside": ":", "twin-launch": "", "twin-args": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True)
    parser.add_argument("--probe", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--without-twins", action="store_true")
    parser.add_argument("idents", nargs="+")
    options = parser.parse_args()
    options.scratch, options.who = None, "user"
    os.umask(0o022)
    caller = escape.callers(options)["user"]
    if caller.uid == 0:
        sys.exit("mutants do not run as root")
    wanted = {row.ident: row for row in escape.rows.read_rows(escape.HERE)}
    suite = escape.Suite(options)
    try:
        if any("lab" in wanted[ident].words("need") for ident in options.idents):
            suite.open_lab(options.user)
        for ident in options.idents:
            row = wanted[ident]
            if options.without_twins:
                row.update(NO_TWIN)
            print(json.dumps([ident, escape.judge_one(suite, row, caller)[:2]]), flush=True)
    finally:
        suite.close()


if __name__ == "__main__":
    main()
