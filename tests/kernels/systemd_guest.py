#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside a test machine whose first process is systemd: limits in a scope of the user's manager.

The caller is a user in a session of logind's, whose group belongs to root: there
is no group that he may divide, and every one that holds a limit came from his
own systemd.  The report is one line, as guest.py has it.
"""
import glob
import json
import os
import platform
import pwd
import signal
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import guest  # noqa: E402  the path has to be set first
import quotas  # noqa: E402

PLACE = "/srv/place"
PATIENCE = 120  # an emulated processor, and others beside it
RUN = f"{quotas.CORRAL} run --no-config --json --read /corral"
LIMITS = "--memory 256M --cpus 0.5 --processes 40"
ALONE = 15  # seconds that a run takes here at most when systemd does not answer


def log_in(command):
    """A shell command as the user, in a new session."""
    return ["runuser", "-l", guest.USER, "-c", f"cd {PLACE} && {command}"]


def said(command):
    done = subprocess.run(log_in(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=PATIENCE, check=False)
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def answer(command):
    out, err = said(command)
    try:
        return json.loads(out)
    except ValueError:
        raise AssertionError(f"{command}: {(err or out).strip()[-300:]}") from None


def until(found, what):
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.1)


def manager():
    """The process of the user's systemd."""
    return int(subprocess.run(["systemctl", "show", "-P", "MainPID", f"user@{pwd.getpwnam(guest.USER).pw_uid}"],
                              stdout=subprocess.PIPE, check=True).stdout)


def scopes():
    return glob.glob(f"{quotas.MOUNT}/user.slice/**/corral-*.scope", recursive=True)


def read(path):
    with open(path, encoding="ascii") as source:
        return source.read().strip()


def members(group):
    return [int(pid) for path in glob.glob(f"{group}/**/cgroup.procs", recursive=True) for pid in read(path).split()]


def nothing_is_left():
    until(lambda: not quotas.groups_left(), f"the end of {quotas.groups_left()}")
    units, _ = said(f"XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user list-units --all --plain --no-legend 'corral-*'")
    assert not units.strip(), units


class Session(quotas.Quotas):
    """The checks of quotas.py, each run in a session of its own."""

    def run(self, *words):
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        return answer(f"{RUN} {' '.join(self.options)} {quoted}")

    def judge(self):
        found = {}
        for name in ("memory", "processes", "cpu"):
            found[name] = check(getattr(self, name))
        found["nothing is left"] = check(nothing_is_left)
        return found


def check(function):
    try:
        function()
    except (AssertionError, KeyError, OSError, IndexError, subprocess.SubprocessError) as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def the_session_is_roots():
    own, _ = said("cat /proc/self/cgroup")
    assert "/session-" in own, own
    out, err = said(f"mkdir {quotas.MOUNT}$(cut -d: -f3 /proc/self/cgroup)/own && echo made")
    assert "made" not in out, "the user divides the session's group"


def status_says_it():
    groups = answer(f"{quotas.CORRAL} status --json")["mechanisms"]["cgroups"]
    assert groups["scope"] and groups["controllers"] == ["memory", "pids", "cpu"], groups
    nothing_is_left()


def explain_says_it():
    plan = answer(f"{quotas.CORRAL} explain --no-config --json {LIMITS} -- true")["plan"]
    found = {g["name"]: (g["state"], g["by"]) for g in plan["guarantees"]}
    for name in ("limits.memory", "limits.cpu"):
        assert found[name] == ("enforced", ["cgroup"]), found[name]
    nothing_is_left()


def a_run_without_a_limit_has_no_scope():
    with subprocess.Popen(log_in(f"{RUN} -- sh -c 'echo > begun; sleep 3'"), stdout=subprocess.DEVNULL) as running:
        until(lambda: os.path.exists(f"{PLACE}/begun"), "the command")
        found = scopes()
        running.wait()
    os.unlink(f"{PLACE}/begun")
    assert not found, found


def during(look, options="", end=None):
    """What look(scope, shell) finds while a run with limits sleeps."""
    command = f"{RUN} {options} {LIMITS} -- sh -c 'echo > begun; sleep 600'"
    with subprocess.Popen(log_in(f"cat /proc/self/cgroup > before; {command}"), stdout=subprocess.DEVNULL) as running:
        try:
            until(lambda: os.path.exists(f"{PLACE}/begun"), "the command")
            os.unlink(f"{PLACE}/begun")
            group = scopes()
            assert len(group) == 1, group
            look(group[0])
        finally:
            # Of corral: its name in its scope is its process.
            owners = {int(os.path.basename(scope).split("-")[1]) for scope in scopes()}
            for owner in owners:
                os.kill(owner, end or signal.SIGTERM)
            if not owners:
                running.kill()
            running.wait()


def the_group_has_the_limits():
    def look(scope):
        group, = [path for path in glob.glob(f"{scope}/corral-*") if os.path.isdir(path)]
        assert read(f"{group}/memory.max") == str(256 << 20), read(f"{group}/memory.max")
        assert read(f"{group}/pids.max") == "40", read(f"{group}/pids.max")
        assert read(f"{group}/cpu.max") == "50000 100000", read(f"{group}/cpu.max")
        assert len(members(group)) >= 2, members(group)
        assert len(read(f"{scope}/first/cgroup.procs").split()) == 1, read(f"{scope}/first/cgroup.procs")
    during(look)


def the_caller_stays_in_its_group():
    def look(scope):
        owner = os.path.basename(scope).split("-")[1]
        assert read(f"/proc/{owner}/cgroup") == read(f"{PLACE}/before"), read(f"/proc/{owner}/cgroup")
    during(look)


