#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What rules about files cost: on a run, on a build, on unpacking.  Called by run.sh.

    files.py --corral PATH --latency PATH --tree PATH --place DIR [--big DIR] [--base PATH] [--rounds N] [--user NAME]

Every comparison is interleaved: each round makes every contender's turn once, so that
what else the machine does hits all alike.  Ratios are of each one's fastest round, because
other work can only add to that, and of processor time, the broker's included.  --big keeps the large tree, or uses the one that is there.

A sandbox without rules is what rules are compared with.  Names that others obey are
always protected, so that is bubblewrap; --base names a Corral from before there were
rules, which is the closer comparison.
"""
import argparse
import os
import pwd
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

DIRECTORIES, FILES = 30000, 300000
UNPACKED = 5000
CREATED = 20000
SOURCES = 20

# The most that a piece of work may take, in times of the bare one: with default rules, and with fifty denies; on tmpfs
# and on another file system.
BARS = {
    "build": {"corral, 50 denies": (1.1, 1.1)},
    "make": {"corral, 50 denies": (1.05, 1.05)},
    "unpack": {"corral, default rules": (3.0, 1.3)},
    "create": {"corral, default rules": (4, 1.4)},
    "clone": {"corral, default rules": (1.4, 1.15)},
    "remove": {"corral, default rules": (2.5, 2.5)},
    "status": {"corral, 50 denies": (1.5, 1.5)},
    "find": {"corral, 50 denies": (1.3, 1.3)},
}

# Fifty patterns as people write them: endings, names, places, classes, exceptions.
GLOBS = (
    ".env", ".env.*", "!.env.example", "*.pem", "*.key", "!*.pub", "*.p12", "*.pfx", "*.kdbx", "id_rsa", "id_ed25519",
    "id_ecdsa", "*.jks", "*.keystore", "credentials.json", "credentials.y*ml", "service-account*.json", "secrets.*",
    "!secrets.example", "*.tfstate", "*.tfvars", ".netrc", ".pgpass", ".htpasswd", ".git-credentials", ".npmrc.local",
    "**/private/**", "**/secrets/*.txt", "config/*/production.*", "deploy/**/vault*", "**/node_modules/**/*.token",
    "[sS]ecret*", "[Pp]assword*", "*.[oO][vV][pP][nN]", "**/.aws/credentials", "**/.ssh/*", "kube*config", "*.ppk", "*.p8",
    "*_rsa", "*_dsa", "client_secret*.json", "**/fixtures/real-*/**", "backup-????.sql", "dump.[0-9][0-9]", "*.sqlite-secret",
    "certs/*.crt", "!certs/ca.crt", "**/terraform/**/*.auto.tfvars", "*.mobileprovision",
)

INCLUDES = ("stdio.h", "stdlib.h", "string.h", "errno.h", "unistd.h", "fcntl.h", "time.h", "signal.h", "pthread.h",
            "sys/stat.h", "sys/types.h", "sys/socket.h", "netinet/in.h")


class Bench:
    """Where it runs and as whom."""

    def __init__(self, options):
        self.options, self.place = options, options.place
        self.only = options.only or ["starts", *BARS]
        self.words = {}
        if os.getuid() == 0:
            user = pwd.getpwnam(options.user)
            self.words = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.env = {"HOME": f"{self.place}/home", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(self, argv, cwd):
        """(seconds, processor seconds) of one command that must succeed."""
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(argv, cwd=cwd, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **self.words)
        spent, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(f"files.py: {' '.join(argv)[:200]}: status {done.returncode}\n{done.stdout[-2000:]}")
        return spent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def output(self, argv, cwd):
        return subprocess.run(argv, cwd=cwd, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              check=True, **self.words).stdout

    def make_dir(self, name):
        path = f"{self.place}/{name}"
        os.makedirs(path, exist_ok=True)
        self.own(path)
        return path

    def own(self, path):
        if self.words:
            os.chown(path, self.words["user"], self.words["group"])

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        self.own(path)

    def corral(self, workspace, *options, program=None):
        # --json: then it waits for what it ran, and the time that was used is told.
        return [program or self.options.corral, "run", "--json", "--no-config", "--workspace", workspace, *options, "--"]

    def bwrap(self, workspace):
        return ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                "--bind", workspace, workspace, "--new-session", "--die-with-parent", "--"]


def globs():
    return [word for text in GLOBS for word in ("--deny", text)]


# ---- the start of a run ----

def contenders(bench, big, small):
    """(name, words) of the rows; the first is the bare spawn and the last the peer."""
    yield "bare spawn", []
    for size, tree in (("small", small), ("big", big)):
        if bench.options.base:
            yield f"{size} tree, base", bench.corral(tree, program=bench.options.base)
        yield f"{size} tree, default rules", bench.corral(tree)
        yield f"{size} tree, 50 denies more", bench.corral(tree, *globs())
    yield "bwrap, big tree", bench.bwrap(big)


def starts(bench, big, small):
    words = [bench.options.latency, str(bench.options.rounds)]
    rows = list(contenders(bench, big, small))
    for number, (name, argv) in enumerate(rows):
        # "--" is between contenders here, so none may stand before the command.
        words += ["--"] * (number > 0) + [name, *(word for word in argv[:-1] if word != "--json"), "/bin/true"]
    table = bench.output(words, small)
    print(table, end="")
    added = {name: float(re.search(rf"^{re.escape(name)} +\d+ +\d+ +(-?\d+)", table, re.MULTILINE).group(1)) / 1000
             for name, _ in rows[1:]}
    for size, target in (("small", 2), ("big", 20)):
        cost = added[f"{size} tree, 50 denies more"] - added.get(f"{size} tree, base", added[f"{size} tree, default rules"])
        told = "met" if cost <= target else "MISSED"
        print(f"  50 denies on the {size} tree add {cost:.2f} ms to a run; at most {target} ms: {told}")


# ---- work with many files ----

def on_tmpfs(place):
    return subprocess.run(["stat", "-f", "-c", "%T", place], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip() == "tmpfs"


def tell_bars(bench, name, times):
    """Each bar, and the ratio of the fastest rounds."""
    for who, bars in BARS[name].items():
        most = bars[0 if on_tmpfs(bench.place) else 1]
        ratio = min(turn[0] for turn in times[who]) / min(turn[0] for turn in times["bare"])
        used = min(turn[1] for turn in times[who]) / min(turn[1] for turn in times["bare"])
        print(f"  {who}: {ratio:.2f} times the bare work, at most {most}: {'met' if ratio <= most else 'MISSED'}; "
              f"{used:.2f} times its processor time")


def interleave(bench, name, title, turns):
    """turns: name → function that makes one round's turn and returns (seconds, processor seconds)."""
    times = {name: [] for name in turns}
    for turn in turns.values():
        turn()  # fills caches
    for _ in range(bench.options.work_rounds):
        for who, turn in turns.items():
            times[who].append(turn())
    print(f"\n{title}, {bench.options.work_rounds} rounds")
    without = "base" if "base" in times else "bwrap"
    print(f"{'':<24} {'median ms':>10} {'fastest':>8} {'to bare':>8} {'to ' + without:>8} {'cpu ms':>8} "
          f"{'to bare':>8}")
    for who, found in times.items():
        clock, used = ([turn[column] for turn in found] for column in (0, 1))
        ratios = [min(turn[0] for turn in found) / min(turn[0] for turn in times[base]) for base in ("bare", without)]
        line = (f"{who:<24} {statistics.median(clock) * 1000:>10.0f} {min(clock) * 1000:>8.0f} {ratios[0]:>8.3f} "
                f"{ratios[1]:>8.3f}")
        if who != "bwrap":  # it does not wait for what it ran
            line += f" {min(used) * 1000:>8.0f} {min(used) / min(turn[1] for turn in times['bare']):>8.3f}"
        print(line)
    tell_bars(bench, name, times)


