#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make bench`: everything that Corral is measured by, beside other sandboxes, in interleaved runs.

    run.py --build BUILD [--document FILE] [--render]

Prints tables, and writes each section to BUILD/bench.json when it ends: a run that was interrupted continues with the
sections that are missing.  The document and its plots are made from that file alone.

BENCH_ONLY=start,gate     only these sections, also if the file has them; BENCH_AGAIN=1 measures all of them again
BENCH_QUICK=1             small sizes and few rounds; the document goes to BUILD/performance.md
BENCH_FULL=1              the largest sizes of the section growth: 10 GB of output, 10,000 processes
BENCH_PLACE=DIR           where scratch directories are made (/var/tmp)
BENCH_USER=NAME           the account of the measurements when root runs the bench (games)
BENCH_TREE=DIR            keeps the tree of 300,000 files there
BENCH_BASE=FILE           another corral, to compare with;  LANDRUN=FILE: a landrun
"""
import argparse
import datetime
import hashlib
import json
import os
import platform
import signal
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import audit  # noqa: E402  the path has to be set first
import crowd  # noqa: E402
import denials  # noqa: E402
import document  # noqa: E402
import gate  # noqa: E402
import growth  # noqa: E402
import leak  # noqa: E402
import rules  # noqa: E402
import sessions  # noqa: E402
import start  # noqa: E402
import steps  # noqa: E402
import steady  # noqa: E402
from bench import ROOT, Bench, Skip  # noqa: E402
from contenders import PEERS, installed, version  # noqa: E402

SECTIONS = (start, steps, steady, rules, gate, crowd, sessions, growth, denials, audit, leak)
SEEN = {"bwrap": "bubblewrap", "slirp4netns": "slirp4netns", "pasta": "pasta", "git": "git", "gcc": "gcc", "npm": "npm", "tar": "tar"}


def first_line(path, word):
    with open(path, encoding="utf-8", errors="replace") as source:
        return next((line.split(":", 1)[-1].split("=", 1)[-1].strip().strip('"') for line in source if line.startswith(word)), "")


def machine():
    """What the figures depend on."""
    programs = {**SEEN, **{program: program for _, program, _ in PEERS}}
    return {"processor": first_line("/proc/cpuinfo", "model name") or platform.machine(), "processors": os.cpu_count(),
            "memory_gb": round(int(first_line("/proc/meminfo", "MemTotal").split()[0]) / 1e6), "kernel": platform.release().split("-")[0],
            "system": first_line("/etc/os-release", "PRETTY_NAME"),
            "versions": {name: version(program) for program, name in programs.items() if installed(program)}}


class Report:
    """The JSON file."""

    def __init__(self, path):
        self.path, self.data = path, {"sections": {}}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                self.data = json.load(source)

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as out:
            json.dump(self.data, out, indent=1)
        os.replace(self.path + ".new", self.path)

    def has(self, name, identity):
        found = self.data["sections"].get(name)
        return found is not None and all(found[key] == value for key, value in identity.items())


def chosen():
    """The names of BENCH_ONLY, or None."""
    words = [word for word in os.environ.get("BENCH_ONLY", "").split(",") if word]
    unknown = set(words) - {section.NAME for section in SECTIONS}
    if unknown:
        sys.exit(f"BENCH_ONLY: no section {', '.join(sorted(unknown))}; there are {', '.join(s.NAME for s in SECTIONS)}")
    return words or None


def identity_of(build, quick, full):
    with open(f"{build}/corral", "rb") as binary:
        return {"binary": hashlib.sha256(binary.read()).hexdigest()[:12], "quick": quick, "full": full}


def show(section, entry):
    for table in section.tables(entry["data"]):
        print(f"\n{table.text()}")
    print(flush=True)


def measure(bench, section, identity):
    """One section's entry; None when it cannot be measured here."""
    bench.notes, began, load = [], time.monotonic(), os.getloadavg()[0]
    try:
        data = section.measure(bench)
    except Skip as problem:
        print(f"{section.NAME}: left out: {problem}", flush=True)
        return None
    now = datetime.datetime.now(datetime.timezone.utc)
    return {**identity, "data": data, "notes": bench.notes, "load": [round(load, 1), round(os.getloadavg()[0], 1)],
            "seconds": round(time.monotonic() - began), "time": f"{now:%Y-%m-%d %H:%M} UTC"}


def run(report, build, names, quick):
    full, failed = os.environ.get("BENCH_FULL") == "1", []
    identity = identity_of(build, quick, full)
    bench = Bench(build, quick, full)
    report.data["machine"] = machine()
    try:
        for section in SECTIONS:
            if names is not None and section.NAME not in names:
                continue
            print(f"== {section.TITLE} ({section.NAME})", flush=True)
            if names is None and os.environ.get("BENCH_AGAIN") != "1" and report.has(section.NAME, identity):
                print(f"  measured before with this binary; BENCH_AGAIN=1 or BENCH_ONLY={section.NAME} measures it again")
                print("".join(f"  {line}\n" for line in report.data["sections"][section.NAME]["notes"]), end="")
            else:
                entry = measure(bench, section, identity)
                if entry is None:
                    failed.append(section.NAME)
                    continue
                report.data["sections"][section.NAME] = entry
                report.save()
            show(section, report.data["sections"][section.NAME])
    finally:
        bench.close()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--document", help="the file to write; its plots go beside it")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args()
    quick = os.environ.get("BENCH_QUICK") == "1"
    names = chosen()
    report = Report(f"{options.build}/bench.json")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A part of the bench does not replace a document of the whole.
    target = options.document or (f"{options.build}/performance.md" if quick or names else f"{ROOT}/docs/performance.md")
    left_out = []
    try:
        left_out += [] if options.render else run(report, options.build, names, quick)
    finally:  # also of a run that was interrupted
        if report.data["sections"]:
            document.write(target, report.data, SECTIONS)
            print(f"{report.path}, {target}" + (f"; left out: {', '.join(left_out)}" if left_out else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