def the_command_sees_no_path():
    result = answer(f"{RUN} --memory 256M -- cat /proc/self/cgroup")
    assert result["stdout"] == "0::/\n", result["stdout"]


def a_killed_corral_leaves_nothing():
    for options in ("", "--level standard"):
        pids = []
        during(lambda scope: pids.extend(members(scope)), options, signal.SIGKILL)
        nothing_is_left()
        assert pids, "nothing was in the scope"
        until(lambda: not [pid for pid in pids if os.path.exists(f"/proc/{pid}")], f"the end of {pids}")


def a_stopped_scope_ends_the_run():
    def look(scope):
        said(f"XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user stop {os.path.basename(scope)}")
        until(lambda: not os.path.exists(scope), "the end of the scope")
    during(look)
    nothing_is_left()


def a_silent_systemd_means_sampling():
    os.kill(manager(), signal.SIGSTOP)
    try:
        start = time.monotonic()
        result = answer(f"{RUN} --memory 64M -- {quotas.PROBE} touch-memory 256")
        seconds = time.monotonic() - start
        groups = answer(f"{quotas.CORRAL} status --json")["mechanisms"]["cgroups"]
    finally:
        os.kill(manager(), signal.SIGCONT)
    memory = {g["name"]: g for g in result["guarantees"]}["limits.memory"]
    assert (memory["state"], memory["by"]) == ("weaker", ["sampling"]), memory
    assert result["reason"] == "oom", result["reason"]
    assert seconds < ALONE, f"{seconds} s"
    assert not groups["usable"] and "does not answer" in groups["why"], groups
    nothing_is_left()


def a_scope_that_fails_means_sampling():
    """The user's systemd answers, and cannot have the processes moved: that goes over the system's bus."""
    bus = int(subprocess.run(["systemctl", "show", "-P", "MainPID", "dbus"], stdout=subprocess.PIPE, check=True).stdout)
    os.kill(bus, signal.SIGSTOP)
    try:
        # Not in a session, which could not begin now.
        result = quotas.Quotas(pwd.getpwnam(guest.USER).pw_uid, (), PLACE).run(
            "--memory", "64M", "--", quotas.PROBE, "touch-memory", "256")
    finally:
        os.kill(bus, signal.SIGCONT)
    memory = {g["name"]: g for g in result["guarantees"]}["limits.memory"]
    assert (memory["state"], memory["by"]) == ("weaker", ["sampling"]), memory
    assert result["reason"] == "oom", result["reason"]
    nothing_is_left()


def a_limit_of_the_callers_is_not_left():
    """A service with a limit, of a user whose systemd runs."""
    words = ["systemd-run", "--pipe", "--wait", "--quiet", f"--uid={guest.USER}", "-p", "MemoryMax=500M",
             f"--working-directory={PLACE}", quotas.CORRAL, "status", "--json"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    groups = json.loads(done.stdout)["mechanisms"]["cgroups"]
    assert not groups["scope"] and "limits memory or processor time" in groups["why"], groups
    words.remove("MemoryMax=500M")
    words.remove("-p")
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    groups = json.loads(done.stdout)["mechanisms"]["cgroups"]
    assert groups["scope"], groups


def without_systemd_status_says_why():
    uid = pwd.getpwnam(guest.USER).pw_uid
    subprocess.run(["systemctl", "stop", f"user@{uid}"], check=True, timeout=PATIENCE)
    words = ["systemd-run", "--pipe", "--wait", "--quiet", f"--uid={guest.USER}", f"--working-directory={PLACE}",
             quotas.CORRAL, "status", "--json"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    groups = json.loads(done.stdout)["mechanisms"]["cgroups"]
    assert not groups["usable"] and "no systemd of this user runs" in groups["why"], groups


CHECKS = (the_session_is_roots, status_says_it, explain_says_it, a_run_without_a_limit_has_no_scope, the_group_has_the_limits,
          the_caller_stays_in_its_group, the_command_sees_no_path, a_killed_corral_leaves_nothing, a_stopped_scope_ends_the_run,
          a_limit_of_the_callers_is_not_left, a_silent_systemd_means_sampling, a_scope_that_fails_means_sampling)


def report():
    user = pwd.getpwnam(guest.USER)
    for place in (PLACE, user.pw_dir):
        os.makedirs(place, exist_ok=True)
        os.chown(place, user.pw_uid, user.pw_gid)
    until(lambda: os.path.exists(f"/run/user/{user.pw_uid}/systemd/private"), "the user's systemd")
    only = guest.arguments_of_machine().get("only", "")
    start = time.monotonic()
    found = {}
    for function in CHECKS:
        if only in function.__name__:
            found[function.__name__] = check(function)
            print(function.__name__, found[function.__name__], flush=True)
    for level in ("full", "standard"):
        if only in "quotas":
            for name, problem in Session(user.pw_uid, ("--level", level), PLACE).judge().items():
                found[f"{level}: {name}"] = problem
                print(level, name, problem, flush=True)
    if only in without_systemd_status_says_why.__name__:
        found[without_systemd_status_says_why.__name__] = check(without_systemd_status_says_why)
    version = subprocess.run(["systemctl", "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")[0]
    return {"release": platform.release(), "systemd": version, "checks": found, "seconds": round(time.monotonic() - start)}


def main():
    try:
        found = report()
    except Exception:  # whatever it is, the console is the only place where it can be said
        found = {"broken": traceback.format_exc()}
    print("\n" + guest.REPORT + json.dumps(found), flush=True)
    subprocess.run(["systemctl", "poweroff", "--force", "--force"], check=False)


if __name__ == "__main__":
    main()
