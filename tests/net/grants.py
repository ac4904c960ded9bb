#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Network programs in the lab that fail for one reason: following the printed grant, by script, makes them pass.  Speaks TAP.

    tests/net/grants.py --corral build/corral [--level full|standard] [--only CU01,PG]

A row is one of clients.case.  The command runs outside, which proves that the server is there; then in a sandbox with a
filtered network and another host, where it must fail and reach nothing; then with the option that `allow_with` of its denials names, and so on until
nothing is refused any more.  No option may name another host, and the command must pass within ROUNDS.
"""
import argparse
import json
import os
import shlex
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import casefile  # noqa: E402  the paths have to be set first
import clients  # noqa: E402
import ladder  # noqa: E402
import lab as labs  # noqa: E402

# curl, wget, git by three protocols, ssh, rsync, psql, redis-cli, mariadb, npm, pip, Node, Perl, Go
ROWS = ("CU01", "CU02", "WG01", "GI01", "GI02", "GI03", "SH01", "RS01", "PG01", "RD01", "MY01", "NP01", "PI01", "ND02", "PE01",
        "GO01")
ROUNDS = 3  # the name, then its port, then one more port


class Attempt(clients.Call):
    """One run in the sandbox with the grants that were printed so far."""

    def __init__(self, suite, row, caller, grants):
        self.grants = grants
        super().__init__(suite, row, caller, clients.DENIED, True)

    def corral(self):
        return [self.suite.corral, "run", *ladder.ASK[self.suite.options.level], "--no-config", "--json", "--timeout", "60s",
                "--net", "filtered", "--allow-host", clients.ALLOWED, "--read", f"{self.suite.top}/programs", "--read", f"{self.suite.top}/built", *self.grants, "--"]

    def result(self):
        try:
            return json.loads(self.out)
        except ValueError as problem:
            raise clients.Failed(f"no result: {self.said()}") from problem


def words_of(option):
    """The option that a denial prints, as words; it may name the host of the row and nothing else."""
    words = shlex.split(option)
    if len(words) != 2 or words[0] != "--allow-host" or words[1].partition(":")[0] != clients.DENIED:
        raise clients.Failed(f"the grant is {option!r}")
    return words


def judge(suite, row, caller):
    """The options that were needed."""
    clients.prepare(suite, row)
    outside = clients.Call(suite, row, caller, clients.DENIED, False)
    try:
        clients.demand_reached(outside, "the control")
    except clients.Failed as problem:
        raise clients.Skipped(f"UNPROVEN {problem}") from problem
    grants = []
    for turn in range(ROUNDS + 1):
        attempt = Attempt(suite, row, caller, grants)
        result = attempt.result()
        if result["exit_code"] == 0:
            break
        if not grants and attempt.seen():
            raise clients.Failed(f"reached without a grant: {attempt.seen()[0][:200]}")
        printed = {entry["allow_with"] for entry in result["denials"] if entry["allow_with"]}
        if turn == ROUNDS or not printed:
            raise clients.Failed(f"after {grants}, it prints {printed}: {attempt.said()}")
        grants = [*grants, *(word for option in sorted(printed) for word in words_of(option))]
    if not grants:
        raise clients.Failed("it passes without a grant")
    clients.demand_reached(attempt, f"with {grants}")
    return " ".join(grants)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--user", default="games", help="the account of the unprivileged pass")
    parser.add_argument("--as", dest="who", choices=("user", "root", "both"), default="user")
    parser.add_argument("--only", help="ids or categories: CU01,GI")
    ladder.add_option(parser)
    options = parser.parse_args()
    os.umask(0o022)
    only = set(options.only.split(",")) if options.only else None
    rows = [row for row in casefile.read_rows(HERE, clients.Row) if row.ident.partition(".")[0] in ROWS and
            (only is None or {row.ident, row.ident[:4], row.ident[:2]} & only)]
    work = [(row, caller) for row in rows for caller in clients.callers(options)]
    try:
        suite = clients.Suite(options, sorted({name for row in rows for name in row.words("service")}))
    except labs.NoLab as problem:
        print(f"ok 1 - the lab # SKIP {problem}\n1..1")
        return 0
    try:
        return clients.run(suite, work, judge)
    finally:
        suite.close()


if __name__ == "__main__":
    sys.exit(main())
