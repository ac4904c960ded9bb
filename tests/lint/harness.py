# SPDX-License-Identifier: Apache-2.0
"""What every check stands on: a tree to look at, a table to be listed in, and
a violation to plant, which proves that the check can fail."""
import concurrent.futures
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import public_headers  # noqa: E402  the path has to be set first

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Iinclude", "-Isrc", "-include", "src/base/banned.h"]
JOBS = os.cpu_count() or 1

CHECKS = []


class Check:
    def __init__(self, name, look, plants, cost, tool):
        self.name, self.look, self.plants, self.cost, self.tool = name, look, plants, cost, tool

    def other_tool(self):
        """Why it is skipped: another version finds other things, and the code is kept clean for one."""
        if self.tool is None:
            return None
        program, wanted = self.tool
        if shutil.which(program) is None:
            return f"{program} is not installed"
        if wanted is None:  # any version
            return None
        said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
        found = re.search(r"\d+\.\d+", re.sub(r"\(.*?\)", "", said))
        version = found.group(0) if found else "?"
        return None if f"{version}.".startswith(f"{wanted}.") else f"{program} is {version}; the findings of {wanted} count"


# How long a check takes decides which runs of the lints have it: all of them, all but --quick, --thorough alone.
SECONDS, MINUTES, LONGER = range(3)


def check(name, *plants, cost=SECONDS, tool=None):
    """Lists a check: look(tree) returns complaints.  Each plant makes a violation
    in a copy of the tree, and look() must then complain."""
    assert plants, f"{name}: a check that nobody has seen fail proves nothing"

    def register(look):
        CHECKS.append(Check(name, look, plants, cost, tool))
        return look
    return register


class Tree:
    """A clone of the repository, and the build to judge with it."""

    def __init__(self, root, build, only=None):
        self.root, self.build = root, build
        self.only = only  # a slow check of a planted tree looks at this file alone

    def whole(self):
        return Tree(self.root, self.build)

    def path(self, name):
        return os.path.join(self.root, name)

    def files(self, *patterns):
        found = {f for p in patterns for f in glob.glob(p, recursive=True, root_dir=self.root)}
        ours = {f for f in found if not re.match(r"build(-[^/]*)?/", f)  # not what was built or unpacked there
                and not f.endswith(".png")  # screenshots are no text
                and os.path.isfile(self.path(f))}
        return sorted(f for f in ours if self.only is None or f == self.only)

    def sources(self):
        return self.files("src/**/*.[ch]")

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def public_headers(self):
        """The headers that corral.h includes."""
        return [f"include/{name}" for name in public_headers.included(self.path("include/corral.h"))]

    def public_text(self):
        """corral.h and the headers that it includes as one text."""
        return public_headers.text(self.path("include/corral.h"))

    def lines(self, *patterns):
        """(file, number, line) of everything that matches."""
        for name in self.files(*patterns):
            for number, line in enumerate(self.text(name).splitlines(), 1):
                yield name, number, line

    def run(self, *argv):
        """Exit status and everything that was said."""
        done = subprocess.run(argv, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)
        return done.returncode, done.stdout.strip()

    def each_of(self, files, argv):
        """Runs argv(file) for every file, as many at a time as there are processors; complains where it fails."""
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            done = pool.map(lambda name: (name, *self.run(*argv(name))), files)
            return [f"{name}: {said}" for name, status, said in done if status != 0]

    def each(self, files, *argv):
        return self.each_of(files, lambda name: [*argv, name])


# ---- violations ----

class Edit:
    """A change of one file, undone at the end of the block."""

    def __init__(self, name, change):
        self.name, self.change = name, change

    @contextlib.contextmanager
    def planted(self, tree):
        path = tree.path(self.name)
        before = open(path, "rb").read() if os.path.exists(path) else None
        after = self.change((before or b"").decode())
        assert after.encode() != before, f"the plant in {self.name} changes nothing"
        with open(path, "wb") as file:
            file.write(after.encode())
        try:
            yield Tree(tree.root, tree.build, only=self.name)
        finally:
            if before is None:
                os.remove(path)
            else:
                open(path, "wb").write(before)


def append(name, more):
    return Edit(name, lambda text: text + more)


def replace(name, old, new):
    return Edit(name, lambda text: text.replace(old, new, 1))


class Built:
    """A program in the place of one that the build made; @ROOT@ in its source is the tree."""

    def __init__(self, name, source, *flags):
        self.name, self.source, self.flags = name, source, flags

    @contextlib.contextmanager
    def planted(self, tree):
        build = os.path.join(tree.root, "planted-build")
        path = os.path.join(build, self.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["gcc", "-x", "c", "-", "-o", path, *self.flags], check=True,
                       input=self.source.replace("@ROOT@", tree.root).encode())
        try:
            yield Tree(tree.root, build)
        finally:
            os.remove(path)


# ---- C, as far as a script understands it ----

def without_comments(text):
    """The code, line for line; comments and the insides of strings are blank."""
    def blank(match):
        word = match.group(0)
        return '""' if word[0] == '"' else "''" if word[0] == "'" else re.sub(r"[^\n]", " ", word)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.DOTALL)


class Function:
    def __init__(self, file, line, name, parameters, body):
        self.file, self.line, self.name, self.parameters, self.body = file, line, name, parameters, body

    def __str__(self):
        return f"{self.file}:{self.line} {self.name}()"


HEAD = re.compile(r"^[A-Za-z_][\w \t*]*?[ *(](\w+)\)?\(((?:[^;{}])*?)\)\s*\{$", re.MULTILINE)


def functions(tree, *patterns):
    """Every function that is defined, with its body as lines of code."""
    for file in tree.files(*patterns):
        code = without_comments(tree.text(file))
        for match in HEAD.finditer(code):
            end = code.find("\n}", match.end())
            line = code.count("\n", 0, match.start()) + 1
            yield Function(file, line, match.group(1), " ".join(match.group(2).split()),
                           code[match.end():end].split("\n")[1:])
