#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`corral audit export --format otlp` and `otlp-traces`, read by the messages that OpenTelemetry itself uses (npm).

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

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{os.path.dirname(HERE)}/session")

from service import Service  # noqa: E402  the path has to be set first

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
    """The requests for a log with several kinds of records."""
    env = {"HOME": home, "PATH": os.environ["PATH"]}
    os.mkdir(f"{home}/project")

    def run(*words):
        return subprocess.run([corral, *words], env=env, cwd=f"{home}/project", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
    run("run", "--json", "--set", "env.labels=SESSION_ID=s", "--", "sh", "-c", "echo x >/etc/nothing; exit 3", "\x1b\"\\ä")
    run("run", "--", "/no/such/program")
    run("run", "--mode", "full-access", "--dangerously-allow-full-access", "--", "true")
    return [run("audit", "export", "--format", name).stdout for name in ("otlp", "otlp-traces")]


def export_session(corral):
    """The spans of two commands of a session and of a run beside it; and the id of the session."""
    service = Service(corral, "root", "standard").start()
    try:
        session = service.create()
        service.good("session", "exec", session, "--", "true")
        service.run("session", "exec", "--json", session, "--", "sh", "-c", "exit 3")
        service.good("session", "stop", session)
        service.good("run", "--", "true")
        return session, service.good("audit", "export", "--format", "otlp-traces")
    finally:
        service.close()


def through_messages(root, signal, text):
    """The request after a way through the messages, or their error."""
    done = subprocess.run(["node", f"{HERE}/otlp.js", root, signal], input=text, capture_output=True, text=True, check=False)
    return without_empty(json.loads(done.stdout)) if done.returncode == 0 else done.stderr


def check_request(root, signal, text, least):
    """What is wrong; and the number of records."""
    wanted, got = without_empty(json.loads(text)), through_messages(root, signal, text)
    count = text.count('"timeUnixNano"' if signal == "logs" else '"spanId"')
    if got == wanted and count >= least:
        return "", count
    return f"{count} records\n# got    {json.dumps(got)[:3000]}\n# wanted {json.dumps(wanted)[:3000]}", count


def ulid_bits(session):
    """The 128 bits of a session's id, in hexadecimal."""
    number = 0
    for digit in session.removeprefix("sess_"):
        number = number * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(digit)
    return f"{number:032x}"


def check_session(root, session, text):
    """Two spans of one trace, as a reader of OpenTelemetry has them, and one of another."""
    fault, count = check_request(root, "trace", text, 3)
    if fault:
        return fault, count
    spans = [span for one in through_messages(root, "trace", text)["resourceSpans"] for scope in one["scopeSpans"] for span in scope["spans"]]
    traces = [span["traceId"] for span in spans]
    good = (traces[:2] == [ulid_bits(session)] * 2 and traces[2] != traces[0] and len({span["spanId"] for span in spans}) == count == 3
            and [span["status"]["code"] for span in spans] == [1, 2, 1] and [span["name"] for span in spans] == ["true", "sh", "true"]
            and all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans))
    return "" if good else f"{session}: {json.dumps(spans)[:3000]}", count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", default="build/otlp")
    args = parser.parse_args()
    names = ("every field of the export of logs", "every field of the export of traces", "two commands of a session as one trace")
    names = [f"ok {number} - OpenTelemetry's messages read {name}" for number, name in enumerate(names, 1)]
    print(f"1..{len(names)}")
    root, why = install(os.path.abspath(args.place))
    if root is None:
        for name in names:
            print(f"{name} # SKIP {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="corral-otlp-") as home:
        logs, traces = export(os.path.abspath(args.corral), home)
    checked = [check_request(root, "logs", logs, 3), check_request(root, "trace", traces, 3),
               check_session(root, *export_session(os.path.abspath(args.corral)))]
    for name, (fault, count) in zip(names, checked):
        print(f"# {fault}\nnot {name}" if fault else f"{name}: {count} records")
    return any(fault for fault, _ in checked)


if __name__ == "__main__":
    sys.exit(main())
