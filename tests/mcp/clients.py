#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official clients of MCP, from npm, against `corral mcp` on stdio, on HTTP and on the socket of a session: the SDK of
both generations and the inspector; on HTTP the conformance suite too (conformance.py).

    tests/mcp/clients.py --corral build/corral --place build/mcp-clients

corrald has to be beside corral.  The packages are installed once, in --place.
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import conformance  # noqa: E402  the path has to be set first
import npm  # noqa: E402
from tap import Tap  # noqa: E402

PACKAGES = {"@modelcontextprotocol/sdk": "1.32.2", "@modelcontextprotocol/client": "2.4.0",
            "@modelcontextprotocol/inspector": "2.12.0", "conformance-1@npm:@modelcontextprotocol/conformance": "0.1.16",
            "conformance-2@npm:@modelcontextprotocol/conformance": "0.2.0-alpha.12"}
NODE = "24.21.0"  # the inspector needs 22 or newer
SECONDS = 300


def install(place):
    """The packages, and a node of its own; an error text, or None."""
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    why = npm.install(place, {**PACKAGES, f"node-linux-{arch}": NODE}, force=True)
    if why is None and not os.path.lexists(f"{place}/node_modules/node"):
        os.symlink(f"node-linux-{arch}/bin/node", f"{place}/node_modules/node")
    return why


class Server:
    """`corral mcp --http` with a token in a file."""

    def __init__(self, corral, workspace, folder):
        self.token = f"{folder}/token"
        self.process = subprocess.Popen([corral, "mcp", "--http", "0", "--token-file", self.token, "-w", workspace],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.url = re.search(rb"http://\S+", self.process.stderr.readline())[0].decode()

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


class Daemon:
    """`corral daemon` with places of its own, and one session."""

    def __init__(self, corral, workspace, folder):
        for name in ("run", "state"):
            os.mkdir(f"{folder}/{name}", 0o700)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": f"{folder}/run", "XDG_STATE_HOME": f"{folder}/state"}
        self.process = subprocess.Popen([corral, "daemon"], env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.process.stderr.readline()
        self.session = subprocess.run([corral, "session", "create", "-w", workspace], env=self.env, stdout=subprocess.PIPE,
                                      cwd=workspace, check=True).stdout.decode().strip()

    end = Server.end


def sdk(tap, script, place, words, env=None):
    """Its lines are TAP without numbers.  Modules are found from the script's own directory, so it is copied."""
    for name in ("sdk_checks.mjs", script):
        shutil.copy(f"{HERE}/{name}", place)
    try:
        done = subprocess.run([f"{place}/node_modules/node", f"{place}/{script}", *words], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        tap.line(False, f"{script}: ends within {SECONDS} s")
        return
    for line in done.stdout.decode().splitlines():
        verdict, _, name = line.partition(" - ")
        tap.line(verdict == "ok", name)
    tap.line(done.returncode == 0, f"{script}: the exit status", f" # {done.stderr.decode()[-300:]!r}" if done.returncode else "")


def inspect(tap, place, target, name, words, good):
    folder = f"{place}/node_modules/@modelcontextprotocol/inspector"
    with open(f"{folder}/package.json", encoding="utf-8") as file:
        program = next(iter(json.load(file)["bin"].values()))
    done = subprocess.run([f"{place}/node_modules/node", f"{folder}/{program}", "--cli", *target, *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    try:
        tap.line(good(json.loads(done.stdout)), f"inspector: {name}")
    except (ValueError, KeyError) as error:
        tap.line(False, f"inspector: {name}", f" # {error!r}: {done.stdout[-200:]!r} {done.stderr[-200:]!r}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", required=True)
    args = parser.parse_args()
    corral, place = os.path.abspath(args.corral), os.path.abspath(args.place)
    tap = Tap()
    why = install(place)
    if why is not None:
        print(f"ok 1 - the clients of npm # SKIP {why}\n1..1")
        return 0
    with tempfile.TemporaryDirectory(prefix="corral-mcp-") as workspace:
        folder = tempfile.mkdtemp(prefix="corral-mcp-")
        server, daemon = Server(corral, workspace, folder), Daemon(corral, workspace, folder)
        try:
            for script in ("sdk_1.mjs", "sdk_2.mjs"):
                sdk(tap, script, place, [corral, workspace])
                sdk(tap, script, place, [server.url, workspace, server.token])
                sdk(tap, script, place, [corral, workspace, "session", daemon.session], daemon.env)
            sdk(tap, "sdk_resume.mjs", place, [server.url, workspace, server.token])
            with open(server.token, encoding="utf-8") as file:
                over_http = [server.url, "--transport", "http", "--header", f"Authorization: Bearer {file.read().strip()}"]
            for how, target in (("stdio", [corral, "mcp", "-w", workspace]), ("http", over_http)):
                inspect(tap, place, target, f"{how}: tools/list", ["--method", "tools/list"], lambda found: len(found["tools"]) == 13)
                inspect(tap, place, target, f"{how}: tools/call",
                        ["--method", "tools/call", "--tool-name", "shell", "--tool-arg", "command=echo hi"],
                        lambda found: found["structuredContent"]["stdout"] == "hi\n")
            conformance.run(tap, place, server, folder)
        finally:
            server.end()
            daemon.end()
            shutil.rmtree(folder)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
