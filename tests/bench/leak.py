# SPDX-License-Identifier: Apache-2.0
"""Throughput of the leak scanner (leak.c), beside PCRE2-JIT with the same patterns where libpcre2-dev is installed."""
import glob
import subprocess

from bench import ROOT
from page import Table

NAME, TITLE = "leak", "Leak scanner"
ABOUT = "The text is Corral's own sources, tests and documents; one core."
ENDINGS = ("c", "h", "py", "md")


def measure(bench):
    found = subprocess.run(["pkg-config", "--libs", "libpcre2-8"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if found.returncode != 0:
        bench.note("PCRE2: left out: libpcre2-dev is not installed")
    pcre = ["-DHAVE_PCRE2", *found.stdout.split()] if found.returncode == 0 else []
    program = bench.program("leak", f"{bench.build}/src/libcorral.a", "-lsodium", *pcre)
    text = f"{bench.place}/text"
    with open(text, "wb") as out:
        for folder in ("src", "tests", "docs"):
            for path in sorted(path for end in ENDINGS for path in glob.glob(f"{ROOT}/{folder}/**/*.{end}", recursive=True)):
                with open(path, "rb") as source:
                    out.write(source.read())
    bench.user.own(text)
    return {"lines": bench.output([program, text], bench.place).splitlines()}


def tables(data):
    yield Table("output of tests/bench/leak.c", ("measurement",), [(" ".join(line.split()),) for line in data["lines"] if line.strip()])


def plots(_data):
    return ()
