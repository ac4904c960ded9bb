# SPDX-License-Identifier: Apache-2.0
"""The official conformance suite of MCP against `corral mcp --http`; clients.py calls it.

Most scenarios of the suite test a server of its own: tools, resources and prompts with fixed names.  Corral has none of
them, so a check may fail for one of the reasons of NOT_HERE and for no other.  The scenarios of WHOLE must pass.
"""
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 600

# (package, options, scenarios that must pass in all checks)
SUITES = (
    ("conformance-1", ["--suite", "all"],
     {"server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"}),
    ("conformance-2", ["--suite", "all", "--spec-version", "2025-06-18"], {"server-initialize", "ping", "tools-list", "server-session-lifecycle"}),
    ("conformance-2", ["--suite", "all", "--spec-version", "2025-11-25"],
     {"server-initialize", "ping", "tools-list", "server-session-lifecycle", "server-sse-multiple-streams", "dns-rebinding-protection"}),
    ("conformance-2", ["--suite", "all", "--spec-version", "2026-07-28"],
     {"tools-list", "server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation",
      "input-required-result-unsupported-methods", "input-required-result-ignore-extra-params"}),
)

# Why a check of a scenario that needs the suite's own server fails.
NOT_HERE = re.compile(r"Not testable|unknown tool|Unknown tool|[Mm]ethod not found|-32601|not found in tools/list|[Tt]ool .*not found|"
                      r"No tool|missing tool|does not (?:list|advertise|declare)|-32602|InputRequiredResult", re.DOTALL)


def checks_of(folder):
    """{scenario: [check]} of one run."""
    found = {}
    for base, _, files in os.walk(folder):
        for name in files:
            if name == "checks.json":
                scenario = re.sub(r"^server-(.*)-20\d\d-.*$", r"\1", os.path.basename(base))
                with open(f"{base}/{name}", encoding="utf-8") as file:
                    found.setdefault(scenario, []).extend(json.load(file))
    return found


def judge(tap, label, found, whole):
    for scenario in sorted(whole):
        failed = [check for check in found.get(scenario, []) if check["status"] == "FAILURE"]
        tap.line(scenario in found and not failed, f"{label}: {scenario}", f" # {failed or 'it did not run'}" if failed or scenario not in found else "")
    failed = [(name, check["id"], check.get("errorMessage", "")) for name, rows in found.items() if name not in whole
              for check in rows if check["status"] == "FAILURE"]
    other = [row for row in failed if not NOT_HERE.search(row[2])]
    count = sum(check["status"] == "SUCCESS" for rows in found.values() for check in rows)
    tap.line(not other, f"{label}: {count} checks pass; {len(failed)} need tools, resources or prompts of the suite's own server",
             f" # {other}" if other else "")


def run(tap, place, server, folder):
    node = f"{place}/node_modules/node"
    port = re.search(r":(\d+)/", server.url)[1]
    proxy = subprocess.Popen([node, f"{HERE}/token_proxy.mjs", port, server.token], stdout=subprocess.PIPE)
    try:
        url = f"http://127.0.0.1:{proxy.stdout.readline().decode().strip()}/mcp"
        for number, (package, options, whole) in enumerate(SUITES):
            out = f"{folder}/conformance-{number}"
            with open(f"{place}/node_modules/{package}/package.json", encoding="utf-8") as file:
                label = f"conformance {json.load(file)['version']} {options[-1]}"
            subprocess.run([node, f"{place}/node_modules/{package}/dist/index.js", "server", "--url", url, "-o", out, *options],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
            judge(tap, label, checks_of(out), whole)
    finally:
        proxy.kill()
        proxy.wait()
        proxy.stdout.close()
