#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What records of denials cost: the same command with denials off, changes (the default) and all, interleaved.

    denials.py --corral CORRAL [--rounds N] [--user games] [--level LEVEL] [--other CORRAL]

A compile of a small C project, a test run of Node, and two open-heavy worst cases: `git status` of 3,000 files, which
examines each by its name, and reads of 3,000 files by absolute paths.  The ratios are medians against off."""
import argparse
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FILES = 3000
MODES = ("off", "changes", "all")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def project(top):
    """Ten C files with the usual headers, 3,000 small files in a repository, and a test of Node."""
    heads = "".join(f"#include <{h}.h>\n" for h in ("stdio", "stdlib", "string", "unistd", "sys/stat", "errno", "signal", "time"))
    for i in range(10):
        write(f"{top}/c/f{i}.c", f"{heads}int f{i}(int x) {{ return x + (int)strlen(\"{i}\"); }}\n")
    for i in range(FILES):
        write(f"{top}/git/d{i % 60}/f{i}", f"{i}\n")
    write(f"{top}/node/test.js", "const t = require('node:test');\nconst fs = require('fs');\n"
          "for (let i = 0; i < 40; i++) t('t' + i, () => { fs.readFileSync(__filename); fs.existsSync('./m' + i); });\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", f"{top}/git"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(git + words, check=True)


def workloads(top):
    read = f"import os\nfor i in range({FILES}):\n os.close(os.open('{top}/git/d%d/f%d' % (i % 60, i), os.O_RDONLY))"
    rows = [("C compile, 10 files", "c", ["sh", "-c", "for f in *.c; do cc -c $f -o /tmp/o.o || exit 1; done"]),
            ("node --test, 40 tests", "node", ["node", "--test"] if node_tests() else None),
            (f"git status, {FILES} files", "git", ["git", "status", "--porcelain"]),
            (f"open by absolute path, {FILES} files", "git", ["/usr/bin/python3", "-I", "-c", read])]
    return [(name, f"{top}/{cwd}", argv) for name, cwd, argv in rows if argv is not None and shutil.which(argv[0])]


def node_tests():
    return shutil.which("node") is not None and subprocess.run(["node", "-e", "require('node:test')"], check=False,
                                                               stderr=subprocess.DEVNULL).returncode == 0


def once(corral, level, mode, cwd, argv, who):
    command = [corral, "run", "--no-config", "--level", level, "--denials", mode, "--", *argv]
    began = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL, env=who["env"], user=who["uid"], group=who["gid"])
    return (time.perf_counter() - began) * 1000


def measure(corrals, args, cwd, argv, who):
    times = {(c, m): [] for c in corrals for m in MODES}
    for i in range(args.rounds + 1):
        for key in times:
            ms = once(key[0], args.level, key[1], cwd, argv, who)
            if i > 0:  # the first fills the caches
                times[key].append(ms)
    return {key: statistics.median(values) for key, values in times.items()}


def caller(name, home):
    if os.getuid() != 0:
        return {"uid": None, "gid": None, "env": dict(os.environ, HOME=home)}
    entry = pwd.getpwnam(name)
    return {"uid": entry.pw_uid, "gid": entry.pw_gid, "env": {"PATH": os.environ["PATH"], "HOME": home}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--other", help="a second corral, measured in the same rounds")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--user", default="games")
    parser.add_argument("--level", default="full")
    args = parser.parse_args()
    corrals = [os.path.realpath(c) for c in (args.corral, args.other) if c]
    top = tempfile.mkdtemp(prefix="corral-bench-", dir="/var/tmp")
    try:
        home = f"{top}/home"
        os.mkdir(home)
        project(top)
        who = caller(args.user, home)
        if who["uid"] is not None:
            subprocess.run(["chown", "-R", f"{who['uid']}:{who['gid']}", top], check=True)
        print(f"denials at level {args.level}, {args.rounds} rounds, medians   off ms   changes/off   all/off")
        for name, cwd, argv in workloads(top):
            found = measure(corrals, args, cwd, argv, who)
            for corral in corrals:
                off = found[corral, "off"]
                print(f"  {name:40} {off:12.1f}   {found[corral, 'changes'] / off:11.3f}   {found[corral, 'all'] / off:7.3f}"
                      + (f"   {corral}" if len(corrals) > 1 else ""), flush=True)
    finally:
        shutil.rmtree(top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
