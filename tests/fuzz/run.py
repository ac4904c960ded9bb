#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets for a while, one after another, and adds up.

What libFuzzer finds on its way stays in BUILD/corpus, so that a later run goes
on from there; what breaks a target stays in BUILD/found.
"""
import argparse
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Seconds for one input: a target that takes longer hangs.
HANG = 20
# Kept inputs are a few hundred bytes; ten times that reaches every bound.
LENGTH = 4096


def write_dictionary(build):
    """The words of the product's tables, as libFuzzer reads them."""
    path = f"{build}/dictionary"
    with open(path, "wb") as file:
        subprocess.run([f"{build}/tests/fuzz/print_dictionary"], stdout=file, check=True)
    return path


def run_target(build, name, seconds, dictionary):
    """True when nothing broke."""
    grown = f"{build}/corpus/{name}"
    found = f"{build}/found/"
    os.makedirs(grown, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    done = subprocess.run(
        [f"{build}/tests/fuzz/fuzz_{name}", f"-max_total_time={seconds}", f"-timeout={HANG}", f"-max_len={LENGTH}",
         f"-dict={dictionary}", f"-artifact_prefix={found}{name}-", "-rss_limit_mb=1024", "-print_final_stats=1",
         grown, f"{HERE}/corpus/{name}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    lines = done.stdout.splitlines()
    runs = next((line.split()[-1] for line in lines if "number_of_executed_units" in line), "?")
    if done.returncode != 0:
        print("\n".join(f"    {line}" for line in lines[-40:]))
    print(f"{'ok' if done.returncode == 0 else 'not ok'} - {name}: {runs} inputs", flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--time", type=int, default=60)
    parser.add_argument("target", nargs="*")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    every = sorted(os.path.basename(path)[len("fuzz_"):] for path in glob.glob(f"{build}/tests/fuzz/fuzz_*")
                   if os.path.isfile(path))
    unknown = set(args.target) - set(every)
    if unknown:
        sys.exit(f"no such target: {' '.join(sorted(unknown))}; there are {' '.join(every)}")
    dictionary = write_dictionary(build)
    results = [run_target(build, name, args.time, dictionary) for name in args.target or every]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
