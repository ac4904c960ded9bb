# SPDX-License-Identifier: Apache-2.0
"""The examples of the table as files under each view, and the tools that scan them."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

SECRETLINT = "11.7.1"  # the last that runs with Node 20
PRESET = "@secretlint/secretlint-rule-preset-recommend"
SCAN_SECONDS = 600


class Missing(Exception):
    """A tool that is not here, and why."""


def percent(data):
    return b"".join(bytes([c]) if chr(c).isalnum() else b"%%%02X" % c for c in data)


def json_escapes(data):
    return b"".join(bytes([c]) if chr(c).isalnum() else b"\\u%04x" % c for c in data)


VIEWS = {
    "raw": lambda data: data,
    "url": percent,
    "base64": base64.b64encode,
    "base64url": lambda data: base64.urlsafe_b64encode(b" " + data).rstrip(b"="),
    "hex": lambda data: data.hex().encode(),
    "json": json_escapes,
    "utf-16": lambda data: data.decode().encode("utf-16-le"),
}


def write_examples(folder, kinds):
    """The names of the files of each view."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    written = {view: set() for view in VIEWS}
    for view, encode in VIEWS.items():
        end = "\n".encode("utf-16-le") if view == "utf-16" else b"\n"
        for kind in kinds:
            name = f"{kind.name}.{view}.txt"
            with open(f"{folder}/{name}", "wb") as out:
                out.write(encode(kind.row["match"].encode()) + end)
            written[view].add(name)
    return written


def output_of(words, cwd, accepted):
    """Through a file: Node exits before a pipe has taken all of its output."""
    with tempfile.TemporaryFile() as out:
        done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                              timeout=SCAN_SECONDS, check=False)
        if done.returncode not in accepted:
            said = done.stderr.decode()[-200:].strip()
            raise Missing(f"{os.path.basename(words[0])} exits with {done.returncode}: {said}")
        out.seek(0)
        return out.read()


class Secretlint:
    name = "secretlint"

    @staticmethod
    def run(place, folder, _corral):
        if shutil.which("npm") is None:
            raise Missing("npm is not installed")
        home = f"{place}/secretlint"
        os.makedirs(home, exist_ok=True)
        program = f"{home}/node_modules/.bin/secretlint"
        if not os.path.exists(program):
            output_of(["npm", "install", "--no-audit", "--no-fund", "--prefix", home, f"secretlint@{SECRETLINT}",
                       f"{PRESET}@{SECRETLINT}"], home, (0,))
        with open(f"{home}/.secretlintrc.json", "w", encoding="utf-8") as out:
            json.dump({"rules": [{"id": PRESET}]}, out)
        said = output_of([program, "--secretlintrc", f"{home}/.secretlintrc.json", "--format", "json",
                          f"{os.path.basename(folder)}/*"], os.path.dirname(folder), (0, 1))
        return SECRETLINT, {os.path.basename(file["filePath"]) for file in json.loads(said) if file["messages"]}


class Gitleaks:
    name = "gitleaks"

    @staticmethod
    def run(_place, folder, _corral):
        program = shutil.which("gitleaks")
        if program is None:
            raise Missing("neither Debian 12 nor npm packages it")
        version = output_of([program, "version"], folder, (0,)).decode().strip()
        said = output_of([program, "detect", "--no-git", "--no-banner", "--source", folder, "--report-format", "json",
                          "--report-path", "/dev/stdout"], folder, (0, 1))
        return version, {os.path.basename(finding["File"]) for finding in json.loads(said)}


class Rows:
    """The table alone, without decoders: the part that the patterns contribute."""
    name = "the patterns alone (Python re)"

    @staticmethod
    def run(place, folder, _corral):
        import kind_table
        dump = f"{os.path.dirname(place)}/tests/unit/leak_kinds_dump"
        found = set()
        for kind in kind_table.load(dump):
            for view in VIEWS:
                name = f"{kind.name}.{view}.txt"
                with open(f"{folder}/{name}", "rb") as file:
                    if next(iter(kind.find(file.read())), None) is not None:
                        found.add(name)
        return "", found


class Corral:
    name = "corral"

    @staticmethod
    def run(_place, folder, corral):
        if corral is None:
            raise Missing("--corral is not given")
        if subprocess.run([corral, "scan", "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            raise Missing("this corral has no `scan`")
        version = output_of([corral, "--version"], folder, (0,)).decode().split()[-1]
        found = set()
        for name in sorted(os.listdir(folder)):
            done = subprocess.run([corral, "scan", f"{folder}/{name}"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SCAN_SECONDS, check=False)
            if done.returncode not in (0, 1):
                raise ValueError(f"`corral scan` exits with {done.returncode}: {done.stderr.decode()[:200].strip()}")
            if done.returncode == 1:
                found.add(name)
        return version, found


TOOLS = (Corral, Rows, Secretlint, Gitleaks)
