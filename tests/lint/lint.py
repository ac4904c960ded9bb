#!/usr/bin/env python3
"""What a script can see of the house style.  Speaks TAP."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Who may include whom: a room sees the rooms to its left, and itself.
ROOMS = {
    "base": [],
    "data": ["base"],
    "policy": ["base", "data"],
    "plan": ["base", "data", "policy"],
    "linux": ["base", "data", "policy", "plan"],
    "run": ["base", "data", "policy", "plan", "linux"],
    "lib": ["base", "data", "policy", "plan", "linux", "run"],
    "cli": ["base", "data"],
}
MAX_FUNCTION = 60
MAX_FILE = 600
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Iinclude", "-Isrc", "-include", "src/base/banned.h",
         "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fsyntax-only"]

results = []


def check(name):
    """Registers a check: a function that returns a list of complaints."""
    def register(function):
        results.append((name, function))
        return function
    return register


def sources(pattern="src/**/*.[ch]"):
    return sorted(glob.glob(pattern, recursive=True, root_dir=ROOT))


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


@check("every include points the written way")
def includes():
    bad = []
    for path in sources():
        room = path.split("/")[1]
        for target in re.findall(r'#include "([^"]+)"', text(path)):
            other = target.split("/")[0] if "/" in target else None
            if target == "corral.h":
                if room not in ("lib", "cli"):
                    bad.append(f"{path} includes {target}")
            elif other != room and other not in ROOMS[room]:
                bad.append(f"{path} includes {target}")
    return bad


def compile_all(compiler, files, extra=()):
    bad = []
    for path in files:
        done = subprocess.run([compiler, *FLAGS, *extra, path], cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            bad.append(f"{path}: {done.stdout.strip()}")
    return bad


@check("every header compiles alone")
def headers():
    return compile_all("gcc", sources("src/**/*.h") + ["include/corral.h"], ["-x", "c", "-Wno-unused"])


@check("every file compiles with clang without a warning")
def clang():
    return compile_all("clang", sources("src/**/*.c"), ["-O2", "-D_FORTIFY_SOURCE=2"])


@check("every file compiles for aarch64 without a warning")
def aarch64():
    # Headers of the libraries are the same on every architecture.
    extra = []
    for header in ("jansson.h", "yaml.h", "sodium.h"):
        if os.path.exists(f"/usr/include/{header}"):
            extra = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
    return compile_all("aarch64-linux-gnu-gcc", sources("src/**/*.c"), extra)


@check("no function is longer than a screen and no file holds two rooms")
def lengths():
    bad = []
    for path in sources("src/**/*.c"):
        lines = text(path).splitlines()
        if len(lines) > MAX_FILE:
            bad.append(f"{path} has {len(lines)} lines")
        start = None
        for number, line in enumerate(lines, 1):
            if re.match(r"^[A-Za-z_].*\)\s*\{$", line):
                start, name = number, line
            if line.startswith("}") and start:
                if number - start > MAX_FUNCTION:
                    bad.append(f"{path}:{start} {number - start} lines: {name}")
                start = None
    return bad


@check("every layer says what it should, must not, and how it fails")
def contracts():
    bad = []
    for path in sources("src/linux/layers/*.c"):
        head = text(path)[:2500]
        bad += [f"{path} lacks '{word}'" for word in ("Should:", "Must not:", "Fails:") if word not in head]
    return bad


@check("no word that means 'not done'")
def unfinished():
    word = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|for now\b|simplified")
    return [f"{path}:{number}: {line.strip()}" for path in sources() + sources("tests/**/*.c")
            for number, line in enumerate(text(path).splitlines(), 1) if word.search(line)]


def table_names(path, pattern):
    return re.findall(pattern, text(path), re.MULTILINE)


@check("every option stands in corral(1)")
def options():
    manual = text("man/corral.1").replace("\\-", "-")
    names = table_names("src/data/options.c", r'\.name = "([a-z-]+)"') or \
        table_names("src/data/options.c", r'^\s*\{\s*"([a-z-]+)"')
    bad = [] if len(names) > 20 else [f"found only {len(names)} options in the table"]
    return bad + [f"--{name}" for name in names if not re.search(rf"Fl (Fl )?-?{name}\b|-{name}\b", manual)]


@check("every key stands in corral-policy(5)")
def keys():
    manual = text("man/corral-policy.5").replace("\\-", "-")
    names = table_names("src/data/keys.c", r'"([a-z_]+(?:\.[a-z_]+)?)",?\s*(?:TYPE|\.type)') or \
        table_names("src/data/keys.c", r'\.name = "([a-z_.]+)"')
    bad = [] if len(names) > 30 else [f"found only {len(names)} keys in the table"]
    return bad + [name for name in names if name.split(".")[-1] not in manual]


@check("the manual pages are clean")
def manual():
    bad = []
    for page in sorted(glob.glob("man/*.[1-9]", root_dir=ROOT)):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        # Cross references to pages of other packages are not faults; examples
        # stand before the description, for a person in a hurry.
        bad += [line for line in done.stdout.splitlines()
                if not re.search(r"referenced manual not found|out of conventional order", line)]
    return bad


@check("the binary is static")
def static(build):
    done = subprocess.run(["readelf", "-lW", f"{build}/corral"], stdout=subprocess.PIPE, text=True, check=True)
    return ["it asks for an interpreter"] if "INTERP" in done.stdout else []


@check("the shared library exports corral_* and nothing else")
def exported(build):
    found = glob.glob(f"{build}/src/libcorral.so*") or glob.glob(f"{build}/libcorral.so*")
    found = [f for f in found if os.path.isfile(f) and not f.endswith(".symbols")]
    if not found:
        return ["no shared library was built"]
    done = subprocess.run(["nm", "-D", "--defined-only", found[0]], stdout=subprocess.PIPE, text=True, check=True)
    # "A" is the name of the version, not a symbol.
    names = [line.split()[-1] for line in done.stdout.splitlines() if line.split()[-2] != "A"]
    return [n for n in names if not n.split("@")[0].startswith("corral_")] or \
        ([] if names else ["it exports nothing"])


@check("the published schema is the one that the program prints")
def schema(build):
    done = subprocess.run([f"{build}/corral", "policy", "schema"], stdout=subprocess.PIPE, text=True, check=True)
    return [] if done.stdout == text("docs/policy.schema.json") else ["docs/policy.schema.json is stale"]


@check("every C file is formatted")
def formatted():
    if not shutil.which("clang-format"):
        return ["clang-format is not installed"]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources("src/**/*.c"), *sources("tests/**/*.c")],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return sorted({line.split(":")[0] for line in done.stdout.splitlines() if "error:" in line})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=f"{ROOT}/build")
    args = parser.parse_args()
    failed = False
    for number, (name, function) in enumerate(results, 1):
        wants_build = function.__code__.co_argcount == 1
        complaints = function(args.build) if wants_build else function()
        for line in complaints:
            print(f"# {line}")
        print(f"{'not ok' if complaints else 'ok'} {number} - {name}", flush=True)
        failed |= bool(complaints)
    print(f"1..{len(results)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
