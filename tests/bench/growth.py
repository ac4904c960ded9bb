# SPDX-License-Identifier: Apache-2.0
"""Growth: how the cost of a run depends on the number of rules, files, variables, bytes, processes and other sandboxes."""
import json
import math
import os
import shutil

from bench import Skip, figures, slope
from crowd import Held, place_of
from page import Lines, Table, us

NAME, TITLE = "growth", "Growth"
ABOUT = ("The fastest run against the size of one thing; the workspace of many files has two deny patterns. *Order* is the slope of the best fit on logarithmic axes: 0 is constant, "
         "1 is linear. *Steepest* is the largest slope between two neighbouring sizes that adds more than a tenth and 5 ms; above "
         "1.2 it is a cliff, and the table names it.")
CLIFF = 1.2
NOTICED_US, NOTICED = 5000, 1.1  # smaller differences are the machine's


def policy_file(bench, name, size, text):
    return bench.write(f"{bench.place}/growth/{name}-{size}.toml", text)


def by_policy(section, key, entry, *options):
    """Contenders with policy files that have a list of so many entries."""
    def words(bench, workspace, size, name):
        entries = [entry(bench, number) for number in range(size)]
        path = policy_file(bench, name, size, f"[{section}]\n{key} = {json.dumps(entries)}\n")
        return [bench.corral, "run", "--policy", path, "--workspace", workspace, *options, "/bin/true"]
    return words


