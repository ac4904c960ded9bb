# SPDX-License-Identifier: Apache-2.0
"""A scratch copy of the sources that is edited, built and run against rows.

Mutants are programs with a hole in them.  They are only ever run as an account
that is not root, and each batch of rows runs in a pid namespace of its own: what
a broken sandbox leaves running, the kernel ends with the batch, and a signal "to
everybody" finds nobody else.
"""
import concurrent.futures
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "escape"))

import rows  # noqa: E402

NEEDED_BY_TESTS = ("tests", "examples", "man", "completions")
NEEDED = ("src", "include", "packaging", "meson.build", "meson_options.txt")
# The programs that may notice what no escape row can see.
TESTS = (("golden", "tests/filter/test_verdicts"),
         *(("unit", f"tests/unit/test_{name}") for name in (
             "plan", "plan_cow", "plan_explain", "plan_grants", "plan_properties", "plan_rules", "policy", "policy_print", "policy_trust",
             "policy_values", "cgroup", "limits_layers", "limits_plan")))
ALONE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


class Stale(Exception):
    """An edit whose text is not in the source exactly once."""


class Unbuildable(Exception):
    """A mutant that does not compile."""


class Scratch:
    """One tree, one build directory, one binary for each set of edits."""

    def __init__(self, options, tests=False):
        if os.geteuid() != 0 or pwd.getpwnam(options.user).pw_uid == 0:
            sys.exit("the harness needs root, to drop to an account that is not root: see --user")
        self.place = os.path.abspath(options.place)
        self.tree = os.path.join(self.place, "tree")
        self.build = os.path.join(self.place, "build")
        self.probe, self.user, self.jobs = os.path.abspath(options.probe), options.user, options.jobs
        self.rows = {row.ident: row for row in rows.read_rows(os.path.join(ROOT, "tests", "escape"))}
        os.makedirs(os.path.join(self.place, "bin"), exist_ok=True)
        self.dirty = set()
        self.copy_sources(NEEDED + NEEDED_BY_TESTS if tests else NEEDED)
        musl = ["--native-file", "packaging/musl.ini"] if shutil.which("musl-gcc") else []
        self.setup(self.build, [*musl, "-Donly_binary=true", "-Dtests=false"])
        if tests:
            self.setup(self.build + "-tests", ["-Dtests=true", "-Dstatic_binary=false"])
        self.journal = Journal(os.path.join(self.place, "journal"))

    def copy_sources(self, needed):
        """Writes only what differs: ninja goes by times, and a mutant may lie there."""
        for name in needed:
            source = os.path.join(ROOT, name)
            for folder, _, files in os.walk(source) if os.path.isdir(source) else [(ROOT, [], [name])]:
                for file in files:
                    path = os.path.join(folder, file)
                    self.put(os.path.relpath(path, ROOT), read(path))

    def setup(self, build, more):
        if not os.path.exists(os.path.join(build, "build.ninja")):
            self.command(["meson", "setup", build, "-Dbuildtype=debug", *more])

    def put(self, name, text):
        """Puts a file into the tree, if it is not there like that."""
        path = os.path.join(self.tree, name)
        if not os.path.exists(path) or read(path) != text:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
                out.write(text)

    def command(self, argv):
        done = subprocess.run(argv, cwd=self.tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise Unbuildable(done.stdout[-2000:])

    def texts(self, edits):
        """{file: its text after the edits}"""
        found = {}
        for file, old, new in dict.fromkeys(edits):
            if file not in found:
                found[file] = read(os.path.join(ROOT, "src", file))
            if found[file].count(old) != 1:
                raise Stale(f"src/{file} has {found[file].count(old)} of {old!r}")
            found[file] = found[file].replace(old, new)
        return found

    def edit(self, edits):
        """Brings the tree into the state that the edits describe."""
        wanted = self.texts(edits)
        for file in self.dirty - wanted.keys():
            self.put(os.path.join("src", file), read(os.path.join(ROOT, "src", file)))
        for file, text in wanted.items():
            self.put(os.path.join("src", file), text)
        self.dirty = set(wanted)

    def binary(self, edits):
        """Builds the program with these edits; returns (path, digest)."""
        self.edit(edits)
        self.command(["ninja", "-C", self.build, "--quiet", "corral"])
        built = os.path.join(self.build, "corral")
        with open(built, "rb") as source:
            digest = hashlib.sha256(source.read()).hexdigest()[:16]
        path = os.path.join(self.place, "bin", "corral")
        shutil.copyfile(built, path + ".new")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)
        return path, digest

    def tests(self, edits):
        """Which of the programs in TESTS fails with these edits, or the empty string."""
        self.edit(edits)
        build = self.build + "-tests"
        try:
            self.command(["ninja", "-C", build, "--quiet", *(path for _, path in TESTS)])
        except Unbuildable:
            return "compiler"
        for suite, path in TESTS:
            done = subprocess.run([*ALONE, "setpriv", f"--reuid={self.user}", "--regid=65534", "--clear-groups", "--",
                                   os.path.join(build, path)], cwd="/", stdin=subprocess.DEVNULL, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode != 0:
                return f"{suite}: {os.path.basename(path)}"
        return ""

    def judge(self, program, idents, twins=True):
        """{ident: (result, reason)} of these rows with that program."""
        path, digest = program
        keys = {ident: f"{digest} {twins} {row_digest(self.rows[ident])}" for ident in idents}
        answers = {ident: self.journal[key] for ident, key in keys.items() if key in self.journal}
        todo = [ident for ident in idents if ident not in answers]
        parts = [part for part in (todo[i::self.jobs] for i in range(self.jobs)) if part]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for found in pool.map(lambda part: self.batch(path, part, twins), parts):
                for ident, answer in found.items():
                    answers[ident] = answer
                    self.journal.add(keys[ident], answer)
        return answers

    def batch(self, path, idents, twins):
        argv = ALONE + [sys.executable, os.path.join(HERE, "batch.py"), "--corral", path, "--probe", self.probe,
                        "--user", self.user] + ([] if twins else ["--without-twins"]) + idents
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
        found = dict(json.loads(line) for line in done.stdout.splitlines())
        return {ident: tuple(found.get(ident, ("BROKEN", "the batch ended early"))) for ident in idents}


def read(path):
    """Whatever lies there, so that put() writes the same bytes again."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as source:
        return source.read()


def row_digest(row):
    text = json.dumps([row.ident, {key: value for key, value in sorted(row.items())
                                   if key not in ("layers", "title", "source")}])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Journal(dict):
    """What has been measured, by the digests of program and row: a run can go on."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                self.update((key, tuple(answer)) for key, answer in map(json.loads, source))

    def add(self, key, answer):
        if answer[0] in ("BROKEN", "UNPROVEN"):
            return  # not an answer
        self[key] = answer
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(json.dumps([key, answer]) + "\n")


def arguments(parser):
    """Options that both programs have."""
    parser.add_argument("--probe", default=f"{ROOT}/build/tests/escape/probe", help="the built probe")
    parser.add_argument("--place", default=f"{ROOT}/build/mutation", help="scratch tree, builds and journal")
    parser.add_argument("--user", default="games", help="the account that runs the mutants; never root")
    parser.add_argument("--jobs", type=int, default=2)
