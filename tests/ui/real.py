#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: Debian's chromium, driven by playwright-core, checked with axe-core.

    tests/ui/real.py --corral build/corral --place build/ui [--shots docs]

The packages are installed once, in --place.  This program makes the world that the page shows, and does on order of real.mjs
what a person would do beside the browser: start a command, ask a question.
"""
import argparse
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), f"{os.path.dirname(HERE)}/session"]

import npm  # noqa: E402  the path has to be set first
from questions import asking, end, secret  # noqa: E402
from service import Service  # noqa: E402

PACKAGES = {"playwright-core": "1.65.1", "axe-core": "4.14.0"}
EVIL = "<img src=x onerror=alert(1)>\"'\x1b[31mred\x1b[0m"
OUTPUT = "\n> shop@2.4.0 test\n> vitest run\n\n \x1b[32m✓\x1b[39m src/cart.test.ts (6 tests) 31ms\n \x1b[32m✓\x1b[39m src/price.test.ts (4 tests) 12ms\n"


class Site(http.server.BaseHTTPRequestHandler):
    """Another server of this computer."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another site</title><p>another site")

    def log_message(self, *_):
        pass


class World:
    """A daemon with something to look at."""

    def __init__(self, service):
        self.service, self.processes, self.over = service, [], threading.Event()
        self.orders = tempfile.mkdtemp(prefix="corral-orders-")

    def fill(self):
        service = self.service
        session = service.create("--name", "checkout-agent")
        service.command("session", "exec", "checkout-agent", "--", "sh", "-c",
                        'printf "%s\\n" "$1" "$2"; echo x > .envrc; echo y > .corral.toml', "sh", OUTPUT, EVIL).communicate()
        self.processes.append(service.command("session", "exec", "checkout-agent", "--", "sh", "-c",
                                              "echo watching; exec sleep 900"))
        self.processes.append(service.command("run", "--", "sleep", "901"))
        for i in range(60):
            service.command("run", "--", "sh", "-c", f"sleep 0.0{i % 7}; exit {i % 13 == 0:d}").communicate()
        service.command("run", "--", "sh", "-c", ': > "$1"; echo > .envrc', "sh", EVIL).communicate()
        pending = []
        with open(f"{service.workspace}/cart.ts", "w", encoding="utf-8") as file:
            file.write("export function total(items) {\n  return sum(items);\n}\n")
        os.chown(f"{service.workspace}/cart.ts", service.uid, service.uid)
        for text in ("total * quantity", "discarded"):
            service.good("run", "--cow", "--", "sh", "-c", f"sed -i 's/sum(items)/{text}/' cart.ts; echo notes > notes.md")
        client = service.client()
        for row in client.call("ui.view", view="pending")["pending"]:
            pending.append(row["id"])
        client.close()
        return {"session": session, "pending": pending}

    def obey(self):
        """Orders of the browser's side are files."""
        service = self.service
        while not self.over.wait(0.05):
            for name in os.listdir(self.orders):
                os.unlink(f"{self.orders}/{name}")
                if name == "invite":
                    with open(f"{self.orders}.part", "w", encoding="utf-8") as out:
                        out.write(service.good("ui", "--print").strip())
                    os.rename(f"{self.orders}.part", f"{self.orders}.url")
                elif name == "run":
                    self.processes.append(service.command("run", "--", "sh", "-c", ": live-marker; sleep 900"))
                elif name.startswith("ask-"):
                    self.processes.append(asking(service, "cat", secret(service, f"page-{name[4:]}.txt")))

    def results(self):
        """What the questions of the browser's side came to: the last word is the command's."""
        for process in self.processes:
            if "--ask" in process.args and "page-" in process.args[-1]:
                wanted = (0, "the content\n") if "allowed" in process.args[-1] else (1, "")
                yield os.path.basename(process.args[-1]), end(process)[:2] == wanted

    def close(self):
        self.over.set()
        for process in self.processes:
            process.kill()
            process.communicate()
        shutil.rmtree(self.orders, ignore_errors=True)


def judge(world, lines):
    """More lines of TAP, by the state of the host."""
    number = sum(line.startswith(("ok", "not ok")) for line in lines)
    bad = any(line.startswith("not ok") for line in lines) or not number
    more = list(world.results())
    with open(f"{world.service.workspace}/cart.ts", encoding="utf-8") as file:
        more.append(("the applied change is in the workspace", "total * quantity" in file.read()))
    for name, good in more:
        number += 1
        bad = bad or not good
        print(f"{'ok' if good else 'not ok'} {number} - on the host: {name}")
    print(f"1..{number}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", required=True)
    parser.add_argument("--shots", help="a directory for screenshots")
    args = parser.parse_args()
    chromium = shutil.which("chromium")
    problem = "chromium is not installed" if chromium is None else npm.install(os.path.abspath(args.place), PACKAGES)
    if problem:
        print(f"ok 1 - the page in a browser # SKIP {problem}\n1..1")
        return 0
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    service = Service(args.corral).start()
    world = World(service)
    try:
        facts = world.fill()
        threading.Thread(target=world.obey, daemon=True).start()
        facts |= {"place": os.path.abspath(args.place), "chromium": chromium, "orders": world.orders,
                  "shots": args.shots and os.path.abspath(args.shots), "timed": "CORRAL_TEST_TIMES" in os.environ,
                  "foreign": f"http://127.0.0.1:{site.server_port}/"}
        with open(f"{world.orders}.json", "w", encoding="utf-8") as out:
            json.dump(facts, out)
        with tempfile.TemporaryDirectory(prefix="corral-browser-") as home:
            process = subprocess.Popen(["node", f"{HERE}/real.mjs", f"{world.orders}.json"], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "HOME": home})
            lines = []
            for line in process.stdout:
                if not line.startswith("1.."):
                    print(line, end="", flush=True)
                lines.append(line)
            process.wait()
        return judge(world, lines)
    finally:
        for suffix in ("json", "url"):
            if os.path.exists(f"{world.orders}.{suffix}"):
                os.unlink(f"{world.orders}.{suffix}")
        world.close()
        service.close()
        site.shutdown()


if __name__ == "__main__":
    sys.exit(main())
