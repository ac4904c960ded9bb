#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every suite and adds up.  `make quick`, `make check` and `make proof` end with this program's last line.

A suite is a program that speaks TAP.  It passes when every line is "ok", the
plan line is there and its exit status is 0; a "# SKIP" is counted apart and is
never a pass.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import ending  # noqa: E402  no file beside it
import report  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PYTHON = "/usr/bin/python3"
SANITIZED = " (sanitized)"  # after the name of a program
DOCUMENT = f"{ROOT}/docs/proof.md"

# How much of the corpus and of the attempts a proof takes to each level.  Below standard
# files are open, so what is attempted there is never attempted as root.
PROOF = {
    "full": ([], []),
    "standard": ([], []),
    "minimal": (["--quick", "--as", "user"], ["--quick", "--as", "user"]),
    "none": (["--quick", "--as", "user"], ["--quick", "--as", "user"]),
}

def programs(build, suffix, state, without=()):
    """The test programs that a build made.  The library's state is kept where it goes again, not in the caller's home."""
    for path in sorted(glob.glob(f"{build}/tests/*/test_*") + glob.glob(f"{build}/tests/api/api_*")):
        name = os.path.basename(path)
        if os.path.isfile(path) and os.access(path, os.X_OK) and name not in without:
            yield name + suffix, ["env", f"XDG_STATE_HOME={state}", path]


def state_of(corral):
    return f"{os.path.dirname(corral)}/state"


def sanitized_programs(build, corral):
    # The tripwire stands in for malloc, which is what the sanitizer does too.
    return list(programs(build, SANITIZED, state_of(corral), without=("test_tripwire",)))


def common(build, corral):
    """(name, argv) of what is run for either purpose; many short ones last."""
    yield "cli", [PYTHON, f"{HERE}/cli/run.py", "--corral", corral, "--build", build, "--jobs", "3"]  # they mostly wait
    yield "docs", [PYTHON, f"{HERE}/docs/run.py", "--corral", corral, "--build", build]
    yield "mcp", [PYTHON, f"{HERE}/mcp/run.py", "--corral", corral]
    yield "nulls", [PYTHON, f"{HERE}/api/nulls.py", "--library", f"{build}/src/libcorral.so"]
    yield "shells", [PYTHON, f"{HERE}/unit/shell_against_shells.py", f"{build}/tests/unit/shell_dump"]
    yield "toml", [PYTHON, f"{HERE}/unit/toml_against_tomllib.py", f"{build}/tests/unit/doc_dump"]
    yield "dns", [PYTHON, f"{HERE}/unit/dns_against_python.py", f"{build}/tests/unit/dns_dump"]
    yield "tls_hello", [PYTHON, f"{HERE}/unit/tls_hello_of_clients.py", f"{build}/tests/unit/sniff"]
    yield "leak scan", [PYTHON, f"{HERE}/leak/against_python.py", f"{build}/tests/unit/leak_dump",
                        f"{build}/tests/unit/leak_kinds_dump"]
    yield "leak kinds", [PYTHON, f"{HERE}/leak/kinds.py", f"{build}/tests/unit/leak_kinds_dump"]
    yield "http", [PYTHON, f"{HERE}/unit/http_against_others.py", f"{build}/tests/unit/sniff"]
    yield "conversation", [PYTHON, f"{HERE}/unit/conversation_against_model.py", f"{build}/tests/unit/sniff"]
    yield "resolver", [PYTHON, f"{HERE}/unit/resolver_against_servers.py", f"{build}/tests/unit/dns_dump"]
    yield "release", [PYTHON, f"{HERE}/packaging/release.py"]
    yield from programs(build, "", state_of(corral))


def name_of(suite, level):
    """full is what is meant where nothing is said."""
    return suite if level == "full" else f"{suite} ({level})"


