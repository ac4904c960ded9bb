# SPDX-License-Identifier: Apache-2.0
"""Ordinary text for the leak scanner: source packages of Debian, and logs of builds of some of them.

Packages come through an apt of our own beneath one directory; nothing of the
machine's apt is written to.
"""
import glob
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "kernels"))
import debian  # noqa: E402

PACKAGES = ("bash", "bzip2", "coreutils", "curl", "git", "jinja2", "jq", "lua5.4", "nano", "nginx", "node-express",
            "openssh", "python-django", "redis", "rsync", "sqlite3", "tmux", "vim", "wget", "zlib")

# Commands that build a package and print what they do.
BUILDS = {"bzip2": "make -j2", "lua5.4": "make -j2 linux", "zlib": "./configure && make -j2"}
BUILD_SECONDS = 300


def apt(place):
    suite = debian.machine_archive()[1]
    own = debian.Apt(place, [suite], "amd64")
    with open(f"{own.place}/etc/sources.list", "w", encoding="utf-8") as out:
        print(f"deb-src {debian.machine_archive()[0]} {suite} {debian.COMPONENT}", file=out)
    return own


def download(place, packages):
    """Unpacks each source package into a directory of its name."""
    wanted = [name for name in packages if not os.path.isdir(f"{place}/trees/{name}")]
    if not wanted:
        return
    own = apt(place)
    own.update()
    for name in wanted:
        archives = f"{place}/archives/{name}"
        os.makedirs(archives, exist_ok=True)
        done = subprocess.run(["apt-get", *own.options, "source", "-q", "--download-only", name], cwd=archives,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        tars = [file for file in sorted(os.listdir(archives)) if ".tar." in file and not file.endswith(".asc")]
        if done.returncode != 0 or not tars:
            raise debian.Missing(f"{name}: {' '.join(done.stdout.split())[-300:]}")
        target = f"{place}/trees/{name}"
        for file in tars:
            folder = f"{target}.new/{file.split('.tar.')[0]}"
            os.makedirs(folder, exist_ok=True)
            subprocess.run(["tar", "-x", "--no-same-owner", "-f", f"{archives}/{file}", "-C", folder], check=True)
        os.rename(f"{target}.new", target)


def build_logs(place):
    """Runs BUILDS in copies of the trees; the logs count as a tree of their own."""
    logs = f"{place}/trees/build-logs"
    os.makedirs(logs, exist_ok=True)
    for name, command in BUILDS.items():
        log = f"{logs}/{name}.log"
        if os.path.exists(log):
            continue
        tree = min(glob.glob(f"{place}/trees/{name}/*.orig/*/"), key=len)
        copy = f"{place}/builds/{name}"
        os.makedirs(copy, exist_ok=True)
        subprocess.run(["cp", "-a", "-T", tree, copy], check=True)
        with open(log + ".new", "w", encoding="utf-8") as out:
            subprocess.run(["sh", "-xc", command], cwd=copy, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                           timeout=BUILD_SECONDS, check=True)
        os.rename(log + ".new", log)


def files(place):
    """(package, path, bytes) of every regular file."""
    for package in sorted(os.listdir(f"{place}/trees")):
        for folder, folders, names in os.walk(f"{place}/trees/{package}"):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        yield package, os.path.relpath(path, f"{place}/trees/{package}"), file.read()
