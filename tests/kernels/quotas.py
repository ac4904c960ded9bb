# SPDX-License-Identifier: Apache-2.0
"""Whether control groups of version 2 hold, for root and for a user they were handed to.

A check is a pair: the limit is met by what exceeds it, and not by what does not.
What the result says of itself must agree: a guarantee that holds by accident, or
one that is claimed and does not hold, is a failure either way.
"""
import json
import os
import pwd
import subprocess
import threading
import time

MOUNT = "/sys/fs/cgroup"
SESSION = f"{MOUNT}/session"  # what a service manager would hand to the user
CORRAL, PROBE = "/corral/corral", "/corral/probe"
BOUND = 1200  # seconds for one call in an emulated machine; on busy processors `corral test` took more than 120
GRACE = 10


def hand_over(uid):
    """A group that belongs to the user, with all that is needed of it, and a leaf to stand in."""
    write(f"{MOUNT}/cgroup.subtree_control", "+memory +pids +cpu")
    os.makedirs(f"{SESSION}/leaf")
    write(f"{SESSION}/cgroup.subtree_control", "+memory +pids +cpu")
    for place in (SESSION, f"{SESSION}/leaf"):
        for name in ("", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"):
            os.chown(place + name, uid, uid)


def write(path, text):
    with open(path, "w", encoding="ascii") as out:
        out.write(text)


def enter(group):
    write(f"{group}/cgroup.procs", str(os.getpid()))


def groups_left():
    return [os.path.join(folder, name) for folder, dirs, _ in os.walk(MOUNT) for name in dirs if name.startswith("corral-")]


def environment(uid):
    return {"PATH": "/usr/bin:/bin", "HOME": pwd.getpwuid(uid).pw_dir}


class Watch(threading.Thread):
    """What a file of a run's group says while the run lasts."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.name_, self.found, self.ended = name, set(), threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.1):
            for group in groups_left():
                if group.endswith(".scope"):  # systemd's own, around the run's
                    continue
                try:
                    with open(f"{group}/{self.name_}", encoding="ascii") as source:
                        self.found.add(source.read().strip())
                except OSError:
                    continue  # it came or went meanwhile
        self.found.discard("max")  # a group that is being made

    def seen(self):
        self.ended.set()
        self.join()
        return self.found


class Quotas:
    """The checks, as one caller, with one set of options."""

    def __init__(self, caller, options, place):
        self.caller, self.options, self.place = caller, options, place

    def run(self, *words):
        who = {} if self.caller == 0 else {"user": self.caller, "group": self.caller, "extra_groups": []}
        done = subprocess.run([CORRAL, "run", "--no-config", "--json", *self.options, "--read", "/corral", *words],
                              cwd=self.place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(self.caller), timeout=BOUND, check=False, **who)
        try:
            return json.loads(done.stdout)
        except ValueError:
            said = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            raise AssertionError(said[-200:]) from None

    def enforced(self, result, name, by="cgroup"):
        state = {g["name"]: g for g in result["guarantees"]}[name]
        assert state["state"] == "enforced", f"{name} is {state['state']}: {state.get('why')}"
        assert by in state["by"], f"{name} is held by {state['by']}"

    def memory(self):
        result = self.run("--memory", "64M", "--", PROBE, "touch-memory", "256")
        self.enforced(result, "limits.memory")
        assert result["reason"] == "oom", f"256 MB in 64: {result['reason']}"
        result = self.run("--memory", "64M", "--", PROBE, "touch-memory", "16")
        assert (result["reason"], result["exit_code"]) == ("exit", 0), f"16 MB in 64: {result['reason']}"

    def processes(self):
        # With a memory limit there is a group in any case, and its own count is looked at.
        words = ("--processes", "20", "--memory", "512M", "--")
        watch = Watch("pids.max")
        result = self.run(*words, "/bin/sh", "-c", f"{PROBE} fork-many 60; sleep 2")
        self.enforced(result, "limits.processes")
        assert "made=60" not in result["stdout"], "60 processes of 20"
        assert watch.seen() == {"20"}, f"pids.max was {sorted(watch.seen())}"
        result = self.run(*words, PROBE, "fork-many", "5")
        assert "made=5" in result["stdout"], f"5 processes of 20: {result['stdout']}"

    def processes_alone(self):
        """No other limit is asked for: the kernel's own count, or a group for this alone."""
        result = self.run("--processes", "20", "--", PROBE, "fork-many", "60")
        by_kernel = result["engine"] == "namespaces" and self.caller != 0
        self.enforced(result, "limits.processes", "rlimit" if by_kernel else "cgroup")
        assert "made=60" not in result["stdout"], "60 processes of 20"

    def cpu(self):
        spin = ("--", "/bin/sh", "-c", f"timeout 3 {PROBE} spin 60000; :")
        result = self.run("--cpus", "0.2", *spin)
        self.enforced(result, "limits.cpu")
        slow, free = result["usage"]["cpu_ms"], self.run(*spin)["usage"]["cpu_ms"]
        assert slow < 1500, f"{slow} ms in 3 s with 0.2 processors"
        assert free > 2 * slow, f"{free} ms without a limit, {slow} ms with one"

    def judge(self):
        """check → "held", or why not."""
        found = {}
        for name in ("memory", "processes", "processes_alone", "cpu"):
            try:
                getattr(self, name)()
                found[name] = "held"
            except (AssertionError, KeyError, subprocess.TimeoutExpired) as problem:
                found[name] = f"NOT HELD: {problem}"
        deadline = time.monotonic() + GRACE
        while groups_left() and time.monotonic() < deadline:
            time.sleep(0.1)
        found["left behind"] = "nothing" if not groups_left() else f"NOT HELD: {groups_left()}"
        return found
