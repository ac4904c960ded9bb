# SPDX-License-Identifier: Apache-2.0
"""A daemon in a scratch place, and clients of its sockets.

Should:   run daemon and clients as an ordinary user or as root, with directories of their own.
Must not: use the caller's daemon, home or runtime directory.
"""
import array
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from traces import HUNG, PATIENCE, processes  # noqa: E402  the path has to be set first

OUTSIDER = 61184 + os.getpid() % 4096  # an account that this process alone uses
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
BEFORE = processes()  # none of them is a test's


class Failure(AssertionError):
    """The product did something else than it should."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(got, wanted, what):
    check(got == wanted, f"{what}: got {got!r}, wanted {wanted!r}")


def wait_until(probe, seconds=PATIENCE):
    end, pause = time.monotonic() + seconds, 0.01
    while not (answer := probe()) and time.monotonic() < end:
        time.sleep(pause)
        pause = min(1.2 * pause, 0.1)  # some probes read /proc or start a client
    return answer


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def marked(mark):
    """The live processes with this text among their arguments."""
    found = []
    for name, _ in processes() - BEFORE:
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if mark.encode() in file.read() and alive(name):
                    found.append(int(name))
        except OSError:
            pass
    return found


def children(pid):
    """All descendants."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found, grown = {pid}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found - {pid}


def run_suite(corral, passes, modules_of, only, prepare=lambda service: None, times=False):
    """Each test_*(service) of the modules of a pass (user, level), against a daemon for each pass.  Speaks TAP; 1: one failed."""
    number, bad = 0, 0
    for user, level in passes:
        service = Service(corral, user, level).start()
        prepare(service)
        try:
            tests = [(name, value) for module in modules_of(level) for name, value in vars(module).items() if name.startswith("test_")]
            for name, test in tests:
                if not re.search(only, name):
                    continue
                number += 1
                began = time.monotonic()
                try:
                    test(service)
                    print(f"ok {number} - {name} ({user}, {level})", flush=True)
                except Exception:  # pylint: disable=broad-except
                    bad += 1
                    for line in traceback.format_exc().splitlines() + service.text()[-2000:].decode(errors="replace").splitlines():
                        print(f"# {line}")
                    print(f"not ok {number} - {name} ({user}, {level})", flush=True)
                if times:
                    print(f"# {time.monotonic() - began:.1f} s {name}", flush=True)
        finally:
            service.close()
    print(f"1..{number}")
    return bad > 0


class Refused(Exception):
    """An error response."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.message, self.data = error["code"], error["message"], error.get("data") or {}


class Client:
    """One connection."""

    def __init__(self, path, as_user=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(HUNG)
        with acting_as(as_user):
            self.socket.connect(path)
        self.buffer, self.last = b"", 0

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def line(self):
        """The next line; None at the end."""
        while b"\n" not in self.buffer:
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not data:
                return None
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def send(self, method, fds=(), **params):
        self.last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode() + b"\n"
        if fds:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            done = self.socket.sendmsg([line], rights)
            line = line[done:]
        self.socket.sendall(line)
        return self.last

    def answer(self, number):
        while True:
            message = self.line()
            check(message is not None, "the daemon closed the connection")
            if message.get("id") == number or (message.get("id") is None and "error" in message):
                break
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def call(self, method, fds=(), **params):
        return self.answer(self.send(method, fds, **params))


@contextlib.contextmanager
def acting_as(uid):
    """The effective user id during connect(2), which is the one of SO_PEERCRED."""
    if uid is None or uid == os.geteuid():
        yield
        return
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


class Service:
    """A daemon, its directories, and the account that owns them."""

    def __init__(self, corral, user="user", level="full"):
        self.corral, self.level = os.path.abspath(corral), level
        self.uid = OUTSIDER if user == "user" and os.geteuid() == 0 else os.geteuid()
        self.place = tempfile.mkdtemp(prefix="corral-session-")
        os.chmod(self.place, 0o755)
        for name in ("run", "home", "ws", "ws2"):
            os.mkdir(f"{self.place}/{name}", 0o700)
            os.chown(f"{self.place}/{name}", self.uid, self.uid)
        self.workspace = f"{self.place}/ws"
        self.admin = f"{self.place}/run/corral/admin.sock"
        self.environment = {"PATH": PATH, "HOME": f"{self.place}/home", "XDG_RUNTIME_DIR": f"{self.place}/run",
                            "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        self.account = {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid != os.geteuid() else {}
        self.process, self.log = None, open(f"{self.place}/log", "w+b")

    def start(self):
        at = self.log.tell()
        self.process = subprocess.Popen([self.corral, "daemon"], env=self.environment, cwd=self.place,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, **self.account)
        wait_until(lambda: b"ready on" in self.text(at) or self.process.poll() is not None)
        check(self.process.poll() is None, f"the daemon ended: {self.text(at)!r}")
        return self

    def text(self, at=0):
        with open(f"{self.place}/log", "rb") as file:
            file.seek(at)
            return file.read()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(HUNG)

    def close(self):
        self.stop()
        self.log.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def command(self, *words, **more):
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.workspace}
        return subprocess.Popen([self.corral, *words], env=self.environment, **{**how, **more}, **self.account)

    def run(self, *words, data=None, **more):
        """(status, stdout, stderr)"""
        process = self.command(*words, **({"stdin": subprocess.PIPE} if data is not None else {}), **more)
        out, err = process.communicate(data, timeout=HUNG)
        # Commands print command lines of the host, which may have any byte.
        return process.returncode, out.decode(errors="backslashreplace"), err.decode(errors="backslashreplace")

    def outside(self, words):
        """The same for another program than Corral."""
        done = subprocess.run(words, env=self.environment, cwd=self.workspace, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=HUNG, check=False, **self.account)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def good(self, *words, **more):
        status, out, err = self.run(*words, **more)
        equal(status, 0, f"status of {' '.join(words)}, which printed {err!r}")
        return out

    def create(self, *words):
        return self.good("session", "create", "--level", self.level, *words).strip()

    def made(self, *words):
        return json.loads(self.good("session", "create", "--level", self.level, "--json", *words))

    def show(self, session):
        return json.loads(self.good("session", "show", "--json", session))

    def client(self):
        return Client(self.admin, self.uid)
