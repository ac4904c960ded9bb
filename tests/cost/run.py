#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost suite: a run makes no more system calls, mounts, processes and page faults than its ceilings.  Speaks TAP.

Seconds depend on the machine and its load; counts do not.  Each row of ceilings.case is one run in a small root
(world.c) that is the same on every host, traced by strace; or one plan for a recorded host, counted by callgrind.  A
count above its ceiling fails, and so does one so far below it that the ceiling no longer guards it: then the ceiling is
lowered.  The counts depend on the kernel and on the compiler a little; on others than those of [HO01] a ceiling has
some slack, and nothing is too low.  With one processor a run has no early process (linux/early.h): nothing is too low.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

from casefile import Row, read_rows  # noqa: E402  the paths have to be set first
import callgrind  # noqa: E402
from count import count  # noqa: E402
from kinds import KINDS, OTHER_COUNTS  # noqa: E402

ELSEWHERE = 0.05  # slack on another kernel, or of another compiler
PROGRAM = "/usr/bin/corral"
SNAPSHOTS = os.path.join(os.path.dirname(HERE), "hosts", "snapshots")
ENVIRONMENT = {"HOME": "/home/user", "PATH": "/usr/bin:/bin", "USER": "user", "LANG": "C.UTF-8"}
SECONDS = 300  # for one traced run, on a machine that is busy with others
JOBS = 2
ATTEMPTS = 3  # what happens on the host may disturb one count, but not three
# How far below its ceiling a count may be.  Of some the kernel or the linker decides a part.
SLACK = {"faults": 0.08, "mapped": 0.02, "instructions": 0.02}
SLACK_OF_CALLS = 0.01

FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n",
    "etc/group": "root:x:0:\nuser:x:1000:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/resolv.conf": "nameserver 192.0.2.53\n",
    "etc/ssl/certs/ca-certificates.crt": "",
}
DIRECTORIES = ("usr/bin", "usr/lib", "dev", "proc", "tmp", "var/lib", "opt", "root", "home/user/project")
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "sbin": "usr/bin"}
GIT = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    "description": "", "index": "", "info/exclude": "", "hooks/pre-commit.sample": "",
    "objects/info/packs": "", "refs/heads/main": "0" * 40 + "\n", "logs/HEAD": "",
}
# A version manager's directory in PATH: many programs, and symlinks to one of them.
TOOLS = ".tools/bin"
PROGRAMS = 200


class Ceilings(Row):
    """One run, and how much it may cost."""

    KEYS = {
        "title": "what is run",
        "run": "the words behind `corral run`, or behind `corral explain --host FILE`",
        "project": "empty or git: what the workspace holds; tools: an empty one, and programs in a directory of HOME in PATH",
        "plan": "a file of tests/hosts/snapshots: the row is about the plan for that host, and nothing is run",
        "denied": "of a plan: how many paths its policy denies",
        "binary": "yes: the row is about the binary itself, and nothing is run",
        "ceilings": "lines of NAME NUMBER REASON",
        "kernel": "of [HO01]: release and machine of the kernel that the counts were taken on",
        "compiler": "of [HO01]: the compiler of the binary that the counts were taken with",
    }
    REQUIRED = ("title",)

    def complaint(self):
        for line in self.lines("ceilings"):
            name, number, reason = (line.split(maxsplit=2) + ["", ""])[:3]
            if name not in {**KINDS, **OTHER_COUNTS} or not number.isdigit() or not reason:
                return f"has a ceiling that is not NAME NUMBER REASON: {line}"
        return super().complaint()

    def ceilings(self):
        for line in self.lines("ceilings"):
            name, number, reason = line.split(maxsplit=2)
            yield name, int(number), reason


class Skip(Exception):
    """The row cannot be counted here; the text says why."""