def in_each(bench, folder, argv, before):
    """The turns of one piece of work in one folder."""
    wraps = {
        "bare": [],
        "corral, default rules": bench.corral(folder),
        "corral, 50 denies": bench.corral(folder, *globs()),
        "bwrap": bench.bwrap(folder),
    }
    if bench.options.base:
        wraps["base"] = bench.corral(folder, program=bench.options.base)

    def turn(wrap):
        before()
        return bench.run([*wrap, *argv], folder)
    return {name: lambda wrap=wrap: turn(wrap) for name, wrap in wraps.items()}


def build(bench):
    folder = bench.make_dir("build")
    for name in ("src", "include", "include/own", "vendor", "out"):
        bench.make_dir(f"build/{name}")
    for number in range(40):
        bench.write(f"{folder}/include/own/h{number}.h", f"#ifndef H{number}\n#define H{number}\n" + "".join(
            f"static inline int f{number}_{i}(int a) {{ return a * {i} + {number}; }}\n" for i in range(30)) + "#endif\n")
    for number in range(SOURCES):
        own = "".join(f"#include <own/h{(number * 7 + i) % 40}.h>\n" for i in range(12))
        bench.write(f"{folder}/src/s{number}.c", "".join(f"#include <{name}>\n" for name in INCLUDES) + own + "".join(
            f"int g{number}_{i}(int a) {{ return f{(number * 7 + i) % 40}_{i}(a) + (int)strlen(\"x\"); }}\n"
            for i in range(12)))
    objects = " ".join(f"out/s{number}.o" for number in range(SOURCES))
    bench.write(f"{folder}/Makefile", f"all: {objects}\nout/%.o: src/%.c\n"
                "\t$(CC) -O1 -Ivendor -Isrc -Iinclude -c -o $@ $<\n")

    def clean():
        for number in range(SOURCES):
            path = f"{folder}/out/s{number}.o"
            if os.path.exists(path):
                os.unlink(path)
    for name, jobs in (("build", "-j2"), ("make", "-j1")):
        if name in bench.only:
            interleave(bench, name, f"a build: make {jobs} of {SOURCES} C files",
                       in_each(bench, folder, ["make", jobs, "-s"], clean))