def check_suites(build, corral, probe):
    """What a change has to pass in minutes, and the same each time: chance finds, it does not judge."""
    # Every family of attempts by a few of its rows; elsewhere, where they are the same ones, by the first.  A proof has all.
    for name, level, more in (("escape", "full", ["--as", "user", "--families", "2", "--jobs", "3"]), ("escape (root)", "full", ["--as", "root", "--families"]),
                              ("escape (standard)", "standard", ["--as", "user", "--families"])):
        yield name, [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe, "--quick", "--level", level, *more,
                     "--without", "PX"]
    yield "escape (gate)", [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe, "--quick", "--families",
                            "--level", "full", "--only", "PX", "--as", "user", "--jobs", "4"]
    for level, net in (("standard", "none"), ("standard", "filtered"), ("full", "filtered")):
        yield f"lifetime ({level}, {net})", [PYTHON, f"{HERE}/lifetime/kill.py", "--corral", corral, "--level", level,
                                             "--net", net, "--rounds", "40"]
    yield "lifetime (vault)", [PYTHON, f"{HERE}/lifetime/vault.py", "--corral", corral, "--times", "60", "--seed", "1"]
    yield "lifetime (audit)", [PYTHON, f"{HERE}/lifetime/audit.py", "--corral", corral, "--times", "60", "--seed", "1",
                               "--calls"]
    # Each has a daemon and an account of its own.
    for user, level in (("user", "full"), ("user", "standard"), ("root", "full")):
        if user == "user" or os.geteuid() == 0:
            yield f"session: {user}, {level}", [PYTHON, f"{HERE}/session/run.py", "--corral", corral, "--quick", "--as", user,
                                                "--level", level]
    yield "ui", [PYTHON, f"{HERE}/ui/run.py", "--corral", corral, "--quick"]
    for level in ("full", "standard"):
        yield f"session (kill, {level})", [PYTHON, f"{HERE}/session/kill.py", "--corral", corral, "--level", level,
                                           "--rounds", "20", "--seed", "1"]
    yield "sdk", [PYTHON, f"{HERE}/sdk/run.py", "--corral", corral]
    yield "agents", [PYTHON, f"{HERE}/agents/run.py", "--corral", corral, "--place", f"{build}/agents", "--quick"]
    yield "clients", [PYTHON, f"{HERE}/net/clients.py", "--corral", corral, "--quick"]
    yield "gate", [PYTHON, f"{HERE}/net/gate.py", "--corral", corral, "--quick"]
    yield "changes", [PYTHON, f"{HERE}/net/changes.py", "--corral", corral, "--quick"]
    yield "storm", [PYTHON, f"{HERE}/net/storm.py", "--corral", corral, "--quick"]
    yield "parity", [PYTHON, f"{HERE}/props/parity.py", "--corral", corral, "--build", build, "--seed", "1"]
    yield "windows", [PYTHON, f"{HERE}/windows/rows.py", "--build", f"{build}/windows", "--corral", corral, "--quick"]
    yield "seatbelt", [PYTHON, f"{HERE}/seatbelt/oracle.py", "--build", build]
    yield "macos", [PYTHON, f"{HERE}/seatbelt/compile.py"]
    yield "lint", [PYTHON, f"{HERE}/lint/lint.py", "--build", build, "--quick"]
    yield "hosts", [PYTHON, f"{HERE}/hosts/run.py", "--corral", corral, "--build", build, "--quick"]
    yield "props", [PYTHON, f"{HERE}/props/run.py", "--corral", corral, "--build", build, "--trees", "30", "--layers", "25",
                    "--patterns", "1500"]
    yield "cost", [PYTHON, f"{HERE}/cost/run.py", "--corral", corral, "--build", build]
    yield "cost (session)", [PYTHON, f"{HERE}/cost/session.py", "--corral", corral]
    yield "cost (ratio)", [PYTHON, f"{HERE}/cost/ratio.py", "--corral", corral]
    for level, who in (("full", "both"), ("standard", "user")):
        yield name_of("compat", level), [PYTHON, f"{HERE}/compat/run.py", "--corral", corral, "--quick", "--level", level,
                                         "--as", who]


