#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether `corral test` sees a boundary with a hole in it.  Speaks TAP.

Takes layers out of a scratch copy and leaves the report as it is, so that the
program lies; each row names the checks that must then fail, and the program must
exit 1.  With nothing taken out, everything must pass.  As with all mutants, never
as root, and each in a pid namespace of its own.
"""
import argparse
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

from scratch import ALONE, Scratch, arguments  # noqa: E402
from switches import SWITCHES  # noqa: E402

# The level, what is taken out, and what must be noticed.
ROWS = [
    ("full", (), ()),
    ("full", ("mount", "landlock"), ("write-read-only", "write-outside", "write-protected", "read-secret", "read-outside",
                                     "read-denied", "unix-socket", "child-write", "child-read", "child-socket")),
    ("full", ("netns",), ("tcp", "udp", "child-tcp")),
    ("full", ("netns", "landlock"), ("tcp", "udp", "child-tcp", "abstract-socket")),
    ("full", ("pidns", "landlock"), ("see-process", "signal-process", "child-signal", "lifetime", "time-out")),
    ("full", ("environment",), ("environment",)),
    ("full", ("clock", "overdue"), ("time-out",)),
    ("standard", (), ()),
    # The broker judges what is opened for writing as well, so that takes both.
    ("standard", ("landlock",), ("read-secret", "read-outside", "child-read")),
    ("standard", ("landlock", "seccomp"), ("write-read-only", "write-outside", "write-protected", "read-secret",
                                           "read-outside", "read-denied", "child-write", "child-read",
                                           "abstract-socket", "signal-process", "child-signal")),
    ("standard", ("seccomp",), ("write-protected", "read-denied", "tcp", "udp", "child-tcp", "unix-socket",
                                "child-socket")),
    ("standard", ("environment",), ("environment",)),
]


def tried(path, user, level):
    """(exit status, the object) of `corral test --json` with that program."""
    home = os.path.dirname(path)
    done = subprocess.run([*ALONE, "setpriv", f"--reuid={user}", "--regid=65534", "--clear-groups", "--",
                           path, "test", "--no-config", "--json", "--level", level], cwd="/", text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={"PATH": os.environ["PATH"], "HOME": home})
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"checks": [], "said": done.stdout[-500:]}


def judge(status, found, wanted):
    """Complaints."""
    failed = {check["name"]: check["reason"] for check in found["checks"] if check["state"] in ("fail", "skip")}
    bad = [f"{name} did not fail" for name in wanted if name not in failed]
    bad += [f"{name} failed: {why}" for name, why in failed.items() if not wanted]
    if status != (1 if wanted else 0):
        bad.append(f"status {status}: {found.get('said', '')}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments(parser)
    parser.add_argument("--only", help="the level of the rows to run")
    options = parser.parse_args()
    scratch = Scratch(options)
    failures = 0
    rows = [row for row in ROWS if options.only in (None, row[0])]
    for number, (level, off, wanted) in enumerate(rows, 1):
        path, _ = scratch.binary([edit for word in off for edit in SWITCHES[word]])
        complaints = judge(*tried(path, options.user, level), wanted)
        failures += bool(complaints)
        for line in complaints:
            print(f"# {line}")
        print(f"{'not ok' if complaints else 'ok'} {number} - {level} without {'+'.join(off) or 'nothing'}: "
              f"{', '.join(wanted) or 'all pass'}", flush=True)
    print(f"1..{len(rows)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
