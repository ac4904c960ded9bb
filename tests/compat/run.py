#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compatibility suite: every row of *.case, outside and inside.  Speaks TAP.

A row's command runs as the control in a scratch workspace of an ordinary
account, and again as `corral run -- sh -c COMMAND` in an equal one, with no
options and no configuration.  What can be seen of both must be the same, or
what the row says in `why` (see rows.py for the format).

Run as root, the suite makes two passes: one as an unprivileged account and one
as root.  Run by anybody else, only the first, as oneself.  Exit status: 1 when
a tier falls short of its share, 100 % of tier 1 and 98 % of tier 2, or when a
row of tier 3 fails that does not say why.  At level standard every row that fails
says why in `standard`; the share is printed: 98 % of tier 1 is wanted, 96 was
reached when this was written, and less than 95 is a step back.
"""
import argparse
import concurrent.futures
import json
import os
import pwd
import shutil
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import fixtures  # noqa: E402  the path has to be set first
import judge  # noqa: E402
import rows  # noqa: E402
import ladder  # noqa: E402  rows.py has set its path
import traces  # noqa: E402

SHARES = {1: 100.0, 2: 98.0}
BELOW_FULL = {1: 95.0, 2: 80.0}


class Caller:
    """Who a pass runs as."""

    def __init__(self, name, entry, switch):
        self.name, self.login, self.uid, self.gid = name, entry.pw_name, entry.pw_uid, entry.pw_gid
        self.switch = switch

    def popen(self):
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}


def callers(options):
    """The passes to make: name → Caller."""
    root = os.geteuid() == 0
    me = Caller("root" if root else "user", pwd.getpwuid(os.geteuid()), False)
    found = {me.name: me}
    if root:
        found["user"] = Caller("user", pwd.getpwnam(options.user), True)
    return {name: caller for name, caller in found.items() if options.who in (name, "both")}


class Suite:
    """What all rows share: the scratch tree, a copy of the program, the fixtures."""

    def __init__(self, options):
        self.level = options.level
        self.ask = ladder.ASK[self.level]
        self.patience = options.patience
        self.timed = not options.quick  # a loaded machine takes longer than `within`
        base = options.scratch or ("/srv" if os.access("/srv", os.W_OK) else None)
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="compat-", dir=base))
        os.chmod(self.top, 0o755)
        # A copy: every caller can read it, and a rebuild does not disturb the run.
        self.corral = shutil.copy(options.corral, f"{self.top}/corral")
        os.chmod(self.corral, 0o755)
        os.mkdir(f"{self.top}/fixtures")
        self.fixtures = fixtures.Fixtures(f"{self.top}/fixtures")

    @staticmethod
    def remove(top):
        """Also directories that a row has made unwritable."""
        for folder, dirs, _ in os.walk(top):
            for name in dirs:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(top, ignore_errors=True)

    def close(self):
        self.remove(self.top)


def chosen(row, options):
    only = set(options.only.split(",")) if options.only else None
    if only and not {row.ident, row.ident.split(".")[0], row.category()} & only:
        return False
    return bool(row["quick"]) or not options.quick


def work_list(options):
    """One pass after the other: the controls of one row would meet on the host's ports."""
    picked = [row for row in rows.read_rows(HERE) if chosen(row, options)]
    if options.categories:
        picked = list({row.category(): row for row in reversed(picked)}.values())[::-1]
    return [(row, caller) for name, caller in callers(options).items() for row in picked if name in row.passes()]


def judge_one(suite, row, caller):
    """One line of --report."""
    start = time.monotonic()
    try:
        result, reason = judge.judge(suite, row, caller)
    except Exception:  # a row that breaks the harness is a failure of that row only
        result, reason = judge.FAILED, traceback.format_exc(limit=4)
    return {"level": suite.level, "id": row.ident, "tier": row.tier(), "category": row.category(), "caller": caller.name,
            "result": result, "reason": reason.strip(), "seconds": round(time.monotonic() - start, 2)}