class World:
    """Where the runs are made: templates of the root, one for each kind of project."""

    def __init__(self, place, corral, build):
        self.place, self.corral = place, os.path.abspath(corral)
        self.program = shutil.copy(f"{build}/tests/cost/world", place)
        self.command = f"{build}/tests/cost/command"
        self.root = os.path.join(place, "root")  # of all runs: each mounts its own in a namespace of its own
        os.mkdir(self.root)
        self.templates = {project: self.make(project) for project in ("empty", "git", "tools")}

    def make(self, project):
        root = os.path.join(self.place, project)
        for name in DIRECTORIES:
            os.makedirs(f"{root}/{name}")
        for name, target in LINKS.items():
            os.symlink(target, f"{root}/{name}")
        files = dict(FILES)
        if project == "git":
            files |= {f"home/user/project/.git/{name}": text for name, text in GIT.items()}
        if project == "tools":
            files |= {f"home/user/{TOOLS}/program{n}": "" for n in range(PROGRAMS)}
        for name, text in files.items():
            os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
            with open(f"{root}/{name}", "w", encoding="utf-8") as out:
                out.write(text)
        for n in range(PROGRAMS if project == "tools" else 0):
            os.symlink("program0", f"{root}/home/user/{TOOLS}/link{n}")
        shutil.copy(self.corral, root + PROGRAM)
        shutil.copy(self.command, f"{root}/usr/bin/command")
        os.chmod(f"{root}/tmp", 0o1777)
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "1000:1000", f"{root}/home/user"], check=True)
        return root

    def execute(self, before, project, *words):
        # A background job of a shell ignores SIGINT and SIGQUIT, and a run resets each signal that is ignored.
        # The gate raises its limit of descriptors, and a run that of pid 1, if the caller's leaves room for it.
        argv = ["env", "--default-signal", "prlimit", "--nofile=1024:4096", *before, self.program, self.templates[project],
                self.root, PROGRAM, *words]
        path = {"PATH": f"{ENVIRONMENT['HOME']}/{TOOLS}:{ENVIRONMENT['PATH']}"} if project == "tools" else {}
        done = subprocess.run(argv, env={**ENVIRONMENT, **path},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=SECONDS, check=False)
        if done.returncode == 99:
            raise Skip(f"the root for counting cannot be made: {done.stderr.strip()}")
        if done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
        return done

    def count(self, row):
        """Every count of one row."""
        if row["binary"]:
            return binary_counts(self.corral)
        if row["plan"]:
            return self.plan_counts(row)
        log = os.path.join(self.place, f"{row.ident}.log")
        done = self.execute(["strace", "-f", "-o", log], row["project"] or "empty", "run", *row.words("run"))
        with open(log, encoding="utf-8", errors="replace") as lines:
            found = count(lines.read().splitlines(), PROGRAM)
        found["faults"] = int(re.search(r"^faults (\d+)$", done.stderr, re.MULTILINE)[1])
        return found

    def policy(self, row):
        path = os.path.join(self.place, f"{row.ident}.toml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"fs.deny = {json.dumps([f'secrets/file{n}' for n in range(int(row['denied']))])}\n")
        return path

    def plan_counts(self, row):
        if shutil.which("valgrind") is None:
            raise Skip("valgrind is not installed (packaging/packages.sh check)")
        host, profile = f"{SNAPSHOTS}/{row['plan']}", os.path.join(self.place, f"{row.ident}.profile")
        words = [self.corral, "explain", "--host", host, *row.words("run")]
        if row["denied"]:
            words += ["--policy", self.policy(row)]
        done = subprocess.run([*callgrind.command(profile), *words], env=ENVIRONMENT, cwd=self.place,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}: {done.stderr.strip()[-500:]}")
        with open(profile, encoding="utf-8") as lines:
            return callgrind.count(lines)


def binary_counts(path):
    """What its program headers have the kernel map; the file's size also has debug sections, which depend on paths."""
    said = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {"mapped": sum(int(line.split()[5], 16) for line in said.splitlines() if line.split()[:1] == ["LOAD"])}


def judge(ceiling, got, slack, exact):
    """What is wrong with one count, or None."""
    name, most, reason = ceiling
    if not exact:
        return f"{name}: {got}, more than {most} + {ELSEWHERE:.0%} ({reason})" if got > most * (1 + ELSEWHERE) else None
    if got > most:
        return f"{name}: {got}, ceiling {most} ({reason})"
    if got < most * (1 - slack):
        return f"{name}: {got}, far below its ceiling {most}: lower it to {got} ({reason})"
    return None


def strange(corral, host):
    """(whether the kernel, whether the compiler is another one than that of the counts)"""
    with open(corral, "rb") as binary:
        content = binary.read()
    if b"GNU C Library" in content:
        raise Skip("corral is linked with glibc; the ceilings are of the musl binary (install musl-tools)")
    kernel = ".".join(platform.release().split(".")[:2]) + " " + platform.machine()
    return kernel != host["kernel"], host["compiler"].encode() not in content


def need_full(world):
    """The ceilings are of hosts that have every mechanism."""
    status = json.loads(world.execute([], "empty", "status", "--json").stdout.splitlines()[-1])
    listener = status["mechanisms"]["seccomp"].get("listener")
    if (status["level"], status["engine"], listener) != ("full", "namespaces", True):
        raise Skip(f"the ceilings are of level full; this host has {status['level']} ({status['engine']}, "
                   f"seccomp listener: {listener})")


class Suite:
    def __init__(self, options):
        rows = {row.ident: row for row in read_rows(HERE, Ceilings)}
        self.host, self.options = rows.pop("HO01"), options
        self.rows = [row for row in rows.values() if re.search(options.only, row.ident)]
        self.failed = 0

    def complaints(self, row, found):
        kernel, compiler = self.strange
        alone = len(os.sched_getaffinity(0)) == 1
        exact = not (compiler if row["binary"] or row["plan"] else kernel or alone)
        for ceiling in row.ceilings():
            slack = SLACK.get(ceiling[0], SLACK_OF_CALLS)
            yield judge(ceiling, found.get(ceiling[0], 0), slack, exact)

    def judged(self, row):
        """(the counts, what is wrong with them, what was wrong before they were taken again); a skip has no counts."""
        found, wrong, before = {}, [], []
        for _ in range(ATTEMPTS):
            before, wrong = before + wrong, []
            try:
                found = self.count(row)
                wrong = list(filter(None, self.complaints(row, found)))
            except Skip as reason:
                return reason, [], []
            except (AssertionError, subprocess.SubprocessError) as error:
                wrong = [str(error)]
            if not wrong:
                break
        return found, wrong, before

    def tell(self, number, row, found, wrong, before):
        if isinstance(found, Skip):
            print(f"ok {number} - {row.ident} {row['title']} # SKIP {found}")
            return
        for line in wrong or [f"counted again: {line}" for line in before]:
            print(f"# {row.where}: {line}")
        if self.options.v:
            print("# " + ", ".join(f"{name} {found.get(name, 0)}" for name in [*OTHER_COUNTS, *KINDS]))
        print(f"{'not ok' if wrong else 'ok'} {number} - {row.ident} {row['title']}", flush=True)
        self.failed += bool(wrong)

    def run(self, world):
        self.strange = (False, False)
        try:
            self.strange = strange(world.corral, self.host)
            need_full(world)
            self.count = world.count
        except Skip as reason:
            self.count = functools.partial(refuse, reason)
        print(f"1..{len(self.rows)}")
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for number, (row, judged) in enumerate(zip(self.rows, pool.map(self.judged, self.rows)), 1):
                self.tell(number, row, *judged)
        return 1 if self.failed else 0


def refuse(reason, _row):
    raise reason


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--build", required=True, help="where tests/cost/world was built")
    parser.add_argument("--only", default="", help="regular expression: which rows")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("-v", action="store_true", help="every count, also those without a ceiling")
    options = parser.parse_args()
    os.umask(0o022)
    if os.getpriority(os.PRIO_PROCESS, 0) < 0:
        os.setpriority(os.PRIO_PROCESS, 0, 0)  # a run of a caller with a raised priority lowers it: one call more
    with tempfile.TemporaryDirectory(prefix="cost-") as place:
        os.chmod(place, 0o755)
        return Suite(options).run(World(place, options.corral, options.build))


if __name__ == "__main__":
    sys.exit(main())
