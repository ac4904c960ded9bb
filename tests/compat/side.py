# SPDX-License-Identifier: Apache-2.0
"""One side of a row: a home with a workspace in it, and the call made there.

Should:   give both sides the same paths but for one word of equal length, the
          environment of an ordinary login, and a bound on time and output.
Must not: leave a process behind, whatever the command did with sessions.
"""
import fcntl
import hashlib
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))

from harness import PATH, PATIENCE, process_names, wait_until  # noqa: E402  the path has to be set first

MOST = 4 << 20  # bytes of a stream that are kept; a row that prints more is not a row
DRAIN = 0.4  # seconds for the end of streams that a background job may still hold
LEAVING = 0.5  # seconds for processes outside to go by themselves
# Where the landlock engine, which has no view of its own, puts what is private.
OWN_TMP = re.compile(r"/tmp/corral-[0-9]+-[0-9a-f]+\b")
OWN_HOME = r"/\.local/state/corral/homes/[0-9a-f]+-project/home\b"
TERMINAL = struct.pack("HHHH", 24, 80, 0, 0)


class Outcome:
    """How a call ended."""

    def __init__(self):
        self.status, self.seconds, self.hung = None, 0.0, False
        self.out = self.err = b""
        self.left = []  # processes that were there after the end

    def problem(self):
        if self.hung:
            return f"hung for {self.seconds:.0f} s"
        if max(len(self.out), len(self.err)) >= MOST:
            return f"printed more than {MOST} bytes"
        return None


class Stream(threading.Thread):
    """Reads a descriptor to its end and keeps the first MOST bytes."""

    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd, self.data = fd, bytearray()
        self.start()

    def run(self):
        while True:
            try:
                part = os.read(self.fd, 65536)
            except OSError:  # what a terminal answers when its last user is gone
                part = b""
            if not part:
                return
            self.data += part[:MOST - len(self.data)]

    def finish(self):
        self.join(PATIENCE)
        os.close(self.fd)
        return bytes(self.data)


class Side:
    """A scratch place that either the control or the sandboxed command has for itself."""

    def __init__(self, top, name, caller):
        self.caller = caller
        self.top = os.path.join(top, name)
        self.home, self.tmp = f"{self.top}/home", f"{self.top}/tmp"
        self.workspace = f"{self.home}/project"
        for path in (self.top, self.home, self.workspace, self.tmp):
            os.mkdir(path)
        os.chmod(self.home, 0o700)  # as adduser makes it
        self.env = {"HOME": self.home, "PATH": PATH, "USER": caller.login, "LOGNAME": caller.login,
                    "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TERM": "xterm", "TMPDIR": self.tmp}
        self.sessions = set()

    def own(self):
        """Hands what the harness has put here to the caller."""
        if self.caller.switch:
            subprocess.run(["chown", "-hR", f"{self.caller.uid}:{self.caller.gid}", self.top], check=True)

    def plain(self, data):
        """Output with the names of this side's places taken out."""
        text = OWN_TMP.sub("/tmp", data.decode("utf-8", "backslashreplace"))
        text = re.sub(re.escape(self.home) + OWN_HOME, "$HOME", text)
        for path, name in ((self.workspace, "$W"), (self.home, "$HOME"), (self.tmp, "/tmp")):
            text = text.replace(path, name)
        return text

    # -- calls --

    def call(self, argv, seconds, tty=False, leaving=LEAVING):
        start = time.monotonic()
        process, streams = self.start_on_terminal(argv) if tty else self.start(argv)
        self.sessions.add(process.pid)
        outcome = Outcome()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            outcome.hung = True
        outcome.seconds = time.monotonic() - start
        wait_until(lambda: outcome.hung or not any(stream.is_alive() for stream in streams), DRAIN)
        # The sandbox's first process has told the end and may still be on its way out.
        wait_until(lambda: outcome.hung or not self.strays(), leaving)
        outcome.left = self.strays()
        if outcome.left:
            self.kill()
        process.wait()
        outcome.status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        outcome.out, outcome.err = ([stream.finish() for stream in streams] + [b""])[:2]
        return outcome

    def popen(self, argv, **more):
        return subprocess.Popen(argv, cwd=self.workspace, env=self.env, **self.caller.popen(), **more)

    def start(self, argv):
        out, err = os.pipe(), os.pipe()
        for end in (out[1], err[1]):
            os.fchown(end, self.caller.uid, -1)  # or /dev/stdout could not be opened
        process = self.popen(argv, stdin=subprocess.DEVNULL, stdout=out[1], stderr=err[1], start_new_session=True)
        os.close(out[1])
        os.close(err[1])
        return process, [Stream(out[0]), Stream(err[0])]

    def start_on_terminal(self, argv):
        """setsid(1) makes the terminal the controlling one, without code of ours between fork and exec."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, TERMINAL)
        os.fchown(slave, self.caller.uid, -1)
        process = self.popen(["setsid", "--ctty", *argv], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        return process, [Stream(master)]

    # -- what is left --

    def strays(self):
        """Live processes of this side: their session is ours, or they name our directory."""
        mark, found = self.top.encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) != os.getpid() and (session_of(pid) in self.sessions or process_names(pid, mark)):
                found.append(int(pid))
        return found

    def kill(self):
        def sweep():
            for pid in (left := self.strays()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return not left
        wait_until(sweep)

    def tree(self):
        """name → kind, mode, content of everything in the workspace."""
        found = {}
        for folder, dirs, files in os.walk(self.workspace):
            for name in dirs + files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.workspace)] = self.describe(path)
        return found

    def describe(self, path):
        info = os.lstat(path)
        content = ""
        if stat.S_ISLNK(info.st_mode):
            content = self.plain(os.readlink(path).encode())
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                content = hashlib.sha256(self.plain(file.read()).encode()).hexdigest()
        return stat.filemode(info.st_mode), content


def session_of(pid):
    """The session of a live process; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, _parent, _group, session = file.read().rpartition(")")[2].split()[:4]
    except OSError:
        return 0
    return 0 if state == "Z" else int(session)
