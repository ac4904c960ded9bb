# SPDX-License-Identifier: Apache-2.0
"""Steady state: real work with many files inside a sandbox, against the same work outside, on a tmpfs and on the disk."""
import glob
import os
import shutil

from bench import ROOT, Skip, figures
from page import Bars, Table
from registry import Registry
from rules import globs

NAME, TITLE = "steady", "Steady state"
ABOUT = ("Each cell is the fastest of the interleaved rounds over that of the same work outside; the start of the sandbox is a "
         "part of it. Corral checks every file that "
         "is created, renamed or removed against the names that its default rules protect; *50 denies* adds fifty patterns, so "
         "that every open is checked as well. "
         "A tmpfs is the worst case: nothing else costs time there.")
BARE = "outside"


class Work:
    """One piece of work: how its folder is made, what is undone before each turn, and the command."""

    def __init__(self, name, argv, make, undo=None, network=False):
        self.name, self.argv, self.make, self.undo, self.network = name, argv, make, undo, network


def tree(bench, folder, files):
    bench.run([bench.program("tree"), folder, str(max(1, files // 20)), str(files)], os.path.dirname(folder))


def repository(bench, folder, files):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]
    bench.run([*git, "init", "-q", "."], folder)
    tree(bench, f"{folder}/src", files)
    for words in (["add", "."], ["commit", "-qm", "all"]):
        bench.run([*git, *words], folder)


def remove(*names):
    return lambda _bench, folder: [shutil.rmtree(f"{folder}/{name}", ignore_errors=True) for name in names]


def archive(bench, folder, files):
    tree(bench, f"{folder}/src", files)
    bench.run(["tar", "-cf", "all.tar", "src"], folder)


def unpack(bench, folder):
    shutil.rmtree(f"{folder}/src", ignore_errors=True)
    bench.run(["tar", "-xf", "all.tar"], folder)


def project(bench, folder):
    """Corral's own sources, with a Makefile that compiles some rooms of them."""
    for name in ("src", "include"):
        shutil.copytree(f"{ROOT}/{name}", f"{folder}/{name}")
    sources = sorted(os.path.relpath(path, f"{folder}/src") for path in glob.glob(f"{folder}/src/base/*.c"))
    sources = [path for path in sources if "fortified" not in path][:8 if bench.quick else 40]
    objects = " ".join(f"out/{path[:-2]}.o" for path in sources)
    bench.write(f"{folder}/Makefile", f"all: {objects}\nout/%.o: src/%.c\n\t@mkdir -p $(dir $@)\n"
                "\t@gcc -std=gnu17 -D_GNU_SOURCE -O1 -Iinclude -Isrc -c -o $@ $<\n")
    bench.give(folder)


def cloneable(bench, folder, files):
    bench.make_dir(f"{folder}/origin")
    repository(bench, f"{folder}/origin", files)


def create(bench, folder):
    shutil.copy(bench.program("tree"), f"{folder}/tree")


def works(bench, registry):
    many, some = (2000, 1000) if bench.quick else (20000, 5000)
    yield Work(f"git status, {many} files", ["git", "status", "--porcelain"], lambda b, f: repository(b, f, many))
    yield Work("compile, make -j2", ["make", "-j2", "-s"], project, remove("out"))
    yield Work("compile, make -j1", ["make", "-j1", "-s"], project, remove("out"))
    yield Work(f"tar -c, {many} files", ["tar", "-cf", "/dev/null", "--exclude=all.tar", "src"], lambda b, f: archive(b, f, many))
    yield Work(f"tar -x, {some} files", ["tar", "-xf", "all.tar"], lambda b, f: archive(b, f, some), remove("src"))
    yield Work(f"create {many} files", ["./tree", "made", str(many // 20), str(many)], create, remove("made"))
    yield Work(f"find, {many} files", ["find", ".", "-name", "*.c", "-newer", "/etc/passwd"], lambda b, f: tree(b, f"{f}/src", many))
    yield Work(f"rm -rf, {some} files", ["rm", "-rf", "src"], lambda b, f: archive(b, f, some), unpack)
    yield Work(f"git clone, {some} files", ["git", "clone", "-q", "origin", "copy"], lambda b, f: cloneable(b, f, some), remove("copy"))
    if registry is not None:
        yield Work(f"npm ci, {registry.packages} packages", registry.command(), registry.project, remove("node_modules", "cache"), True)


def wraps(bench, folder, work, registry):
    """name → words before the command."""
    net = registry.net() if work.network else []
    yield BARE, []
    yield "corral", bench.corral_words(folder, *net) + ["--"]
    yield "corral, standard", bench.corral_words(folder, *net, "--level", "standard") + ["--"]
    yield "corral, 50 denies", bench.corral_words(folder, *net, *globs()) + ["--"]
    if work.network:
        yield "corral, filtered", bench.corral_words(folder, *registry.filtered()) + ["--"]
    yield "bubblewrap", bench.bwrap_words(folder, "--unshare-all", *(["--share-net"] if work.network else [])) + ["--"]


def turn(bench, folder, work, words):
    if work.undo is not None:
        work.undo(bench, folder)
    return bench.run([*words, *work.argv], folder)


def measure_work(bench, place, work, registry):
    folder = bench.make_dir(f"{place}/work")
    try:
        work.make(bench, folder)
        turns = {name: lambda words=words: turn(bench, folder, work, words) for name, words in wraps(bench, folder, work, registry)}
        times = bench.interleave(turns, 2 if bench.quick else 7)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {name: figures([value * 1000 for value in values]) for name, values in times.items()}


def measure(bench):
    found, registry = {}, None
    try:
        registry = Registry(bench)
    except Skip as problem:
        bench.note(f"npm ci: left out: {problem}")
    try:
        for system, place in bench.filesystems().items():
            found[system] = {}
            for work in works(bench, registry):
                try:
                    found[system][work.name] = measure_work(bench, place, work, registry)
                except Skip as problem:
                    bench.note(f"{work.name} on {system}: left out: {problem}")
    finally:
        if registry is not None:
            registry.close()
    return {"filesystems": found}


def tables(data):
    for system, works_done in data["filesystems"].items():
        names = list(dict.fromkeys(name for rows in works_done.values() for name in rows if name != BARE))
        yield Table(f"on {system}, ratio to outside", ("work", "outside, ms", *names),
                    [(work, f"{rows[BARE]['min']:.0f}", *(f"{rows[name]['min'] / rows[BARE]['min']:.2f}" if name in rows else ""
                                                             for name in names)) for work, rows in works_done.items() if BARE in rows])


def plots(data):
    for system, works_done in data["filesystems"].items():
        rows = [(f"{name}: {work.split(',')[0]}", done[name]["min"] / done[BARE]["min"]) for work, done in works_done.items()
                for name in ("corral", "bubblewrap") if name in done and BARE in done]
        yield f"steady-{system}", Bars(f"Time over the same work outside, on {system}", rows, mark="corral")
