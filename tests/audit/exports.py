#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral audit export --format otlp`, read by the messages that OpenTelemetry itself uses (npm).

    tests/audit/exports.py --corral build/corral [--place DIRECTORY]

The packages are downloaded once; without npm or a registry the test is skipped, and says so.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The last version with generated messages, and the library that they need.
PACKAGES = ("@opentelemetry/otlp-transformer@0.57.0", "protobufjs@7.4.0")
ROOT = "node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js"
EMPTY = ({}, [], "", "0", 0, False)


def install(place):
    """The path of the messages; None with a reason when they cannot be had."""
    if os.path.exists(f"{place}/{ROOT}"):
        return f"{place}/{ROOT}", ""
    if not shutil.which("npm") or not shutil.which("node"):
        return None, "npm or node is not installed"
    os.makedirs(place, exist_ok=True)
    done = subprocess.run(["npm", "install", "--prefix", place, "--ignore-scripts", "--legacy-peer-deps", "--no-audit",
                           "--no-fund", *PACKAGES], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
                          check=False)
    return (f"{place}/{ROOT}", "") if done.returncode == 0 else (None, " ".join(done.stderr.split())[-200:])


def without_empty(value):
    """proto3 does not send a field with its default value, except in a oneof."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if isinstance(value, dict):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if key.endswith("Value") or item not in EMPTY}
    return value


def export(corral, home):
    """The request for a log with several kinds of records."""
    env = {"HOME": home, "PATH": os.environ["PATH"]}
    os.mkdir(f"{home}/project")

    def run(*words):
        return subprocess.run([corral, *words], env=env, cwd=f"{home}/project", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
    run("run", "--json", "--set", "env.labels=SESSION_ID=s", "--", "sh", "-c", "echo x >/etc/nothing; exit 3", "\x1b\"\\ä")
    run("run", "--", "/no/such/program")
    run("run", "--mode", "full-access", "--dangerously-allow-full-access", "--", "true")
    return run("audit", "export", "--format", "otlp").stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", default="build/otlp")
    args = parser.parse_args()
    print("1..1")
    name = "ok 1 - OpenTelemetry's messages read every field of the export"
    root, why = install(os.path.abspath(args.place))
    if root is None:
        print(f"{name} # SKIP {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="corral-otlp-") as home:
        text = export(os.path.abspath(args.corral), home)
    done = subprocess.run(["node", f"{HERE}/otlp.js", root], input=text, capture_output=True, text=True, check=False)
    wanted = without_empty(json.loads(text))
    got = without_empty(json.loads(done.stdout)) if done.returncode == 0 else done.stderr
    count = text.count('"timeUnixNano"')
    if got != wanted or count < 3:
        print(f"# {count} records\n# got    {json.dumps(got)[:3000]}\n# wanted {json.dumps(wanted)[:3000]}\nnot {name}")
        return 1
    print(f"{name}: {count} records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