def in_three_lists(bench, workspace, size, name):
    """A list holds at most 4096 items."""
    third = -(-size // 3)
    lists = {"fs.deny": [f"**/*.kind{n}" for n in range(third)], "fs.protect": [f"kept/file{n}" for n in range(third)],
             "net.allow": [f"h{n}.example.com" for n in range(third)]}
    path = policy_file(bench, name, size, "".join(f"{key} = {json.dumps(items)}\n" for key, items in lists.items()))
    return [bench.corral, "run", "--policy", path, "--workspace", workspace, "--net", "filtered", "/bin/true"]


def granted(bench, number):
    path = f"{bench.place}/growth/granted/d{number}"
    if not os.path.isdir(path):
        os.makedirs(path)
    return path


def in_tree(bench, _workspace, size, _name):
    folder = bench.make_dir(f"growth/tree-{size}")
    bench.run([bench.program("tree"), folder, str(max(1, size // 10)), str(size)], bench.place)
    return [*bench.corral_words(folder, "--deny", "*.pem", "--deny", "**/private/**"), "/bin/true"]


# What grows; its sizes, for a quick run the first three; the words of a run.
RACES = (
    ("denied paths", (1, 10, 100, 1000, 4000), by_policy("fs", "deny", lambda b, n: f"secrets/file{n}.txt")),
    ("deny patterns", (1, 10, 100, 1000, 4000), by_policy("fs", "deny", lambda b, n: f"**/*.kind{n}")),
    ("rules in three lists", (3, 30, 300, 3000, 10000), in_three_lists),
    ("granted directories", (1, 10, 100, 1000), by_policy("fs", "read", granted)),
    ("allowed hosts", (1, 10, 100, 1000, 4000), by_policy("net", "allow", lambda b, n: f"h{n}.example.com", "--net", "filtered")),
    ("files in the workspace", (100, 1000, 10000, 100000, 300000), in_tree),
)


def points_of(raced):
    return [(int(size), figures(values)["min"]) for size, values in raced.items()]


def race(bench, workspace, name, sizes, words):
    rounds, seconds = (7, 20) if bench.quick else (40, 120)
    return points_of(bench.race([(str(size), words(bench, workspace, size, name.split()[0])) for size in sizes], rounds, seconds,
                                workspace))


def environment(bench, workspace, sizes):
    """The caller's environment: each size has a driver of its own, so the rounds are short and take turns."""
    found = {str(size): [] for size in sizes}
    for _ in range(2 if bench.quick else 8):
        for size in sizes:
            more = {f"VARIABLE_{n}": "a value of some length, as they are" for n in range(size)}
            words = [("run", [*bench.corral_words(workspace), "/bin/true"])]
            found[str(size)] += bench.race(words, 4, 10, workspace, env=more)["run"]
    return points_of(found)


def timed(bench, workspace, sizes, words):
    """Sizes whose runs take long: seconds of whole commands, interleaved."""
    turns = {str(size): lambda size=size: bench.run(words(size), workspace) for size in sizes}
    found = bench.interleave(turns, 2 if bench.quick else 5)
    return [(int(size), figures(values)["min"] * 1e6) for size, values in found.items() if values]


def output_words(bench, workspace):
    run = " ".join(bench.corral_words(workspace))
    return lambda size: ["sh", "-c", f"{run} -- head -c {size} /dev/zero | cat >/dev/null"]


def fork_words(bench, workspace):
    return lambda size: [*bench.corral_words(workspace, "--processes", str(size + 100)), "--", f"{workspace}/crowd", "fork", str(size)]


def running(bench, workspace, sizes):
    """One more run beside so many that are alive."""
    found = {}
    for size in sizes:
        with Held(bench, workspace, bench.corral_words(workspace) + ["--"], size):
            words = [("run", [*bench.corral_words(workspace), "/bin/true"])]
            found[str(size)] = bench.race(words, 10 if bench.quick else 40, 60, workspace)["run"]
    return points_of(found)


def others(bench, workspace):
    """(name, sizes, function) of the rest."""
    gigabytes = 10 if bench.full else 1
    yield "variables of the caller", (10, 100, 1000, 10000), lambda s: environment(bench, workspace, s)
    yield ("bytes of output", (1 << 20, 10 << 20, 100 << 20, gigabytes << 30),
           lambda s: timed(bench, workspace, s, output_words(bench, workspace)))
    yield ("processes inside", (10, 100, 1000, 10000 if bench.full else 3000),
           lambda s: timed(bench, workspace, s, fork_words(bench, workspace)))
    yield "other sandboxes that run", (1, 10, 100, 1000), lambda s: running(bench, workspace, s)


def measure(bench):
    bench.make_dir("growth")
    workspace, found = place_of(bench), {}
    shutil.copy(bench.program("crowd"), f"{workspace}/crowd")
    jobs = [(name, sizes, lambda s, n=name, w=words: race(bench, workspace, n, s, w)) for name, sizes, words in RACES]
    for name, sizes, work in [*jobs, *others(bench, workspace)]:
        try:
            found[name] = work(sizes[:3] if bench.quick else sizes)
        except Skip as problem:
            bench.note(f"{name}: left out: {problem}")
    if not bench.full:
        bench.note("growth: at most 1 GB of output and 3,000 processes; BENCH_FULL=1 goes to 10 GB and 10,000")
    return {"curves": found}


def steepest(points):
    """(slope, size) of the steepest part that is worth noticing."""
    worst = (0.0, 0)
    for (x1, y1), (x2, y2) in zip(points, points[1:]):
        if y2 - y1 > NOTICED_US and y2 > y1 * NOTICED:
            worst = max(worst, (math.log(y2 / y1) / math.log(x2 / x1), x2))
    return worst


def tables(data):
    rows = []
    for name, points in data["curves"].items():
        top, size = steepest(points)
        cliff = f"CLIFF at {us(size)}" if top > CLIFF else "none"
        rows.append((name, ", ".join(us(x) for x, _ in points), ", ".join(f"{y / 1000:.1f}" for _, y in points), f"{slope(points):.2f}",
                     f"{top:.2f}", cliff))
    yield Table("a run against the size of one thing", ("what grows", "sizes", "ms of a run", "order", "steepest", "cliff"), rows)


def plots(data):
    curves = {name: [(x, y / 1000) for x, y in points] for name, points in data["curves"].items() if not name.startswith("bytes")}
    if curves:
        yield "growth", Lines("Milliseconds of a run", "size of what grows", curves)
