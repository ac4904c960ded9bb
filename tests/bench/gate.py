#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate costs: one origin, reached without a sandbox, through Corral, through pasta and slirp4netns.

    net.py --corral PATH [--user NAME] [--rounds N] [--level LEVEL]

All in the lab of tests/net: the contenders' machine and the origin are two network namespaces with a
cable between them.  Every round makes each contender's turn once, so that what else the machine does
hits all alike.  Corral is the only one that judges: by the name and by every request's host.
"""
import argparse
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [f"{TESTS}/net", TESTS]

import ladder  # noqa: E402  the paths have to be set first
import lab as labs  # noqa: E402

PORT, NAME, ADDRESS = 8000, "allowed.test", "11.0.0.10"
BYTES, SECONDS, MANY = 1 << 30, 2, 1000
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
MEASURES = (("down", "down, GB/s", BYTES, 1e9), ("up", "up, GB/s", BYTES, 1e9), ("connect", "connections/s", SECONDS, 1),
            ("requests", "requests/s", SECONDS, 1))


class Bench:
    """The lab, the load generator, and who runs it."""

    def __init__(self, options, place):
        self.options, self.place = options, place
        self.load = f"{place}/load"
        subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-std=gnu17", "-D_GNU_SOURCE", "-pthread", "-o", self.load,
                        f"{HERE}/load.c"], check=True)
        self.corral = shutil.copy(options.corral, place)
        self.lab = labs.Lab((), options.user)
        self.env = {"PATH": PATH, "HOME": f"{place}/home", "LANG": "C.UTF-8"}
        self.ours = []
        self.drop = []
        if os.geteuid() == 0:
            entry = pwd.getpwnam(options.user)
            self.drop = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--"]
            for name in ("home", "work"):
                os.chown(f"{place}/{name}", entry.pw_uid, entry.pw_gid)
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
        done = subprocess.run([*words, self.load, what, target, str(PORT), str(amount)], env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=30)
        if done.returncode != 0:
            raise RuntimeError(f"{what}: {done.stderr.strip()[-200:]}")
        return float(done.stdout)

    def close(self):
        for process in reversed(self.ours):
            process.kill()
            process.wait()
        self.lab.close()


# ---- the ways ----

def corral(bench):
    return [*bench.here(), bench.corral, "run", "--no-config", *ladder.ASK[bench.options.level], "--net", "filtered",
            "--allow-host", f"{NAME}:{PORT}", "--read", bench.place, "--"]


def pasta(bench):
    return [*bench.here(), "pasta", "--config-net", "-q", "-f", "--"]


def slirp(bench):
    """A namespace that stays, with slirp4netns beside it."""
    ready = f"{bench.place}/work/slirp"
    holder = bench.start([*bench.here(), "unshare", "-r", "-n", "sh", "-c", f"echo $$ >{ready}; exec sleep 1000"])
    end = time.monotonic() + 5
    while not os.path.exists(ready) or not os.path.getsize(ready):
        if time.monotonic() > end:
            raise RuntimeError("slirp4netns: no namespace")
        time.sleep(0.05)
    # pid namespaces are not changed, so the number is good here as well.
    with open(ready, encoding="ascii") as source:
        pid = source.read().strip()
    bench.start([*bench.here(), "slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", pid, "tap0"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    if holder.poll() is not None:
        raise RuntimeError("slirp4netns: the namespace is gone")
    return [*bench.here(), "nsenter", "-t", pid, "-U", "--preserve-credentials", "-n", "--"]


def contenders(bench):
    """name → (words before the command, what to dial)."""
    found = {"native": (bench.here(), ADDRESS), "corral": (corral(bench), NAME)}
    for name, program, make in (("pasta", "pasta", pasta), ("slirp4netns", "slirp4netns", slirp)):
        if shutil.which(program, path=PATH) is None:
            print(f"{name}: not installed, left out")
            continue
        try:
            words = make(bench)
            bench.measure(words, ADDRESS, "requests", 1)
            found[name] = (words, ADDRESS)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            print(f"{name}: left out: {problem}")
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


def memory(bench):
    """(resident kB with no connection, with MANY of them)."""
    words = corral(bench)
    process = bench.start([*words, "sh", "-c", f"echo began; read x; exec {bench.load} many {NAME} {PORT} {MANY}"],
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


# ---- the table ----

def table(found, medians):
    print(f"{'':<14}" + "".join(f"{title:>16} {'to native':>10}" for _, title, _, _ in MEASURES))
    for name in found:
        cells = ""
        for what, _, _, unit in MEASURES:
            value = medians[name, what]
            shown = f"{value / unit:.2f}" if unit > 1 else f"{value:.0f}"
            cells += f"{shown:>16} {value / medians['native', what]:>10.2f}"
        print(f"{name:<14}{cells}")


def told(met):
    return "met" if met else "MISSED"


def targets(found, medians):
    mine = {what: medians["corral", what] for what, *_ in MEASURES}
    native = {what: medians["native", what] for what, *_ in MEASURES}
    for name, factor in (("pasta", 1.5), ("slirp4netns", 2.0)):
        if name in found:
            for what in ("down", "up"):
                if not medians[name, what]:
                    continue  # it does not finish one
                ratio = mine[what] / medians[name, what]
                print(f"  one transfer {what}: {ratio:.2f} times {name}'s; at least {factor}: {told(ratio >= factor)}")
    share = mine["down"] / native["down"]
    print(f"  one transfer: {share:.2f} of native; aimed at 0.7")
    least = min(7000, 0.4 * native["connect"])
    print(f"  {mine['connect']:.0f} new connections a second; at least {least:.0f}: {told(mine['connect'] >= least)}")


def run(bench):
    found = {name: way for name, way in contenders(bench).items() if name in (bench.options.only or (name,))}
    times = {(name, what): [] for name in found for what, *_ in MEASURES}
    for _ in range(bench.options.rounds):
        for what, _, amount, _ in MEASURES:
            for name, (words, target) in found.items():
                if 0.0 in times[name, what]:
                    continue  # it does not get there
                try:
                    times[name, what].append(bench.measure(words, target, what, amount))
                except (RuntimeError, subprocess.TimeoutExpired) as problem:
                    if name in ("native", "corral"):
                        raise
                    print(f"{name}: {what}: {str(problem)[-120:]}")
                    times[name, what].append(0.0)
    medians = {key: statistics.median(values) for key, values in times.items()}
    table(found, medians)
    targets(found, medians)
    before, after = memory(bench)
    print(f"  {MANY} connections at once: the gate has {after} kB resident, {before} kB before")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True)
    parser.add_argument("--user", default="games")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of contenders")
    ladder.add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="net-", dir="/srv" if os.access("/srv", os.W_OK) else None) as place:
        os.chmod(place, 0o755)
        for name in ("home", "work"):
            os.mkdir(f"{place}/{name}")
        try:
            bench = Bench(options, place)
        except labs.NoLab as problem:
            print(f"network: no lab here: {problem}")
            return
        try:
            print(f"\nthe way to one origin, {options.rounds} rounds; transfers of {BYTES >> 20} MiB")
            run(bench)
        finally:
            bench.close()


if __name__ == "__main__":
    main()
