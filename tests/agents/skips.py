# SPDX-License-Identifier: Apache-2.0
"""The suite without npm, or without a registry: it is skipped, says so, and fails nothing."""
import http.server
import os
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from harness import check, contains, equal, needs


class Empty:
    """A registry without packages; it keeps the names that it is asked for."""

    def __init__(self):
        self.asked = asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(urllib.parse.unquote(self.path).strip("/"))
                self.send_error(404)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def without_npm(place):
    """A PATH with the other programs of this host."""
    os.mkdir(f"{place}/bin")
    for directory in reversed(os.environ["PATH"].split(":")):
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            at = f"{place}/bin/{name}"
            if name != "npm":
                if os.path.lexists(at):
                    os.unlink(at)
                os.symlink(f"{directory}/{name}", at)
    return f"{place}/bin"


def skipped(box, script, only, reason, **env):
    """The whole suite once more, with nothing downloaded yet."""
    with tempfile.TemporaryDirectory(prefix="corral-skips-") as place:
        os.chmod(place, 0o755)  # the account of the tests looks for programs there
        if env.pop("without_npm", False):
            env["PATH"] = without_npm(place)
        env["npm_config_cache"] = f"{place}/cache"
        done = subprocess.run([sys.executable, script, "--corral", box.corral, "--place", f"{place}/agents", "--quick", only],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**os.environ, **env})
    equal(done.returncode, 0, f"the status: {done.stdout}{done.stderr}")
    lines = [line for line in done.stdout.splitlines() if "as a whole" in line]
    check(len(lines) == 1 and lines[0].startswith("ok ") and "# SKIP " in lines[0], f"{lines}")
    contains(lines[0], reason, "the reason")


def register(suite, script, only, wanted):
    test = suite.test

    @test("the suite without npm is skipped and says so")
    def _(box):
        skipped(box, script, only, "npm is not installed", without_npm=True)

    @test("the suite with a registry that cannot be reached is skipped and says so")
    def _(box):
        needs(box, "npm")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # no listen: connections are refused
            skipped(box, script, only, wanted[0], npm_config_registry=f"http://127.0.0.1:{closed.getsockname()[1]}/")

    @test("the suite asks the registry for Node and one agent, and for nothing else")
    def _(box):
        needs(box, "npm")
        registry = Empty()
        try:
            skipped(box, script, only, wanted[0], npm_config_registry=registry.url)
            equal(sorted(set(registry.asked)), sorted(name.rsplit("@", 1)[0] for name in wanted), "packages")
        finally:
            registry.close()
