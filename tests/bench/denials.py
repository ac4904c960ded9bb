# SPDX-License-Identifier: Apache-2.0
"""Records of denials: the same command with denials off, changes (the default) and all, interleaved."""
import os
import shutil
import subprocess

from bench import PATH, figures
from page import Table

NAME, TITLE = "denials", "Records of denials"
ABOUT = ("A compile of a small C project, a test run of Node, and two open-heavy worst cases: `git status` of 3,000 files, which "
         "examines each by its name, and reads of 3,000 files by absolute paths. Ratios of the fastest rounds to `--denials off`.")
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
    rows = [("C compile, 10 files", "c", ["sh", "-c", "for f in *.c; do cc -c $f -o out.o || exit 1; done"]),
            ("node --test, 40 tests", "node", ["node", "--test"] if node_tests() else None),
            (f"git status, {FILES} files", "git", ["git", "status", "--porcelain"]),
            (f"open by absolute path, {FILES} files", "git", ["/usr/bin/python3", "-I", "-c", read])]
    return [(name, f"{top}/{cwd}", argv) for name, cwd, argv in rows if argv is not None and shutil.which(argv[0], path=PATH)]


def node_tests():
    return shutil.which("node", path=PATH) is not None and subprocess.run(["node", "-e", "require('node:test')"], check=False,
                                                               stderr=subprocess.DEVNULL).returncode == 0


def measure(bench):
    top = bench.make_dir("denials")
    project(top)
    bench.give(top)
    found = {}
    for level in ("full", "standard"):
        for name, cwd, argv in workloads(top):
            turns = {mode: lambda mode=mode: bench.run([*bench.corral_words(cwd, "--level", level, "--denials", mode), "--", *argv], cwd)
                     for mode in MODES}
            times = bench.interleave(turns, 2 if bench.quick else 15)
            found.setdefault(level, {})[name] = {mode: figures(values) for mode, values in times.items() if values}
    return {"levels": found}


def tables(data):
    for level, rows in data["levels"].items():
        yield Table(f"at level {level}", ("work", "off, ms", "changes/off", "all/off"),
                    [(name, f"{row['off']['min'] * 1000:.1f}", *(f"{row[mode]['min'] / row['off']['min']:.3f}" for mode in MODES[1:]))
                     for name, row in rows.items() if len(row) == len(MODES)])


def plots(_data):
    return ()
