#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The one guard of seconds: a run adds at most LIMIT times the latency that bubblewrap adds.  Speaks TAP.

Bare spawn, Corral and bubblewrap take turns, and only their fastest runs are compared: load can make a run slower, never
faster.  The turns go on until the ratio is within the limit, so other load delays the verdict and does not decide it.  When
the time is up and the machine is overloaded, there is no verdict: a skip.  The limit is generous; the counts of run.py
find small changes.
"""
import argparse
import os
import pwd
import shutil
import sys
import tempfile
import time

LIMIT = 1.5
LEAST_ROUNDS, MOST_ROUNDS, SECONDS = 60, 2000, 90
OVERLOADED = 2  # load average, in processors
BARE, CORRAL, BWRAP = "bare", "corral", "bubblewrap"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def contenders(place, corral):
    workspace = f"{place}/work"
    bwrap = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind",
             workspace, workspace, "--new-session", "--die-with-parent"]
    run = [corral, "run", "--no-config", "--level", "full", "--workspace", workspace]
    return {BARE: ["/bin/true"], CORRAL: [*run, "/bin/true"], BWRAP: [shutil.which("bwrap"), *bwrap[1:], "/bin/true"]}


def turn(argv, environment):
    began = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, environment)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise RuntimeError(f"{' '.join(argv[:3])} failed")
    return time.monotonic() - began


def ratio_of(fastest):
    return (fastest[CORRAL] - fastest[BARE]) / (fastest[BWRAP] - fastest[BARE])


def measure(place, corral, limit):
    """(the ratio of the fastest runs, the rounds)"""
    environment = {**ENVIRONMENT, "HOME": f"{place}/home"}
    argvs = contenders(place, corral)
    fastest = {name: min(turn(argv, environment) for _ in range(3)) for name, argv in argvs.items()}
    end = time.monotonic() + SECONDS
    for rounds in range(1, MOST_ROUNDS + 1):
        for name, argv in argvs.items():
            fastest[name] = min(fastest[name], turn(argv, environment))
        if rounds >= LEAST_ROUNDS and (ratio_of(fastest) <= limit or time.monotonic() > end):
            break
    return ratio_of(fastest), rounds


def verdict(place, corral, limit):
    """A line of TAP."""
    title = f"the start of a run adds at most {limit} times what bubblewrap adds"
    if shutil.which("bwrap") is None:
        return f"ok 1 - {title} # SKIP bubblewrap is not installed (packaging/packages.sh bench)"
    try:
        ratio, rounds = measure(place, corral, limit)
    except (OSError, RuntimeError) as problem:
        return f"ok 1 - {title} # SKIP a sandbox does not start here: {problem}"
    print(f"# ratio {ratio:.2f} of the fastest of {rounds} rounds, load average {os.getloadavg()[0]:.1f}")
    if ratio > limit and os.getloadavg()[0] > OVERLOADED * os.cpu_count():
        return f"ok 1 - {title} # SKIP the machine is overloaded: ratio {ratio:.2f}"
    return f"{'ok' if ratio <= limit else 'not ok'} 1 - {title}"


def become(name, place):
    account = pwd.getpwnam(name)
    for folder in ("work", "home"):
        os.chown(f"{place}/{folder}", account.pw_uid, account.pw_gid)
    os.setgroups([])
    os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
    os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)


def judge(place, corral, limit):
    line = verdict(place, corral, limit)
    print(f"1..1\n{line}", flush=True)
    return int(line.startswith("not"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True, help="the binary under test")
    parser.add_argument("--limit", type=float, default=LIMIT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ratio-") as place:
        corral = shutil.copy(options.corral, f"{place}/corral")
        for name in ("work", "home"):
            os.mkdir(f"{place}/{name}")
        os.chmod(place, 0o755)
        if os.geteuid() != 0:
            return judge(place, corral, options.limit)
        child = os.fork()  # which gives up root's rights; root removes the directory
        if child == 0:
            become("games", place)
            os._exit(judge(place, corral, options.limit))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
