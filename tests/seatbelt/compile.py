#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corral for macOS compiles and links here, for both processors; nothing of it runs.  Speaks TAP.

The link looks the functions of macOS up at start, so it would also accept a function that nobody has: every symbol that
stays undefined has to be a declaration of src/macos/sdk.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Functions of libSystem that the compiler calls by itself, and the public entry of libsandbox.
IMPLIED = {"__stack_chk_fail", "__stack_chk_guard", "__memcpy_chk", "__snprintf_chk", "__bzero", "bzero", "dyld_stub_binder",
           "memset_pattern16", "sandbox_init_with_parameters", "environ"}


# Rooms for every system that have to compile as a whole; corral for macOS links a part of them.
ROOMS = ("data", "policy", "command", "plan", "net", "leak", "files", "vault", "audit", "backend")


def tool(*names):
    return next((name for name in names if shutil.which(name)), None)


def declared():
    with open(f"{ROOT}/src/macos/sdk/darwin.h", encoding="ascii") as f:
        return set(re.findall(r"\b(\w+)\(", f.read())) | {"__stdoutp", "__stderrp"}


def undefined(nm, path):
    out = subprocess.run([nm, "-u", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split()[-1] for line in out.splitlines() if line.strip()]
    return {name[1:].split("$")[0] for name in names if name.startswith("_")}


def main():
    nm, linker = tool("llvm-nm", "llvm-nm-14"), tool("ld64.lld", "ld64.lld-14")
    print("1..2")
    if not (shutil.which("clang") and nm and linker):
        print("ok 1 - arm64 # SKIP clang, llvm-nm or ld64.lld is missing\nok 2 - x86_64 # SKIP the same")
        return 0
    failed = False
    # Nothing of it runs, and clang's warnings are the same without optimization, which takes half of the time.
    for n, arch in enumerate(("arm64", "x86_64"), 1):
        with tempfile.TemporaryDirectory() as place:
            made = subprocess.run([f"{ROOT}/scripts/macos-build.sh", f"{place}/corral", arch], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env={**os.environ, "LD64": linker, "OPTIMIZE": "-O0"}, check=False)
            unknown = sorted(undefined(nm, f"{place}/corral") - declared() - IMPLIED) if made.returncode == 0 else []
        rooms = set(re.findall(r"^(\w+) compiles for macOS$", made.stdout, re.MULTILINE))
        missing = [room for room in ROOMS if room not in rooms]
        good = made.returncode == 0 and not unknown and not missing
        failed = failed or not good
        print(f"{'ok' if good else 'not ok'} {n} - corral for macOS compiles and links for {arch}")
        lines = [line for line in made.stdout.splitlines() if "compiles for macOS" not in line][:20]
        for line in lines + [f"no declaration: {name}" for name in unknown] + [f"not compiled: {room}" for room in missing]:
            print("#", line)
    return failed


if __name__ == "__main__":
    sys.exit(main())
