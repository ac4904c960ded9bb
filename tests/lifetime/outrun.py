#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command forks for ever, each process in a session of its own, while Corral's processes are killed.

Who kills such processes one by one is late.  Every two processes of the run are stopped,
so that neither sees the other die, and then killed; the verdict is a counter in the workspace.
"""
import argparse
import itertools
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

FORKERS, SECONDS = 4, 8  # they end by themselves then
ALIVE_MS = 1000
OUTSIDER = 64123  # an account of nobody's: the kernel's limits are those of a user
NAMES = {"full": ("supervisor", "pid 1"), "standard": ("supervisor", "outer warden", "inner warden", "guard")}


def count(path):
    try:
        with open(path, "rb") as file:
            return sum(number for number, in struct.iter_unpack("l", file.read()))
    except OSError:
        return 0


def wait_for_count(path):
    until = time.monotonic() + 10
    while count(path) == 0 and time.monotonic() < until:
        time.sleep(0.02)
    return count(path) > 0


def chain(first, length):
    """The supervisor and those below it, each with its one child, once the command runs."""
    found = [first]
    while len(found) < length:
        with open(f"/proc/{found[-1]}/task/{found[-1]}/children", encoding="ascii") as file:
            found.append(int(file.read().split()[0]))
    return found


def kill_all(pids):
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)


def goes_on(path, after_ms):
    time.sleep(after_ms / 1000)
    before = count(path)
    time.sleep(0.3)
    return count(path) != before


def start(argv, place):
    account = {"user": OUTSIDER, "group": OUTSIDER, "extra_groups": []} if os.getuid() == 0 else {}
    return subprocess.Popen(argv, cwd=f"{place}/ws", env={"PATH": "/usr/bin:/bin", "HOME": f"{place}/home"}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, 0), **account)


def control(place):
    """Outside they outlive their ancestor."""
    ancestor = start(["./probe", "outrun", "count", str(FORKERS), str(SECONDS)], place)
    good = wait_for_count(f"{place}/ws/count")
    time.sleep(0.5)
    kill_all([ancestor.pid])
    ancestor.wait()
    good = good and goes_on(f"{place}/ws/count", 300)
    time.sleep(SECONDS)
    os.unlink(f"{place}/ws/count")
    return good


def attempt(args, place, which):
    run = start([args.corral, "run", "--level", args.level, "--", "./probe", "outrun", "count", str(FORKERS), str(SECONDS)], place)
    if not wait_for_count(f"{place}/ws/count"):
        run.kill()
        return False
    pids = chain(run.pid, len(NAMES[args.level]))
    time.sleep(0.5)
    kill_all([pids[i] for i in which])
    alive = goes_on(f"{place}/ws/count", ALIVE_MS)
    run.wait()
    os.unlink(f"{place}/ws/count")
    return not alive


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--probe", required=True)
    parser.add_argument("--level", default="standard")
    args = parser.parse_args()
    if os.getuid() == 0:
        os.nice(-10)  # the moments are ours
    names = NAMES[args.level]
    pairs = list(itertools.combinations(range(len(names)), 2))
    with tempfile.TemporaryDirectory(prefix="lifetime-") as place:
        for path in (place, f"{place}/ws", f"{place}/home"):
            os.makedirs(path, exist_ok=True)
            if os.getuid() == 0:
                os.chown(path, OUTSIDER, OUTSIDER)
        subprocess.run(["cp", args.probe, f"{place}/ws/probe"], check=True)
        bad = not control(place)
        print(f"{'not ok' if bad else 'ok'} 1 outside, processes that fork outlive their ancestor", flush=True)
        for number, which in enumerate(pairs, 2):
            good = attempt(args, place, which)
            bad += not good
            print(f"{'ok' if good else 'not ok'} {number} none outlive {' and '.join(names[i] for i in which)}, {args.level}",
                  flush=True)
    print(f"1..{len(pairs) + 1}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
