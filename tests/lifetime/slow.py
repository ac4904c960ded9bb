#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command removes, replaces and truncates a file with many extents, and its time-out comes in time all the same.

The kernel frees the extents inside the call, which cannot be killed; the process that keeps
the time must not be the one that makes it.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

EXTENTS_MIN, EXTENTS_MAX = 8000, 512000
SLOW_MS = 6000  # what freeing them takes outside, for an attempt to mean something
PUNCH = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE
TIMEOUT_MS, GRACE_MS = 300, 200
LATE_MS = 4000  # of a loaded machine; a pid 1 that waits in the kernel is given 1.5 s by itself

ACTS = {
    "unlink": "os.unlink('large')",
    "rename": "open('small', 'w').close(); os.rename('small', 'large')",
    "open": "os.open('large', os.O_WRONLY | os.O_TRUNC)",
    "truncate": "os.truncate('large', 0)",
}


def make(path, extents):
    """Every second block of a file is punched out; False where the file system cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        return libc.fallocate(file, 0, 0, extents * 8192) == 0 and all(
            libc.fallocate(file, PUNCH, at * 8192, 4096) == 0 for at in range(extents))
    finally:
        os.close(file)


def control(place):
    """How many extents take long to free outside; None where there is no such number."""
    extents = EXTENTS_MIN
    while extents <= EXTENTS_MAX and make(f"{place}/control", extents):
        start = time.monotonic()
        os.unlink(f"{place}/control")
        took = (time.monotonic() - start) * 1000
        print(f"# outside: {extents} extents take {took:.0f} ms", flush=True)
        if took >= SLOW_MS:
            return extents
        extents *= 4
    return None


def attempt(args, place, act, extents):
    """Why it is not as it should be, or None."""
    make(f"{place}/large", extents)
    code = f"import os, time; {ACTS[act]}; time.sleep(600)"
    done = subprocess.run([args.corral, "run", "--level", args.level, "--timeout", f"{TIMEOUT_MS}ms", "--grace",
                           f"{GRACE_MS}ms", "--json", "--", "/usr/bin/python3", "-c", code],
                          cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    told = json.loads(done.stdout)
    took = told["duration_ms"]
    if told["reason"] != "timeout" or took > TIMEOUT_MS + GRACE_MS + LATE_MS:
        return f"{told['reason']} after {took} ms"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--level", default="standard")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="lifetime-", dir="/var/tmp") as place:
        extents = control(place)
        for number, act in enumerate(ACTS, 1):
            name = f"{number} {act} of a file with many extents does not hold up the time-out, {args.level}"
            if extents is None:
                print(f"ok {name} # SKIP this file system frees every file quickly")
                continue
            why = attempt(args, place, act, extents)
            bad += why is not None
            if why:
                print(f"# {why}")
            print(f"{'not ok' if why else 'ok'} {name}", flush=True)
    print(f"1..{len(ACTS)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
