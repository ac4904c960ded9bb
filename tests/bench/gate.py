# SPDX-License-Identifier: Apache-2.0
"""The gate: one origin, reached without a sandbox, through Corral, through pasta and slirp4netns.

All in the lab of tests/net: the contenders' machine and the origin are two network namespaces with a cable between them.
Corral is the only one that judges: by the name and by every request's host.
"""
import os
import pwd
import shutil
import signal
import statistics
import subprocess
import sys
import time

from bench import HERE, PATH, Skip
from page import Bars, Table

TESTS = os.path.dirname(HERE)
sys.path[:0] = [f"{TESTS}/net", TESTS]

import lab as labs  # noqa: E402  the paths have to be set first

NAME, TITLE = "gate", "The gate"
ABOUT = ("One origin over a virtual cable: one transfer in each direction, new connections with one request each, and requests on "
         "connections that stay; 8 clients at once. Corral alone checks names and requests; pasta and slirp4netns forward everything.")

PORT, HOST, ADDRESS = 8000, "allowed.test", "11.0.0.10"
BYTES, SECONDS, MANY = 1 << 30, 2, 1000
MEASURES = (("down", "down, GB/s", BYTES, 1e9), ("up", "up, GB/s", BYTES, 1e9), ("connect", "connections/s", SECONDS, 1),
            ("requests", "requests/s", SECONDS, 1))


MEASURE_SECONDS = 30


def end_session(leader):
    """Kills every process of this session: pasta makes process groups."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(entry)) == leader:
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            continue  # it has ended


class Stage:
    """The lab, the load generator, and the account."""

    def __init__(self, bench):
        self.bench, self.place = bench, bench.make_dir("net")
        for name in ("home", "work"):
            bench.make_dir(f"net/{name}")
        self.load, self.corral = bench.program("load"), bench.corral
        self.lab = labs.Lab((), bench.user.name)
        self.env = {"PATH": PATH, "HOME": f"{self.place}/home", "LANG": "C.UTF-8"}
        self.ours = []
        self.drop = []
        if os.geteuid() == 0:
            entry = pwd.getpwnam(bench.user.name)
            self.drop = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--"]
            # The peers need it, and on some hosts it is root's alone; in the lab's own view it is everybody's.
            subprocess.run([*self.lab.words(), "sh", "-c", "mount -t tmpfs -o mode=755 none /dev/net && "
                            "mknod -m 666 /dev/net/tun c 10 200"], check=True)
        self.start([*self.lab.internet_words(), self.load, "serve", str(PORT)])
        # Thousands of connections a second from one address: ports must be free again soon.
        for name, value in (("tcp_tw_reuse", "1"), ("ip_local_port_range", "1024 65000")):
            for words in (self.lab.words(), self.lab.internet_words()):
                subprocess.run([*words, "sh", "-c", f"echo {value} >/proc/sys/net/ipv4/{name}"], check=False,
                               stderr=subprocess.DEVNULL)

    def start(self, argv, **more):
        process = subprocess.Popen(argv, env=self.env, **more)
        self.ours.append(process)
        return process

    def here(self):
        return [*self.lab.words(f"{self.place}/work"), *self.drop]

    def measure(self, words, target, what, amount):
        # A session of its own: a peer such as pasta starts the load generator, which a time-out has to end, too.
        process = subprocess.Popen([*words, self.load, what, target, str(PORT), str(amount)], env=self.env, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=MEASURE_SECONDS)
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            process.communicate()
            raise
        if process.returncode != 0:
            raise RuntimeError(f"{what}: {err.strip()[-200:]}")
        return float(out)

    def close(self):
        for process in reversed(self.ours):
            process.kill()
            process.wait()
        self.lab.close()


# ---- the ways ----

def corral(stage):
    return [*stage.here(), stage.corral, "run", "--no-config", "--net", "filtered",
            "--allow-host", f"{HOST}:{PORT}", "--read", os.path.dirname(stage.load), "--"]


def pasta(stage):
    return [*stage.here(), "pasta", "--config-net", "-q", "-f", "--"]


def slirp(stage):
    """A namespace that stays, with slirp4netns beside it."""
    ready = f"{stage.place}/work/slirp"
    holder = stage.start([*stage.here(), "unshare", "-r", "-n", "sh", "-c", f"echo $$ >{ready}; exec sleep 1000"])
    end = time.monotonic() + 5
    while not os.path.exists(ready) or not os.path.getsize(ready):
        if time.monotonic() > end:
            raise RuntimeError("slirp4netns: no namespace")
        time.sleep(0.05)
    # pid namespaces are not changed, so the number is good here as well.
    with open(ready, encoding="ascii") as source:
        pid = source.read().strip()
    stage.start([*stage.here(), "slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", pid, "tap0"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    if holder.poll() is not None:
        raise RuntimeError("slirp4netns: the namespace is gone")
    return [*stage.here(), "nsenter", "-t", pid, "-U", "--preserve-credentials", "-n", "--"]


def contenders(stage):
    """name → (words before the command, what to dial)."""
    found = {"native": (stage.here(), ADDRESS), "corral": (corral(stage), HOST)}
    for name, program, make in (("pasta", "pasta", pasta), ("slirp4netns", "slirp4netns", slirp)):
        if shutil.which(program, path=PATH) is None:
            stage.bench.note(f"{name}: left out: it is not installed")
            continue
        try:
            words = make(stage)
            stage.measure(words, ADDRESS, "requests", 1)
            found[name] = (words, ADDRESS)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            stage.bench.note(f"{name}: left out: {problem}")
    return found


# ---- the gate's memory ----

def status(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as source:
        return next((line.split()[1] for line in source if line.startswith(f"{name}:")), "0")


def gate_of(pid):
    """The child of corral that is in corral's own network: pid 1 of the sandbox is not."""
    own = os.readlink(f"/proc/{pid}/ns/net")
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if status(entry, "PPid") == str(pid) and os.readlink(f"/proc/{entry}/ns/net") == own:
                return entry
        except OSError:
            continue
    return None