# What `make quick` takes of `make check`, with the words that make it quicker.  It is for the minutes between two
# changes, so it has no suite that waits: command line, network, lifetimes.
QUICK = {
    "escape": ["--categories"],
    "escape (standard)": ["--categories"],
    "compat": ["--categories", "--as", "user"],
    "lint": [],
}


def quick_suites(build, corral, probe):
    for name, argv in check_suites(build, corral, probe):
        if name in QUICK:
            yield name, argv + QUICK[name]
    yield from programs(build, "", state_of(corral))


def proof_suites(build, corral, probe):
    """Everything; each leaves its lines where the report finds them.  Attacks first: a proof may be interrupted."""
    yield "lint", [PYTHON, f"{HERE}/lint/lint.py", "--build", build, "--thorough"]
    yield "hosts", [PYTHON, f"{HERE}/hosts/run.py", "--corral", corral, "--build", build,
                    "--report", f"{build}/hosts.jsonl"]
    yield "cost", [PYTHON, f"{HERE}/cost/run.py", "--corral", corral, "--build", build]
    yield "cost (session)", [PYTHON, f"{HERE}/cost/session.py", "--corral", corral]
    yield "cost (ratio)", [PYTHON, f"{HERE}/cost/ratio.py", "--corral", corral]
    yield "http (nginx)", [PYTHON, f"{HERE}/unit/http_against_nginx.py", f"{build}/tests/unit/sniff", "--count", "30000"]
    for level, (of_compat, of_escape) in PROOF.items():
        asked = ["--level", level, "--report"]
        yield name_of("compat", level), [PYTHON, f"{HERE}/compat/run.py", "--corral", corral, *of_compat,
                                         *asked, f"{build}/compat-{level}.jsonl"]
        yield name_of("escape", level), [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe,
                                         *of_escape, *asked, f"{build}/escape-{level}.jsonl"]
    for level in ("full", "standard"):
        yield f"escape (warm, {level})", [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe, "--warm", "--level", level]
    yield "escape (pool)", [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe, "--pool"]
    for level in ("full", "standard"):
        yield name_of("grants", level), [PYTHON, f"{HERE}/net/grants.py", "--corral", corral, "--level", level]
        yield name_of("clients", level), [PYTHON, f"{HERE}/net/clients.py", "--corral", corral, "--level", level]
        yield name_of("gate", level), [PYTHON, f"{HERE}/net/gate.py", "--corral", corral, "--as", "both", "--level", level]
        yield name_of("changes", level), [PYTHON, f"{HERE}/net/changes.py", "--corral", corral, "--as", "both", "--level",
                                          level]
        yield name_of("storm", level), [PYTHON, f"{HERE}/net/storm.py", "--corral", corral, "--as", "both", "--level", level]
        for net, who in ((net, who) for net in ("none", "filtered") for who in ("user", "root")):
            yield f"lifetime ({level}, {net}, {who})", [PYTHON, f"{HERE}/lifetime/kill.py", "--corral", corral, "--level",
                                                        level, "--net", net, "--as", who, "--rounds", "2000", "--jobs",
                                                        "8", "--within", "1"]
    for level in ("full", "standard"):
        yield f"lifetime ({level}, forks)", [PYTHON, f"{HERE}/lifetime/outrun.py", "--corral", corral, "--probe", probe,
                                              "--level", level]
        yield f"lifetime ({level}, slow files)", [PYTHON, f"{HERE}/lifetime/slow.py", "--corral", corral, "--level", level]
    yield "session", [PYTHON, f"{HERE}/session/run.py", "--corral", corral]
    yield "ui", [PYTHON, f"{HERE}/ui/run.py", "--corral", corral]
    yield "ui (scale)", [PYTHON, f"{HERE}/ui/scale.py", "--corral", corral]
    yield "ui (browser)", [PYTHON, f"{HERE}/ui/real.py", "--corral", corral, "--place", f"{build}/ui"]
    yield "session (soak)", [PYTHON, f"{HERE}/session/soak.py", "--corral", corral]
    yield "session (idle)", [PYTHON, f"{HERE}/session/soak.py", "--corral", corral, "--idle", "500"]
    for level, who in ((level, who) for level in ("full", "standard") for who in ("user", "root")):
        yield f"session (kill, {level}, {who})", [PYTHON, f"{HERE}/session/kill.py", "--corral", corral, "--level", level,
                                                  "--as", who, "--rounds", "250"]
    yield "parity", [PYTHON, f"{HERE}/props/parity.py", "--corral", corral, "--build", build, "--worlds", "6000"]
    yield "props", [PYTHON, f"{HERE}/props/run.py", "--corral", corral, "--build", build, "--trees", "2000",
                    "--patterns", "200000", "--layers", "2000"]
    yield "seatbelt", [PYTHON, f"{HERE}/seatbelt/oracle.py", "--build", build, "--policies", "10000", "--patterns", "50000"]
    yield "macos", [PYTHON, f"{HERE}/seatbelt/compile.py"]
    yield "learn", [PYTHON, f"{HERE}/learn/projects.py", "--corral", corral, "--place", f"{build}/projects"]
    yield "leak quality", [PYTHON, f"{HERE}/leak/quality.py", "--build", build, "--corral", corral]
    yield "lifetime (vault)", [PYTHON, f"{HERE}/lifetime/vault.py", "--corral", corral, "--times", "1000", "--calls"]
    yield "lifetime (audit)", [PYTHON, f"{HERE}/lifetime/audit.py", "--corral", corral, "--times", "1000", "--calls"]
    yield "mcp clients", [PYTHON, f"{HERE}/mcp/clients.py", "--corral", corral, "--place", f"{build}/mcp-clients"]
    yield "exports", [PYTHON, f"{HERE}/audit/exports.py", "--corral", corral, "--place", f"{build}/otlp"]
    yield "agents", [PYTHON, f"{HERE}/agents/run.py", "--corral", corral, "--place", f"{build}/agents"]
    yield "sdk", [PYTHON, f"{HERE}/sdk/run.py", "--corral", corral, "--place", f"{build}/sdk"]
    for who in ("root", "user"):
        yield f"docker ({who})", [PYTHON, f"{HERE}/docker/run.py", "--corral", corral, "--as", who]
    yield "windows", [PYTHON, f"{HERE}/windows/rows.py", "--build", f"{build}/windows", "--corral", corral]
    yield "leak scan (any seed)", [PYTHON, f"{HERE}/leak/against_python.py", f"{build}/tests/unit/leak_dump",
                                   f"{build}/tests/unit/leak_kinds_dump", "300", "any"]
    yield "lifetime (model)", [PYTHON, f"{HERE}/lifetime/model.py"]
    yield "selftest", [PYTHON, f"{HERE}/mutation/selftest.py", "--probe", probe, "--place", f"{build}/mutation"]
    yield "attribution", [PYTHON, f"{HERE}/mutation/attribution.py", "--probe", probe, "--place", f"{build}/mutation"]