def unpack(bench):
    folder = bench.make_dir("unpack")
    bench.run([bench.options.tree, f"{folder}/src", str(UNPACKED // 20), str(UNPACKED)], folder)
    bench.run(["tar", "-cf", "all.tar", "src"], folder)
    shutil.rmtree(f"{folder}/src")

    def clean():
        shutil.rmtree(f"{folder}/src", ignore_errors=True)
    interleave(bench, "unpack", f"unpacking {UNPACKED} files: tar -x", in_each(bench, folder, ["tar", "-xf", "all.tar"], clean))


def create(bench):
    folder = bench.make_dir("create")
    program = shutil.copy(bench.options.tree, f"{folder}/tree")

    def clean():
        shutil.rmtree(f"{folder}/new", ignore_errors=True)
    interleave(bench, "create", f"creating {CREATED} files",
               in_each(bench, folder, [program, "new", str(CREATED // 20), str(CREATED)], clean))


def remove(bench):
    folder = bench.make_dir("remove")

    def fill():
        bench.run([bench.options.tree, f"{folder}/old", str(UNPACKED // 20), str(UNPACKED)], folder)
    interleave(bench, "remove", f"rm -rf of {UNPACKED} files", in_each(bench, folder, ["rm", "-rf", "old"], fill))


def repository(bench, name):
    """A repository of UNPACKED files, in a directory of its own."""
    folder = bench.make_dir(name)
    git = ["git", "-C", f"{folder}/from", "-c", "user.name=a", "-c", "user.email=a@b"]
    bench.run(["git", "init", "-q", "from"], folder)
    bench.run([bench.options.tree, f"{folder}/from/src", str(UNPACKED // 20), str(UNPACKED)], folder)
    bench.run([*git, "add", "."], folder)
    bench.run([*git, "commit", "-qm", "all"], folder)
    return folder


def clone(bench):
    folder = repository(bench, "clone")

    def clean():
        shutil.rmtree(f"{folder}/to", ignore_errors=True)
    interleave(bench, "clone", f"git clone of {UNPACKED} files",
               in_each(bench, folder, ["git", "clone", "-q", "--no-local", "from", "to"], clean))


def look(bench):
    folder = repository(bench, "look")
    for name, argv in (("status", ["git", "-C", "from", "status", "-s"]), ("find", ["find", "from", "-name", "*.none"])):
        if name in bench.only:
            interleave(bench, name, f"{' '.join(argv)} on {UNPACKED} files", in_each(bench, folder, argv, lambda: None))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True)
    parser.add_argument("--latency", required=True, help="the built latency.c")
    parser.add_argument("--tree", required=True, help="the built tree.c")
    parser.add_argument("--place", required=True, help="a scratch directory, which the caller removes")
    parser.add_argument("--big", help="a directory for the large tree, which stays")
    parser.add_argument("--base", help="a corral to compare with")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--work-rounds", type=int, default=15)
    parser.add_argument("--user", default="games")
    parser.add_argument("only", nargs="*", help=f"starts, {', '.join(BARS)}")
    options = parser.parse_args()
    bench = Bench(options)
    small = bench.make_dir("small")
    bench.make_dir("home")
    if "starts" in bench.only:
        big = options.big or f"{bench.place}/big"
        if not os.path.exists(f"{big}/lib-1"):
            os.makedirs(big, exist_ok=True)
            bench.own(big)
            bench.run([options.tree, big, str(DIRECTORIES), str(FILES)], small)
        print(f"\nadded to a run of /bin/true by rules; the big tree has {FILES} files in {DIRECTORIES} directories, "
              f"{options.rounds} rounds")
        starts(bench, big, small)
    for work, names in ((build, ("build", "make")), (unpack, ("unpack",)), (create, ("create",)), (remove, ("remove",)),
                        (clone, ("clone",)), (look, ("status", "find"))):
        if any(name in bench.only for name in names):
            work(bench)


if __name__ == "__main__":
    main()
