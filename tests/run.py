#!/usr/bin/env python3
"""Runs every suite and adds up.  `make check` and `make proof` end with this program's last line.

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
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PYTHON = "/usr/bin/python3"

# How much of the corpus and of the attempts a proof takes to each level.  Below standard
# files are open, so what is attempted there is never attempted as root.
PROOF = {
    "full": ([], []),
    "standard": ([], []),
    "minimal": (["--quick", "--as", "user"], ["--quick", "--as", "user"]),
    "none": (["--quick", "--as", "user"], ["--quick", "--as", "user"]),
}

def programs(build, suffix, without=None):
    """The test programs that a build made."""
    for path in sorted(glob.glob(f"{build}/tests/*/test_*") + glob.glob(f"{build}/tests/api/api_*")):
        name = os.path.basename(path)
        if os.path.isfile(path) and os.access(path, os.X_OK) and name != without:
            yield name + suffix, [path]


def common(build, sanitized, corral):
    """(name, argv) of what is run for either purpose, quick ones first."""
    yield from programs(build, "")
    if sanitized:
        # The tripwire stands in for malloc, which is what the sanitizer does too.
        yield from programs(sanitized, " (sanitized)", without="test_tripwire")
    yield "toml", [PYTHON, f"{HERE}/unit/toml_against_tomllib.py", f"{build}/tests/unit/doc_dump"]
    yield "dns", [PYTHON, f"{HERE}/unit/dns_against_python.py", f"{build}/tests/unit/dns_dump"]
    yield "hello", [PYTHON, f"{HERE}/unit/hello_of_clients.py", f"{build}/tests/unit/sniff"]
    yield "http", [PYTHON, f"{HERE}/unit/http_against_others.py", f"{build}/tests/unit/sniff"]
    yield "resolver", [PYTHON, f"{HERE}/unit/resolver_against_servers.py", f"{build}/tests/unit/dns_dump"]
    yield "cli", [PYTHON, f"{HERE}/cli/run.py", "--corral", corral, "--build", build]


def name_of(suite, level):
    """full is what is meant where nothing is said."""
    return suite if level == "full" else f"{suite} ({level})"


def check_suites(build, corral, probe):
    """What a change has to pass in minutes, the same each time: chance finds, it does not judge."""
    yield "parity", [PYTHON, f"{HERE}/props/parity.py", "--corral", corral, "--build", build, "--seed", "1"]
    yield "lint", [PYTHON, f"{HERE}/lint/lint.py", "--build", build]
    yield "hosts", [PYTHON, f"{HERE}/hosts/run.py", "--corral", corral, "--build", build, "--quick"]
    yield "props", [PYTHON, f"{HERE}/props/run.py", "--corral", corral, "--build", build]
    for level, who in (("full", "both"), ("standard", "user")):
        yield name_of("compat", level), [PYTHON, f"{HERE}/compat/run.py", "--corral", corral, "--quick", "--level", level,
                                         "--as", who]
    # Every attempt once; the others, which are the same ones elsewhere, by the first of a family.
    for name, level, more in (("escape", "full", ["--as", "user"]), ("escape (root)", "full", ["--as", "root", "--families"]),
                              ("escape (standard)", "standard", ["--as", "user", "--families"])):
        yield name, [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe, "--quick", "--level", level, *more,
                     "--without", "PX"]
    yield "escape (gate)", [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe, "--quick", "--families",
                            "--level", "full", "--only", "PX", "--as", "user", "--jobs", "4"]
    yield "clients", [PYTHON, f"{HERE}/net/clients.py", "--corral", corral, "--quick"]
    yield "gate", [PYTHON, f"{HERE}/net/gate.py", "--corral", corral, "--quick"]
    yield "changes", [PYTHON, f"{HERE}/net/changes.py", "--corral", corral, "--quick"]
    yield "storm", [PYTHON, f"{HERE}/net/storm.py", "--corral", corral, "--quick"]


def proof_suites(build, corral, probe):
    """Everything; each leaves its lines where the report finds them."""
    yield "lint", [PYTHON, f"{HERE}/lint/lint.py", "--build", build, "--thorough"]
    yield "hosts", [PYTHON, f"{HERE}/hosts/run.py", "--corral", corral, "--build", build,
                    "--report", f"{build}/hosts.jsonl"]
    yield "parity", [PYTHON, f"{HERE}/props/parity.py", "--corral", corral, "--build", build, "--worlds", "6000"]
    yield "props", [PYTHON, f"{HERE}/props/run.py", "--corral", corral, "--build", build, "--trees", "2000",
                    "--patterns", "200000"]
    for level, (of_compat, of_escape) in PROOF.items():
        asked = ["--level", level, "--report"]
        yield name_of("compat", level), [PYTHON, f"{HERE}/compat/run.py", "--corral", corral, *of_compat,
                                         *asked, f"{build}/compat-{level}.jsonl"]
        yield name_of("escape", level), [PYTHON, f"{HERE}/escape/run.py", "--corral", corral, "--probe", probe,
                                         *of_escape, *asked, f"{build}/escape-{level}.jsonl"]
    for level in ("full", "standard"):
        yield name_of("clients", level), [PYTHON, f"{HERE}/net/clients.py", "--corral", corral, "--level", level]
        yield name_of("gate", level), [PYTHON, f"{HERE}/net/gate.py", "--corral", corral, "--as", "both", "--level", level]
        yield name_of("changes", level), [PYTHON, f"{HERE}/net/changes.py", "--corral", corral, "--as", "both", "--level",
                                          level]
        yield name_of("storm", level), [PYTHON, f"{HERE}/net/storm.py", "--corral", corral, "--as", "both", "--level", level]
    yield "selftest", [PYTHON, f"{HERE}/mutation/selftest.py", "--probe", probe, "--place", f"{build}/mutation"]
    yield "attribution", [PYTHON, f"{HERE}/mutation/attribution.py", "--probe", probe, "--place", f"{build}/mutation"]


def write_report(build, counts):
    with open(f"{build}/suites.jsonl", "w", encoding="utf-8") as out:
        for name, (passed, failed, skipped) in counts.items():
            print(json.dumps({"name": name, "passed": passed, "failed": failed, "skipped": skipped}), file=out)
    with open(f"{ROOT}/docs/proof.md", "w", encoding="utf-8") as out:
        files = {suite: [f"{build}/{suite}-{level}.jsonl" for level in PROOF] for suite in ("escape", "compat")}
        subprocess.run([PYTHON, f"{HERE}/report.py", "--escape", *files["escape"], "--compat", *files["compat"],
                        "--hosts", f"{build}/hosts.jsonl", "--suites", f"{build}/suites.jsonl"],
                       stdout=out, check=True)


LINE = re.compile(r"^(ok|not ok)\b[^#]*(#\s*skip\b.*)?", re.IGNORECASE)


# What only computes: it takes what the others, which mostly wait, leave of the processors.
BESIDE = ("lint",)


class Suite:
    """One that was begun."""

    def __init__(self, name, argv):
        self.name, self.start = name, time.monotonic()
        self.output = tempfile.TemporaryFile()
        before = ["nice", "-n", "19"] if name in BESIDE else []
        self.process = subprocess.Popen([*before, *argv], stdout=self.output, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL)

    def finish(self, verbose):
        """Waits for its end; returns (passed, failed, skipped)."""
        status = self.process.wait()
        with self.output:
            self.output.seek(0)
            text = self.output.read().decode("utf-8", "replace")
        counts = count(self.name, status, text, verbose)
        seconds = time.monotonic() - self.start
        print("%-28s %5d passed %3d failed %3d skipped  %6.1f s" % (self.name, *counts, seconds), flush=True)
        return counts


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--sanitized", help="a second build, with ASan and UBSan")
    parser.add_argument("--proof", action="store_true", help="everything, and docs/proof.md")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("only", nargs="*", help="run only these suites")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    counts = {}
    with tempfile.TemporaryDirectory(prefix="corral-") as place:
        # The clone may lie where the suites' ordinary user cannot go.
        os.chmod(place, 0o755)
        corral = shutil.copy(f"{build}/corral", place)
        probe = f"{build}/tests/escape/probe"
        chosen = list(common(build, args.sanitized and os.path.abspath(args.sanitized), corral))
        chosen += (proof_suites if args.proof else check_suites)(build, corral, probe)
        chosen = [suite for suite in chosen if not args.only or suite[0] in args.only]
        beside = [Suite(*suite) for suite in chosen if suite[0] in BESIDE]
        for suite in chosen:
            if suite[0] not in BESIDE:
                counts[suite[0]] = Suite(*suite).finish(args.verbose)
        for suite in beside:
            counts[suite.name] = suite.finish(args.verbose)
    totals = [sum(column) for column in zip(*counts.values())] or [0, 0, 0]
    if args.proof and not args.only:
        write_report(build, counts)
    print("%d passed, %d failed, %d skipped" % tuple(totals))
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