def say(number, row, answer):
    name = f"{row.ident} {answer['caller']}: {row.title()}"
    if answer["result"] == judge.UNPROVEN:
        print(f"ok {number} - {row.ident} {answer['caller']} # SKIP UNPROVEN {answer['reason']}")
    elif answer["result"] == judge.PASSED:
        print(f"ok {number} - {name}")
    elif answer["result"] == judge.KNOWN:
        print(f"ok {number} - {row.ident} {answer['caller']} # SKIP NOT AT THIS LEVEL {answer['reason']}")
    else:
        for line in [f"{row.where}: [{row.ident}] {answer['seconds']} s"] + answer["reason"].splitlines():
            print(f"# {line}")
        print(f"not ok {number} - {name}")
    sys.stdout.flush()


def judge_all(options, suite, work):
    """The answers, each said as soon as those before it are."""
    answers = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = [pool.submit(judge_one, suite, row, caller) for row, caller in work]
        for number, (item, future) in enumerate(zip(work, pending), 1):
            answers.append(future.result())
            say(number, item[0], answers[-1])
    return answers


def summary(level, work, answers, quick):
    """Prints each tier's share; true when all tiers have theirs."""
    # The quick rows are too few for a share of what a level cannot do.
    below = {} if quick else BELOW_FULL
    shares = SHARES if level in (ladder.AUTO, "full") else below
    good = bool(answers)
    for tier in (1, 2, 3):
        mine = [(row, answer) for (row, _), answer in zip(work, answers) if answer["tier"] == tier]
        proven = [item for item in mine if item[1]["result"] != judge.UNPROVEN]
        failed = [row for row, answer in proven if answer["result"] == judge.FAILED]
        passed = sum(answer["result"] == judge.PASSED for _, answer in proven)
        share = 100.0 * passed / len(proven) if proven else 100.0
        print(f"# level {level}, tier {tier}: {passed} of {len(proven)} ({share:.1f} %), "
              f"{len(proven) - passed - len(failed)} not at this level, {len(mine) - len(proven)} unproven")
        good = good and share >= shares.get(tier, 0.0) and (tier < 3 or all(row["why"] for row in failed))
    for row in {row.ident: row for row, _ in work if row["why"]}.values():
        print(f"# differs: {row.ident} {row.title()}: {row['why']}")
    return good


def run(options, suite):
    work = work_list(options)
    before = traces.dead_cgroups()
    answers = judge_all(options, suite, work)
    clean = not traces.staying(traces.dead_cgroups, before)
    number = len(answers) + 1
    print(f"{'ok' if clean else 'not ok'} {number} - no control group is left behind")
    print(f"1..{number}")
    if options.report:
        with open(options.report, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(answer) + "\n" for answer in answers)
    return 0 if summary(options.level, work, answers, options.quick) and clean else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", help="the binary under test")
    parser.add_argument("--user", default="games", help="the account of the unprivileged pass")
    parser.add_argument("--as", dest="who", choices=("user", "root", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="only the quick subset")
    parser.add_argument("--categories", action="store_true", help="the first row of every category")
    parser.add_argument("--patience", type=float, default=3600.0, help="most seconds for any one call inside")
    ladder.add_option(parser)
    parser.add_argument("--only", help="ids, section names or categories: GI07,TX03.sort,PR")
    parser.add_argument("--scratch", help="where the scratch tree is made")
    parser.add_argument("--report", help="a file for one JSON object a line and row")
    parser.add_argument("--list", action="store_true", help="print the rows")
    options = parser.parse_args()
    if options.list:
        for row in rows.read_rows(HERE):
            print(f"{row.ident:16} T{row.tier()} {'quick' if row['quick'] else '':5} {row.title()}")
        return 0
    if not options.corral:
        parser.error("--corral is required")
    os.umask(0o022)
    suite = Suite(options)
    try:
        return run(options, suite)
    finally:
        suite.close()


if __name__ == "__main__":
    sys.exit(main())
