# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes: runs a second from several drivers, a thousand at once, and the memory of each."""
import json
import os
import resource
import shutil
import subprocess

from bench import Skip, figures
from contenders import installed
from page import Bars, Table, us

NAME, TITLE = "crowd", "Many sandboxes"
ABOUT = ("*Runs a second* of `/bin/true` from 1, 2, 8 and 32 drivers at once. *At once* starts all sandboxes from one driver; each "
         "command reports that it runs and waits. Memory is taken while all of them run: the private pages of the sandbox's own "
         "processes (not of the command), and the memory of the system that is no longer available.")
DRIVERS = (1, 2, 8, 32)


def contenders(bench, workspace):
    """name → words before a command."""
    yield "bare", []
    yield "corral, full", bench.corral_words(workspace) + ["--"]
    yield "corral, standard", bench.corral_words(workspace, "--level", "standard") + ["--"]
    if installed("bwrap"):
        yield "bubblewrap, --unshare-all", bench.bwrap_words(workspace, "--unshare-all") + ["--chdir", workspace, "--"]


def rates(bench, workspace):
    """name → drivers → figures; the contenders take turns of a second."""
    found = {}
    for drivers in map(str, DRIVERS):
        times = {name: [[], 0.0] for name, _ in contenders(bench, workspace)}
        for _ in range(1 if bench.quick else 6):
            for name, words in contenders(bench, workspace):
                said = json.loads(bench.output([bench.program("crowd"), "rate", drivers, "1", *words, "/bin/true"], workspace))
                times[name][0] += said["us"]
                times[name][1] += said["seconds"]
        for name, (values, seconds) in times.items():
            found.setdefault(name, {})[drivers] = {"rate": len(values) / seconds, **figures(values)}
    return found


def status_of(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as source:
        return next((line.split()[1] for line in source if line.startswith(f"{name}:")), "")


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as source:
        return sum(int(line.split()[1]) for line in source if line.startswith("Private_"))


def descendants(top):
    """Every process below one, with its command's name."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            children.setdefault(status_of(entry, "PPid"), []).append(entry)
        except OSError:
            continue
    waiting, found = [str(top)], []
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def own_memory(top):
    """kB of the private pages of all processes below one but the commands themselves."""
    total = 0
    for pid in descendants(top):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as source:
                words = source.read().split(b"\0")
            if not words[0].endswith(b"crowd"):
                total += private_kb(pid)
        except OSError:
            continue
    return total


def available_kb():
    with open("/proc/meminfo", encoding="ascii") as source:
        return next(int(line.split()[1]) for line in source if line.startswith("MemAvailable:"))


class Held:
    """So many sandboxes that are alive; "with" ends them."""

    def __init__(self, bench, workspace, words, count):
        argv = [bench.program("crowd"), "once", str(count), *words, f"{workspace}/crowd", "hold"]
        self.process = subprocess.Popen(argv, cwd=workspace, env=bench.user.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **bench.user.words)
        self.seconds = self.said("running")

    def said(self, word):
        line = self.process.stdout.readline().split()
        if line[:1] != [word]:
            self.process.kill()
            raise Skip(f"not every sandbox began: {self.process.communicate()[1].strip()[-200:]}")
        return float(line[1])

    def __enter__(self):
        return self

    def end(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds = self.said("ended")
        self.process.wait()
        return seconds

    def __exit__(self, *_what):
        if self.process.poll() is None:
            self.end()


def together(bench, workspace, words, count):
    """Figures of `count` sandboxes at once."""
    before = available_kb()
    with Held(bench, workspace, words, count) as held:
        used, own = before - available_kb(), own_memory(held.process.pid)
        return {"count": count, "seconds": held.seconds, "own_kb": own / count, "system_kb": used / count, "end": held.end()}


def place_of(bench):
    workspace = bench.make_dir("crowd")
    shutil.copy(bench.program("crowd"), f"{workspace}/crowd")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return workspace


def measure(bench):
    workspace = place_of(bench)
    found = {"rates": rates(bench, workspace), "together": {}}
    for count in (1, 10, 100) if bench.quick else (1, 10, 100, 300, 1000):
        for name, words in contenders(bench, workspace):
            try:
                found["together"].setdefault(name, []).append(together(bench, workspace, words, count))
            except Skip as problem:
                bench.note(f"{name}, {count} at once: left out: {problem}")
    return found


def tables(data):
    yield Table("runs of /bin/true a second, and the p99 of one run in µs", ("sandbox", *(f"{n} driver{'s' * (n > 1)}" for n in DRIVERS),
                                                                          *(f"p99, {n}" for n in DRIVERS)),
                [(name, *(f"{row[str(n)]['rate']:.0f}" for n in DRIVERS), *(us(row[str(n)]["p99"]) for n in DRIVERS))
                 for name, row in data["rates"].items()])
    yield Table("alive at the same time", ("sandbox", "how many", "all run after, s", "ms a sandbox", "all ended after, s",
                                           "own memory, kB each", "system memory, kB each"),
                [(name, row["count"], f"{row['seconds']:.2f}", f"{row['seconds'] * 1000 / row['count']:.2f}", f"{row['end']:.2f}",
                  f"{row['own_kb']:.0f}" if name != "bare" else "", f"{row['system_kb']:.0f}" if row["count"] >= 100 else "")
                 for name, rows in data["together"].items() for row in rows])


def plots(data):
    yield "crowd", Bars("Runs of /bin/true a second", [(f"{name}, {n}", row[str(n)]["rate"]) for name, row in data["rates"].items()
                                                      for n in DRIVERS if name != "bare"], mark="corral")
