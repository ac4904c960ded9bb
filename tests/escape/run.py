#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The escape suite: every row of *.case against one corral binary.  Speaks TAP.

A row is four things (see rows.py for the format): the attempt outside, which
must succeed, or there is nothing to prove; the same attempt inside, which must
fail; a legitimate neighbour inside, which must succeed; and a verdict that this
harness takes on the host, from state, not from what the command says of itself.

Run as root, the suite makes two passes: an unprivileged one as a system account
and a root one with the rows that ask for it.  Run by anybody else, only the
first, as oneself.  Exit status: 1 when a row escaped or was overblocked, when a
known limit no longer shows, or when more rows than --max-unproven could not be
proven.
"""
import argparse
import collections
import concurrent.futures
import grp
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import judge  # noqa: E402
import rows  # noqa: E402
import ladder  # noqa: E402  rows.py has set its path
import traces  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "net"))

import lab as labs  # noqa: E402
from scene import Caller  # noqa: E402

BAD = (judge.ESCAPED, judge.OVERBLOCKED, judge.CLOSED, "BROKEN")


def service_of(corral):
    """The program of the daemon, which is beside corral."""
    return os.path.join(os.path.dirname(os.path.abspath(corral)), "corrald")


class Suite:
    """What all rows share: the scratch trees and copies of the programs."""

    def __init__(self, options):
        self.level = getattr(options, "level", ladder.AUTO)
        self.ask = ladder.ASK[self.level]
        self.shared = getattr(options, "shared_proc", False)
        base = options.scratch or ("/srv" if os.access("/srv", os.W_OK) else os.path.expanduser("~"))
        self.top = tempfile.mkdtemp(prefix="escape-", dir=base)
        self.top_tmp = tempfile.mkdtemp(prefix="escape-", dir="/tmp")
        self.bin = os.path.join(self.top, "bin")
        os.mkdir(self.bin)
        # Copies: every caller can read them, and a rebuild does not disturb the run.
        self.pool = getattr(options, "pool", False)
        self.corral = self.copy(f"{HERE}/pool.py" if self.pool else options.corral, "corral")
        if self.pool:
            self.copy(options.corral, "corral.real")
            for name in ("warm", "cold"):
                os.mkdir(f"{self.bin}/{name}")
                os.chmod(f"{self.bin}/{name}", 0o1777)
        service = getattr(options, "service", None) or service_of(options.corral)
        self.no_page = "" if os.path.exists(service) else f"{service} does not exist"
        if not self.no_page:
            self.copy(service, "corrald")
        self.real_corral = f"{self.bin}/corral.real" if self.pool else self.corral
        self.probe = self.copy(options.probe, "probe")
        self.copy(f"{labs.HERE}/say.py", "say")
        self.copy(f"{labs.HERE}/record.py", "record")
        self.lab, self.no_lab = None, "no row asked for it"
        for path in (self.top, self.top_tmp, self.bin):
            os.chmod(path, 0o755)

    def open_lab(self, user):
        try:
            self.lab = labs.Lab((), user)
        except labs.NoLab as problem:
            self.no_lab = str(problem)

    def copy(self, source, name):
        target = os.path.join(self.bin, name)
        shutil.copyfile(source, target)
        os.chmod(target, 0o755)
        return target

    def close(self):
        if self.lab:
            self.lab.close()
        # By programs: these are a hundred thousand files.
        tops = [self.top, self.top_tmp]
        if os.geteuid() != 0:
            subprocess.run(["chmod", "-R", "u+rwX", *tops], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", "--", *tops], check=False, stderr=subprocess.DEVNULL)


def callers(options):
    """The passes to make: name → Caller."""
    me = Caller("root" if os.geteuid() == 0 else "user", os.geteuid(), os.getegid(), [], False)
    if os.geteuid() != 0:
        return {} if options.who == "root" else {"user": me}
    account = pwd.getpwnam(options.user)
    try:
        groups = [grp.getgrnam("users").gr_gid]  # a second group, so that chgrp can work
    except KeyError:
        groups = []
    user = Caller("user", account.pw_uid, account.pw_gid, groups, True)
    found = {"user": user, "root": me}
    return found if options.who == "both" else {options.who: found[options.who]}


def own_account(caller):
    """For what is done to all processes of a user: an account that no other run of this suite has."""
    return Caller(caller.name, 61184 + os.getpid() % 4096, caller.gid, [], True) if caller.switch else caller


def category(row):
    return row.ident[:2]


def work_list(options):
    only = set(options.only.split(",")) if options.only else None
    found = callers(options)
    for row in (row.at(options.level) for row in rows.read_rows(HERE)):
        if only and not {row.ident, row.ident.split(".")[0], category(row)} & only:
            continue
        if category(row) in options.without.split(","):
            continue
        if (options.warm or options.pool) and row["cold"]:
            continue
        if options.quick and row["slow"] == "yes" or not row.concerns(options.level):
            continue
        for name in row.passes():
            if name in found:
                yield row, own_account(found[name]) if "account" in row.words("need") else found[name]


def some_of_each(work, group, most=1):
    """Rows of every group, for each caller: the first, and others that are spread evenly."""
    groups = {}
    for row, caller in work:
        groups.setdefault((group(row), caller.name), []).append((row, caller))
    return [many[i * len(many) // min(most, len(many))] for many in groups.values() for i in range(min(most, len(many)))]


def chosen(options):
    """The work list; of it some rows of each section, the first of each category, or every Nth row."""
    work = list(work_list(options))
    if options.families:
        work = some_of_each(work, lambda row: row.ident.split(".")[0], options.families)
    if options.categories:
        work = some_of_each(work, category)
    return work[options.begin::options.sample]


def groups_left(suite, before):
    """Control groups that stay.  What a supervisor left that was killed, the next run there removes."""
    subprocess.run([suite.corral, "run", "--no-config", *suite.ask, "--", "true"], cwd=suite.top, check=False,
                   env={"PATH": "/usr/bin:/bin", "HOME": suite.top},  # its state goes with the scratch trees
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return traces.staying(traces.dead_cgroups, before)


def judge_one(suite, row, caller):
    start = time.monotonic()
    try:
        result, reason = judge.judge_row(suite, row, caller)
    except Exception:  # a row that breaks the harness is a failure of that row only
        result, reason = "BROKEN", traceback.format_exc(limit=4).replace("\n", " | ")
    return result, " ".join(reason.split()), time.monotonic() - start


def print_row(number, row, caller, answer):
    result, reason, seconds = answer
    name = f"{row.ident} {caller.name}: {row['title']}"
    if result == judge.CONTAINED:
        print(f"ok {number} - {name}")
    elif result == judge.UNPROVEN:
        print(f"ok {number} - {row.ident} {caller.name} # SKIP UNPROVEN {reason}")
    elif result == judge.LIMIT:
        print(f"ok {number} - {name} # LIMIT {reason}")
    else:
        print(f"# {row.where}: {reason}")
        print(f"not ok {number} - {name} # {result}")
    if seconds > 5:
        print(f"# took {seconds:.1f} s")
    sys.stdout.flush()


def record(level, row, caller, answer):
    """One line of --report."""
    result, reason, seconds = answer
    return json.dumps({"level": level, "id": row.ident, "category": category(row), "caller": caller.name,
                       "result": result, "reason": reason, "seconds": round(seconds, 3)})


def in_words(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def run_rows(options, suite, work, out):
    """Judges every row and prints it; counts of results by category."""
    counts = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pending = [pool.submit(judge_one, suite, row, caller) for row, caller in work]
        for number, ((row, caller), future) in enumerate(zip(work, pending), 1):
            answer = future.result()
            counts[category(row)][answer[0]] += 1
            print_row(number, row, caller, answer)
            print(record(options.level, row, caller, answer), file=out, flush=True)
    return counts


def run(options, suite, out):
    work = chosen(options)
    if any("lab" in row.words("need") for row, _ in work):
        suite.open_lab(options.user)
    groups_before = traces.dead_cgroups()
    counts = run_rows(options, suite, work, out)
    left = groups_left(suite, groups_before)
    clean = not left
    for path in left:
        print(f"# left behind: {path}")
    print(f"{'ok' if clean else 'not ok'} {len(work) + 1} - no control group is left behind")
    print(f"1..{len(work) + 1}")
    for name in sorted(counts):
        print(f"# {name}: {in_words(counts[name])}")
    total = sum(counts.values(), collections.Counter())
    print(f"# level {options.level}: {in_words(total)}")
    too_many = options.max_unproven is not None and total[judge.UNPROVEN] > options.max_unproven
    if suite.pool:
        warm, cold = (len(os.listdir(f"{suite.bin}/{name}")) for name in ("warm", "cold"))
        print(f"# pool: {warm} calls in a waiting sandbox, {cold} in a cold one")
        too_many = too_many or warm == 0
    if too_many:
        print(f"# more than {options.max_unproven} rows are unproven")
    return 1 if too_many or not clean or any(total[name] for name in BAD) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--probe", required=True, help="the built probe")
    parser.add_argument("--only", help="ids, section names or categories: FS01,NN11.AF_ALG,PR")
    parser.add_argument("--without", default="", metavar="CATEGORIES", help="leave these out: PX")
    parser.add_argument("--as", dest="who", choices=("user", "root", "both"), default="both")
    parser.add_argument("--user", default="games", help="the account of the unprivileged pass")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scratch", help="where the scratch trees are made")
    parser.add_argument("--max-unproven", type=int)
    parser.add_argument("--families", type=int, nargs="?", const=1, metavar="N",
                        help="of every section that makes several rows N, or one")
    parser.add_argument("--categories", action="store_true", help="the first row of every category")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth of the rows that are left")
    parser.add_argument("--begin", type=int, default=0, metavar="N", help="the first of these is row N, counted from 0")
    parser.add_argument("--quick", action="store_true", help="without the rows that are slow")
    ladder.add_option(parser)
    parser.add_argument("--warm", action="store_true",
                        help="in sessions: the attempts are made by corral_warm, beside the probe")
    parser.add_argument("--shared-proc", action="store_true", help="in a container where a run has the container's /proc")
    parser.add_argument("--pool", action="store_true", help="in waiting sandboxes of the pool (pool.py); level full")
    parser.add_argument("--report", default=os.devnull, help="a file for one JSON object a row")
    parser.add_argument("--list", action="store_true", help="print the rows and their layers")
    options = parser.parse_args()
    if options.list:
        for row in rows.read_rows(HERE):
            print(f"{row.ident:24} {row['class'] or 'C1'} {row['layers']:28} {row['title']}")
        return 0
    options.service = service_of(options.corral)
    if options.warm:
        options.corral = os.path.join(os.path.dirname(os.path.abspath(options.probe)), "corral_warm")
    os.umask(0o022)
    suite = Suite(options)
    try:
        with open(options.report, "w", encoding="utf-8") as out:
            return run(options, suite, out)
    finally:
        suite.close()


if __name__ == "__main__":
    sys.exit(main())
