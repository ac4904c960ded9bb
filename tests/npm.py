# SPDX-License-Identifier: Apache-2.0
"""Installs packages of npm in a directory, once."""
import contextlib
import json
import os
import shutil
import subprocess

SECONDS = 900


def install(place, packages, force=False):
    """The packages {name: version}; an error text, or None."""
    words = ["install", *(["--force"] if force else []), *(f"{name}@{version}" for name, version in packages.items())]
    return run(place, json.dumps(packages), {"package.json": json.dumps({"private": True})}, words)


def install_locked(place, source):
    """The packages of package-lock.json in a directory; an error text, or None."""
    files = {}
    for name in ("package.json", "package-lock.json"):
        with open(f"{source}/{name}", encoding="utf-8") as file:
            files[name] = file.read()
    return run(place, files["package-lock.json"], files, ["ci"])


def run(place, stamp, files, words):
    """Writes the files and runs npm there, unless a run with the same stamp has succeeded."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "npm is not installed"
    with contextlib.suppress(OSError):
        with open(f"{place}/complete", encoding="utf-8") as file:
            if file.read() == stamp:
                return None
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    for name, text in files.items():
        with open(f"{place}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    try:
        done = subprocess.run(["npm", *words, "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"npm {words[0]}: not finished after {SECONDS} seconds"
    if done.returncode != 0:
        return f"npm {words[0]}: {' '.join(done.stdout.decode(errors='replace').split())[-300:]}"
    with open(f"{place}/complete", "w", encoding="utf-8") as file:
        file.write(stamp)
    return None