SELECTIONS = {"quick": quick_suites, "check": check_suites, "proof": proof_suites}


def tree_of():
    """The commit's tree that is tested, or None when files differ from it."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    try:
        changed = [line for line in git("status", "--porcelain").splitlines() if not line.endswith(" docs/proof.md")]
        return None if changed else git("rev-parse", "HEAD^{tree}")
    except (OSError, subprocess.CalledProcessError):
        return None


class Journal:
    """A proof takes hours: each suite is recorded when it ends, and the next proof of the same tree goes on from there."""

    def __init__(self, build):
        self.path, self.tree, self.found = f"{build}/suites.jsonl", tree_of(), {}
        self.names = []  # of all suites of a proof
        if self.tree and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as lines:
                for line in map(json.loads, lines):
                    if line.get("tree") == self.tree:
                        self.found[line["name"]] = (line["passed"], line["failed"], line["skipped"])
        self.write()

    def write(self):
        with open(self.path, "w", encoding="utf-8") as out:
            for name, (passed, failed, skipped) in self.found.items():
                print(json.dumps({"tree": self.tree, "name": name, "passed": passed, "failed": failed, "skipped": skipped}),
                      file=out)

    def passed(self, name):
        """A suite with a failure is run again."""
        return name in self.found and self.found[name][1] == 0

    def add(self, name, counts):
        self.found[name] = counts
        self.write()
        self.report()

    def report(self):
        """docs/proof.md: the suites that ended; the others keep their last run, or are listed as not run."""
        build = os.path.dirname(self.path)
        files = {suite: [f"{build}/{suite}-{level}.jsonl" for level in PROOF if name_of(suite, level) in self.found]
                 for suite in ("escape", "compat")}
        hosts = ["--hosts", f"{build}/hosts.jsonl"] if "hosts" in self.found else []
        missing = [name for name in self.names if name not in self.found]
        text = subprocess.run([PYTHON, f"{HERE}/report.py", "--escape", *files["escape"], "--compat", *files["compat"], *hosts,
                               "--suites", self.path, "--missing", *missing, "--before", DOCUMENT],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        with open(DOCUMENT, "w", encoding="utf-8") as out:
            out.write(text)


def longest_ago(suites):
    """Suites that the document has no run of, then the others by the day of theirs: a proof in parts becomes whole."""
    days = report.days_of_suites(DOCUMENT)
    return sorted(suites, key=lambda suite: days.get(suite[0], ""))


LINE = re.compile(r"^(ok|not ok)\b[^#]*(#\s*skip\b.*)?", re.IGNORECASE)


# What only computes: it takes what the others, which mostly wait, leave of the processors.
SANITIZE = "build with sanitizers"
BESIDE = ("lint", SANITIZE)
TIMED = ("test_verdicts", "cost (ratio)")  # compare times, the first in a proof, so they have the machine to themselves
NICE = ("lint",)  # the sanitized programs wait for the build
BESIDE_NICE = "5"  # not 19: beside somebody's busy loops that would be for ever
# Those of `make check` that take longest are begun first, so that no processor is idle at the end.
LONGEST = ("escape", "cli", "session: user, full", "session: user, standard", "session: root, full", "escape (standard)", "compat",
           "agents", "sdk")
AT_ONCE = min(2 + len(os.sched_getaffinity(0)), 8)  # suites, which mostly wait
CHECK_SECONDS = 1800  # a suite of `make check` that is silent for longer hangs: it is killed, and its last lines are shown
LOOK_SECONDS = 5
END_SECONDS = 60.0  # for the suites after a signal, of which some have to remove ten thousands of files


begun = []  # suites, also those that have ended


def end(number, _frame):
    """The handler of a signal that ends all: the suites end themselves, and what they leave is killed."""
    ending.begin()
    print(f"{signal.Signals(number).name}: waiting for the suites to end", file=sys.stderr, flush=True)
    threading.excepthook = lambda _: None  # of threads whose suite is reaped here
    for suite in begun:
        if suite.is_ended_by_signal and suite.process.returncode is None:
            ending.send(-suite.process.pid, signal.SIGTERM)
    until = time.monotonic() + END_SECONDS
    while ending.ours() and time.monotonic() < until:
        time.sleep(ending.LOOK_SECONDS)
    ending.end_processes(polite=0)
    ending.remove_directories()
    os._exit(128 + number)


class Suite:
    """One that was begun."""

    def __init__(self, name, argv, seconds=None):
        self.name, self.start, self.hung = name, time.monotonic(), False
        self.output = tempfile.TemporaryFile()
        before = ["nice", "-n", BESIDE_NICE] if name in NICE else []
        # A test program takes seconds and removes its files at its end, so a signal does not end it earlier.
        self.is_ended_by_signal = argv[0] != "env"
        if argv[0] == PYTHON:
            argv = [PYTHON, f"{HERE}/ending.py", *argv[1:]]
        # In a session of its own, so that ^C in a terminal is not sent to its commands before the suite ends them.
        self.process = subprocess.Popen([*before, *argv], stdout=self.output, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        begun.append(self)
        self.over = threading.Event()
        self.watcher = threading.Thread(target=self.watch, args=(seconds,)) if seconds else None
        if self.watcher:
            self.watcher.start()

    def watch(self, seconds):
        """Kills it when its output has not grown for so long; how long the whole takes is the machine's affair."""
        size, last = 0, time.monotonic()
        while not self.over.wait(LOOK_SECONDS):
            grown = os.fstat(self.output.fileno()).st_size
            if grown != size:
                size, last = grown, time.monotonic()
            elif time.monotonic() - last > seconds:
                self.hung = True
                os.kill(self.process.pid, signal.SIGKILL)
                return

    def wait(self):
        """Waits for its end, and keeps what it cost."""
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        if self.watcher:
            self.over.set()  # before the process is reaped: until then its number is its own
            self.watcher.join()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds, self.busy = time.monotonic() - self.start, usage.ru_utime + usage.ru_stime

    def tell(self, verbose):
        """Prints its failures, its skips and its sums; returns (passed, failed, skipped)."""
        with self.output:
            self.output.seek(0)
            text = self.output.read().decode("utf-8", "replace")
        if self.hung:
            print(f"  {self.name}: killed after {self.seconds:.0f} s, of which {CHECK_SECONDS} without a line")
        counts = count(self.name, self.process.returncode, text, verbose)
        print("%-28s %5d passed %3d failed %3d skipped  %6.1f s, %6.1f s of processor" %
              (self.name, *counts, self.seconds, self.busy), flush=True)
        return counts