def memory(stage):
    """(resident kB with no connection, with MANY of them)."""
    words = corral(stage)
    process = stage.start([*words, "sh", "-c", f"echo began; read x; exec {stage.load} many {HOST} {PORT} {MANY}"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        gate = gate_of(process.pid)
        if gate is None:
            raise RuntimeError("the gate's process is not found")
        before = int(status(gate, "VmRSS"))
        process.stdin.write("go\n")
        process.stdin.flush()
        if process.stdout.readline() != "open\n":
            raise RuntimeError(f"{MANY} connections at once do not open")
        after = int(status(gate, "VmRSS"))
        said = process.communicate("go\n", timeout=60)[0]
        if said.strip() != str(MANY):
            raise RuntimeError("not every connection still worked")
        return before, after
    finally:
        process.kill()


# ---- the section ----

def rounds_of(stage, found, rounds):
    """(name, measure) → the values of all rounds; a peer that fails once is not tried again."""
    times = {(name, what): [] for name in found for what, *_ in MEASURES}
    for _ in range(rounds):
        for what, _, amount, _ in MEASURES:
            for name, (words, target) in found.items():
                if 0.0 in times[name, what]:
                    continue
                try:
                    times[name, what].append(stage.measure(words, target, what, amount))
                except (RuntimeError, subprocess.TimeoutExpired) as problem:
                    if name in ("native", "corral"):
                        raise Skip(f"{name}: {what}: {problem}") from problem
                    stage.bench.note(f"{name}: {what}: {str(problem)[-120:]}")
                    times[name, what].append(0.0)
    return times


def measure(bench):
    try:
        stage = Stage(bench)
    except labs.NoLab as problem:
        raise Skip(f"no lab here: {problem}") from problem
    try:
        found = contenders(stage)
        times = rounds_of(stage, found, 1 if bench.quick else 5)
        rows = {name: {what: statistics.median(times[name, what]) for what, *_ in MEASURES} for name in found}
        try:
            before, after = memory(stage)
        except RuntimeError as problem:
            bench.note(f"the gate's memory: left out: {problem}")
            before = after = None
        return {"rows": rows, "memory": {"before_kb": before, "after_kb": after, "connections": MANY}}
    finally:
        stage.close()


def tables(data):
    native, rows = data["rows"]["native"], []
    for name, row in data["rows"].items():
        cells = []
        for what, _, _, unit in MEASURES:
            cells += [f"{row[what] / unit:.2f}" if unit > 1 else f"{row[what]:.0f}", f"{row[what] / native[what]:.2f}"]
        rows.append((name, *cells))
    yield Table("the way to one origin", ("way", *(cell for _, title, _, _ in MEASURES for cell in (title, "to native"))), rows)
    kept = data["memory"]
    if kept["before_kb"] is not None:
        yield Table("resident memory of the gate", ("connections", "kB"), [("none", kept["before_kb"]),
                                                                        (kept["connections"], kept["after_kb"])])


def plots(data):
    for what, title, _, unit in MEASURES[::2]:
        yield f"gate-{what}", Bars(title, [(name, row[what] / unit) for name, row in data["rows"].items() if row[what] > 0], mark="corral")
