#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral learn --replay` on real projects: it ends with a policy under which they build, test and install.  Speaks TAP.

    tests/learn/projects.py --corral build/corral --place build/projects [--only zlib,ed] [--user games]

The projects are source packages of Debian (C with make, autotools and cmake, Go, Node, Perl, Python).  The command of each
needs a place beside the workspace, which the default policy does not grant.  It passes outside and fails in the sandbox;
`learn` proposes grants and proves them; they are no broader than that place; and the command passes with them.
A package that cannot be fetched, or that fails outside, is skipped, and that is printed.
"""
import argparse
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import tomllib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "leak"), os.path.join(os.path.dirname(HERE), "kernels")]

import debian  # noqa: E402  the paths have to be set first
import sources  # noqa: E402

SECONDS = 900
# Source package, programs, command; {far} is the place beside the workspace.
PROJECTS = (
    ("zlib", "make cc", "./configure --prefix={far}/prefix && make && make test && make install"),
    ("bzip2", "make cc", "make && make install PREFIX={far}/prefix"),
    ("lua5.4", "make cc", "make linux && make install INSTALL_TOP={far}/lua"),
    ("ed", "make cc", "./configure --prefix={far}/prefix && make && make check && make install"),
    ("figlet", "make cc", "make && make install prefix={far}/prefix"),
    ("jansson", "cmake make cc", "cmake -S . -B {far}/build -DJANSSON_BUILD_DOCS=OFF && cmake --build {far}/build && "
                                 "ctest --test-dir {far}/build"),
    ("golang-github-google-uuid", "go", "GOFLAGS=-mod=mod GOCACHE={far}/cache go test ./..."),
    ("jinja2", "/usr/bin/python3 /usr/lib/python3/dist-packages/markupsafe /usr/lib/python3/dist-packages/pytest",
     "PYTHONPATH=src /usr/bin/python3 -m pytest -q --junit-xml={far}/report.xml tests/test_lexnparse.py"),
    ("libtry-tiny-perl", "perl make", "perl Makefile.PL INSTALL_BASE={far}/perl && make test && make install"),
    ("node-express", "node npm", "npm pack --offline --silent --cache {far}/cache --pack-destination {far}"),
)


class Failed(Exception):
    """The product did something else than it should."""


class Skipped(Exception):
    """The project cannot be judged here."""


def root_of(tree):
    """The directory with the files of a project, in an unpacked source package."""
    (path,) = glob.glob(f"{glob.escape(tree)}/*.orig")
    while len(entries := os.listdir(path)) == 1 and os.path.isdir(f"{path}/{entries[0]}"):
        path = f"{path}/{entries[0]}"
    return path


class Project:
    """A copy of the sources as a workspace, and an empty directory beside it, in a directory of their own."""

    def __init__(self, options, name, command):
        self.options, self.name = options, name
        self.user = pwd.getpwnam(options.user) if os.geteuid() == 0 else None
        # Not in /tmp, /var/tmp or HOME: the sandbox has its own, in which a program may create such a place.
        base = "/srv" if os.access("/srv", os.W_OK) else options.place
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="corral-learn-", dir=base))
        os.chmod(self.top, 0o755)
        self.corral = shutil.copy(options.corral, f"{self.top}/corral")
        self.far = f"{self.top}/beside"
        self.argv = ["sh", "-c", f"({command.format(far=self.far)}) >log 2>&1 || {{ tail -n 30 log >&2; exit 1; }}"]

    def fresh(self):
        for name in ("work", "beside"):
            shutil.rmtree(f"{self.top}/{name}", ignore_errors=True)
        shutil.copytree(root_of(f"{self.options.place}/trees/{self.name}"), f"{self.top}/work", symlinks=True)
        for name in ("beside", "home"):
            os.makedirs(f"{self.top}/{name}", exist_ok=True)
        if self.user:
            subprocess.run(["chown", "-R", f"{self.user.pw_uid}:{self.user.pw_gid}",
                            *(f"{self.top}/{name}" for name in ("work", "beside", "home"))], check=True)

    def run(self, *before):
        """The command, in the sandbox if there are words of corral."""
        switch = ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups",
                  "--"] if self.user else []
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": f"{self.top}/home", "LANG": "C.UTF-8"}
        words = [self.corral, *before, "--"] if before else []
        return subprocess.run([*switch, *words, *self.argv], env=env, cwd=f"{self.top}/work", stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS, check=False)

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)


def said(done):
    return f"status {done.returncode}: {' '.join((done.stderr + ' | ' + done.stdout).split())[-500:]}"


def fetch(options, name, programs):
    for program in programs.split():
        if not (os.path.exists(program) if program.startswith("/") else shutil.which(program)):
            raise Skipped(f"{program} is not installed")
    try:
        sources.download(options.place, (name,))
    except (debian.Missing, OSError, subprocess.CalledProcessError) as problem:
        raise Skipped(f"cannot fetch the sources: {problem}") from problem


def judge(project):
    """The grants of the proposal, which were proven, are narrow, and make the command pass."""
    project.fresh()
    outside = project.run()
    if outside.returncode != 0:
        raise Skipped(f"UNPROVEN it fails outside: {said(outside)}")
    project.fresh()
    if project.run("run", "--no-config", "--level", "full").returncode == 0:
        raise Failed("it passes without a grant")
    project.fresh()
    learned = project.run("learn", "--no-config", "--level", "full", "--replay")
    if learned.returncode != 0 or "# Proven" not in learned.stdout:
        raise Failed(f"learn: {said(learned)}")
    if os.path.exists(f"{project.top}/work/log"):
        raise Failed("learn changed the workspace")
    granted = [path for paths in tomllib.loads(learned.stdout).get("fs", {}).values() for path in paths]
    if not granted or any(path != project.far and not path.startswith(f"{project.far}/") for path in granted):
        raise Failed(f"the grants are {granted}")
    policy = f"{project.top}/grants.toml"
    with open(policy, "w", encoding="utf-8") as out:
        out.write(learned.stdout)
    os.chmod(policy, 0o644)
    project.fresh()
    done = project.run("run", "--no-config", "--level", "full", "--policy", policy)
    if done.returncode != 0:
        raise Failed(f"with the proposal: {said(done)}")
    return ", ".join(os.path.relpath(path, project.top) for path in granted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", required=True, help="where the sources are kept")
    parser.add_argument("--only", help="names of packages")
    parser.add_argument("--user", default="games", help="who builds when root runs the test")
    options = parser.parse_args()
    options.place = os.path.abspath(options.place)
    chosen = [row for row in PROJECTS if not options.only or row[0] in options.only.split(",")]
    failed = 0
    for number, (name, programs, command) in enumerate(chosen, 1):
        project = Project(options, name, command)
        try:
            fetch(options, name, programs)
            print(f"ok {number} - learn: {name}: {judge(project)}", flush=True)
        except Skipped as reason:
            print(f"ok {number} - learn: {name} # SKIP {reason}", flush=True)
        except Failed as problem:
            failed += 1
            print(f"# {problem}\nnot ok {number} - learn: {name}", flush=True)
        finally:
            project.close()
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