class Schedule:
    """Suites that wait to be run, some at a time: most of them wait most of the time."""

    def __init__(self, suites, journal, seconds, verbose, until=None):
        self.waiting, self.running, self.counts, self.until = list(suites), [], {}, until
        self.journal, self.seconds, self.verbose = journal, seconds, verbose
        self.changed = threading.Condition()
        self.awaited = 0  # how many builds may still add suites

    def take(self):
        """The next one.  Those of one kind use the same ports and accounts, and run one after the other."""
        with self.changed:
            while (self.waiting or self.awaited) and not ending.is_ending and not self.is_late():
                for suite in self.waiting:
                    if kind(suite[0]) not in self.running:
                        self.waiting.remove(suite)
                        self.running.append(kind(suite[0]))
                        return suite
                self.changed.wait()
        return None

    def is_late(self):
        return self.until is not None and time.monotonic() > self.until

    def after(self, build, suites):
        """Finishes a build, and adds what it made."""
        self.finish(build)
        with self.changed:
            self.waiting += suites() if self.counts[build.name][1] == 0 else []
            self.awaited -= 1
            self.changed.notify_all()

    def work(self):
        while (taken := self.take()) is not None:
            self.finish(Suite(*taken, self.seconds))
            with self.changed:
                self.running.remove(kind(taken[0]))
                self.changed.notify_all()

    def finish(self, suite):
        suite.wait()
        if ending.is_ending:
            sys.exit()  # this thread: the suite did not fail
        with self.changed:
            self.counts[suite.name] = suite.tell(self.verbose)
            if self.journal:
                self.journal.add(suite.name, self.counts[suite.name])

    def run(self, most, builds=(), suites=None):
        """Those that wait, and the suites() that each build under way will have made."""
        self.awaited = len(builds)
        threads = [threading.Thread(target=self.work) for _ in range(most)]
        threads += [threading.Thread(target=self.after, args=(build, suites)) for build in builds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def kind(name):
    """The rows of the escape suites have scratch trees, ports and labs of their own."""
    before = name.partition(" (")[0]
    return name if before == "escape" else before


def count(name, status, text, verbose):
    passed = failed = skipped = 0
    plan = None
    notes = []
    for line in text.splitlines():
        match = LINE.match(line)
        if match and match.group(1) == "not ok":
            failed += 1
            print("\n".join(notes + [f"  {line}"]))
            notes = []
        elif match and match.group(2):
            skipped += 1
            print(f"  {line}")
            notes = []
        elif match:
            passed += 1
            notes = []
        elif line.startswith("1.."):
            plan = int(line[3:].split()[0])
        else:
            notes.append(f"    {line}")
    ran = passed + failed + skipped
    if plan != ran or (status != 0 and failed == 0):
        failed += 1
        print("\n".join(notes[-15:]))
        print(f"  {name}: exit status {status}, planned {plan}, ran {ran}")
    elif verbose:
        print(text)
    return passed, failed, skipped


def asked_for(suites, only):
    """Those that the command line names, and the build that one of them needs."""
    needed = {SANITIZE} if any(name.endswith(SANITIZED) for name in only) else set()
    return [suite for suite in suites if not only or suite[0] in needed | set(only)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--sanitized", help="a second build, with ASan and UBSan")
    parser.add_argument("--sanitize", metavar="COMMAND", help="makes that build, beside the suites")
    parser.add_argument("--quick", dest="selection", action="store_const", const="quick", default="check",
                        help="unit tests, lints, one row of each category; two minutes")
    parser.add_argument("--proof", dest="selection", action="store_const", const="proof",
                        help="everything, and docs/proof.md")
    parser.add_argument("--minutes", type=float, help="begin no other suite after this time; the next proof begins with those")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("only", nargs="*", help="run only these suites")
    args = parser.parse_args()
    until = args.minutes and time.monotonic() + args.minutes * 60
    build, proof = os.path.abspath(args.build), args.selection == "proof"
    args.sanitized = args.sanitized and os.path.abspath(args.sanitized)
    journal = Journal(build) if proof else None
    if proof:
        os.environ["CORRAL_TEST_TIMES"] = "1"  # tests that compare times do so
    counts = {}
    ending.on_signals(end)
    with tempfile.TemporaryDirectory(prefix="corral-") as place:
        ending.directories.append(place)
        # The clone may lie where the suites' ordinary user cannot go.
        os.chmod(place, 0o755)
        corral = shutil.copy(f"{build}/corral", place)
        shutil.copy(f"{build}/corrald", place)
        probe = f"{build}/tests/escape/probe"
        chosen = list(SELECTIONS[args.selection](build, corral, probe))
        if args.selection != "quick":
            chosen += common(build, corral)
        if args.sanitized and not args.sanitize:
            chosen += sanitized_programs(args.sanitized, corral)
        if args.sanitize:
            chosen += [(SANITIZE, ["sh", "-c", f"{args.sanitize} && echo ok 1 - it builds && echo 1..1"])]
        if journal:
            journal.names = [name for name, _ in chosen]
        chosen = asked_for(chosen, args.only)
        if not proof:  # which has an order of its own
            chosen.sort(key=lambda suite: LONGEST.index(suite[0]) if suite[0] in LONGEST else len(LONGEST))
        if journal:
            counts = {name: journal.found[name] for name, _ in chosen if journal.passed(name)}
            chosen = longest_ago([suite for suite in chosen if suite[0] not in counts])
        seconds = None if proof else CHECK_SECONDS
        timed = Schedule([suite for suite in chosen if suite[0] in TIMED], journal, seconds, args.verbose)
        timed.run(1)
        beside = [Suite(*suite, None if suite[0] == SANITIZE else seconds) for suite in chosen if suite[0] in BESIDE]
        schedule = Schedule([suite for suite in chosen if suite[0] not in BESIDE + TIMED], journal, seconds, args.verbose,
                            until)
        schedule.run(AT_ONCE, [suite for suite in beside if suite.name == SANITIZE],
                     lambda: asked_for(sanitized_programs(args.sanitized, corral), args.only))
        for suite in beside:
            if suite.name != SANITIZE:
                schedule.finish(suite)
        counts |= timed.counts | schedule.counts
    totals = [sum(column) for column in zip(*counts.values())] or [0, 0, 0]
    if journal:
        journal.report()
    print("%d passed, %d failed, %d skipped" % tuple(totals))
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
