# SPDX-License-Identifier: Apache-2.0
"""Commands with a terminal: exec --terminal, attach, detach."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from service import PATIENCE, Refused, alive, check, equal, marked, wait_until

ESCAPE = b"\x1d"


class Screen:
    """A client on a pty of its own, as a person has it."""

    def __init__(self, service, *words, rows=24, columns=80, program=None):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        # A session of its own: the pty is the controlling terminal, as in a terminal window.
        code = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", code, program or service.corral, *words], stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, env={**service.environment, "TERM": "xterm-corral"}, cwd=service.workspace,
                                        **service.account)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data):
        os.write(self.master, data)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.seen += os.read(self.master, 65536)
        return bool(ready)

    def until(self, pattern):
        """Reads until the pattern was printed; returns the match."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.seen)) and time.monotonic() < end:
            self.read(0.1)
        check(found, f"{pattern!r} was not printed: {self.seen[-600:]!r}")
        return found

    def ended(self):
        """The status, with all output read."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        while self.read(0):
            pass
        return self.process.poll()

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def is_restored(self):
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@contextlib.contextmanager
def screen(service, *words, **more):
    one = Screen(service, *words, **more)
    try:
        yield one
    finally:
        one.close()


def test_a_shell_has_a_terminal_of_the_sandbox(service):
    session = service.create()
    with screen(service, "session", "exec", "-T", session, "--", "sh", rows=31, columns=97) as one:
        one.type(b"echo tty=$(tty) term=$TERM; stty size; sleep 0 | cat; [ -t 2 ] && echo all\n")
        name = one.until(rb"tty=(\S+) term=xterm-corral\r\n31 97\r\nall\r\n").group(1)
        if service.level == "full":
            check(re.fullmatch(rb"/dev/pts/\d+", name), f"the name of the terminal: {name}")
        check(one.is_raw(), "the client's terminal is not raw")
        one.resize(40, 100)
        one.type(b"trap 'stty size' WINCH; while ! stty size | grep -q 40; do :; done; echo new\n")
        one.until(rb"new\r\n")
        one.type(b"sleep 61 & jobs; kill %1; exit 5\n")
        equal(one.ended(), 5, "the status of the shell")
        check(b"Running" in one.seen, f"jobs: {one.seen!r}")
        check(one.is_restored(), "the modes of the client's terminal are not restored")
    service.good("session", "stop", session)


def test_keys_interrupt_the_command_and_not_the_client(service):
    session = service.create()
    with screen(service, "session", "exec", "-T", session, "--", "sh", "-c", "trap 'echo caught; exit 3' INT; echo began; while :; do sleep 0.05; done") as one:
        one.until(b"began")
        one.type(b"\x03")
        equal(one.ended(), 3, "the status after ^C")
        check(b"caught" in one.seen, f"the command did not get ^C: {one.seen!r}")
        check(one.is_restored(), "the modes of the client's terminal are not restored")
    service.good("session", "stop", session)


def test_a_command_outlives_its_client_and_is_attached_again(service):
    session = service.create("--name", "stays")
    with screen(service, "session", "exec", "-T", "stays", "--", "sh") as one:
        one.type(b"echo first-$((1 + 1)); PS1=\n")
        one.until(rb"first-2")
        one.type(ESCAPE + b"d")
        equal(one.ended(), 0, "the status after a detach")
        number = one.until(rb"corral session attach stays (\d+)").group(1).decode()
        check(one.is_restored(), "the modes are not restored after a detach")
    with screen(service, "session", "attach", "stays", number, rows=50, columns=132) as one:
        one.until(rb"first-2")
        one.type(b"stty size; echo second\n")
        one.until(rb"50 132\r\nsecond")
        os.kill(one.process.pid, signal.SIGKILL)
        one.process.wait()
        check(wait_until(one.is_restored), "the modes are not restored after SIGKILL of the client")
    with screen(service, "session", "attach", "stays") as one:
        one.until(rb"second")
        with screen(service, "session", "attach", "stays") as two:
            two.until(rb"second")
            equal(one.ended(), 0, "the status of a client whose terminal was taken over")
            check(b"another client attached" in one.seen, f"its message: {one.seen!r}")
            two.type(ESCAPE + ESCAPE + b"\n")
            two.type(b"exit 4\n")
            equal(two.ended(), 4, "the status of the last client")
    status, _, err = service.run("session", "attach", "stays")
    check(status == 2 and "terminals" in err, f"attach without a terminal: {status} {err}")
    with screen(service, "session", "attach", "stays") as one:
        equal(one.ended(), 2, "attach without a command")
        check(b"no command with a terminal is running" in one.seen, f"its message: {one.seen!r}")
    service.good("session", "stop", session)


def test_a_detached_command_is_reported_and_its_backlog_is_bounded(service):
    session = service.create()
    code = "i=0; while [ $i -lt 90000 ]; do echo line-$i-0123456789; i=$((i + 1)); done; : >printed; read x; exit 6"
    made = json.loads(service.good("session", "exec", "-d", "--json", session, "--", "sh", "-c", code))
    check(made["detached"] is True, f"the answer: {made}")
    check(wait_until(lambda: os.path.exists(f"{service.workspace}/printed")), "the command waits for a client that is not there")
    os.unlink(f"{service.workspace}/printed")
    with screen(service, "session", "attach", session, str(made["command"])) as one:
        one.until(rb"line-89999-")
        check(b"line-0-" not in one.seen and len(one.seen) < 1000000, f"{len(one.seen)} bytes of backlog")
        one.type(ESCAPE + b"d")
        one.ended()
    with screen(service, "session", "attach", session) as one:
        one.until(rb"line-89999-")
        one.process.terminate()
        equal(one.ended(), 0, "the status after SIGTERM of the client")
        check(one.is_restored(), "the modes are not restored after SIGTERM")
    with screen(service, "session", "attach", session) as one:
        one.type(b"x\n")
        equal(one.ended(), 6, "the status of a command that ends while attached")
    service.good("session", "exec", "-d", session, "--", "sh", "-c", "exit 7")
    check(wait_until(lambda: "ended with status 7" in service.good("session", "activity", session)), "the end was not recorded")
    service.good("session", "stop", session)


def test_a_stop_ends_commands_with_terminals(service):
    mark = f"616.{os.getpid()}"
    session = service.create()
    service.good("session", "exec", "-d", session, "--", "sleep", mark)
    with screen(service, "session", "exec", "-T", session, "--", "sh", "-c", f"echo began; sleep {mark}") as one:
        one.until(b"began")
        service.good("session", "stop", session)
        check(one.ended() not in (0, None), f"the status of a client whose session ended: {one.process.returncode}")
        check(one.is_restored(), "the modes are not restored after a stop")
    check(wait_until(lambda: not [pid for pid in marked(mark) if alive(pid)]), "a command with a terminal survived its session")


INJECT = """
import fcntl, os, sys, termios
try:
    for byte in b"echo injected\\n":
        fcntl.ioctl(0, termios.TIOCSTI, bytes([byte]))
    print("pushed")
except OSError as error:
    print("errno", error.errno)
print("twin" if os.write(0, b"written\\n") else "")
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    print("tty opened")
except OSError as error:
    print("tty errno", error.errno)
"""


def test_a_command_cannot_push_input_into_its_terminal(service):
    """As in a run.  The twin writes to the same terminal."""
    with screen(service, "-c", INJECT, program="/usr/bin/python3") as one:
        equal(one.ended(), 0, "the status of the control")
        with open("/proc/sys/dev/tty/legacy_tiocsti", encoding="utf-8") as file:
            check(file.read().strip() == "0" or b"pushed" in one.seen, f"the control outside: {one.seen!r}")
    session = service.create()
    with screen(service, "session", "exec", "-T", session, "--", "/usr/bin/python3", "-c", INJECT) as one:
        equal(one.ended(), 0, "the status of the attempt")
        check(b"errno 1\r\n" in one.seen and b"pushed" not in one.seen, f"TIOCSTI: {one.seen!r}")
        check(b"written\r\ntwin\r\n" in one.seen, f"the twin: {one.seen!r}")
        # Without namespaces the pty has no name that Landlock permits: a limit, docs/sessions.md.
        wanted = b"tty opened" if service.level == "full" else b"tty errno 6"
        check(wanted in one.seen, f"/dev/tty: {one.seen!r}")
    service.good("session", "stop", session)


def test_only_an_outside_client_gets_a_terminal(service):
    session = service.create()
    client = service.client()
    null = os.open("/dev/null", os.O_RDWR)
    for fds, wanted in (([null], "SOCK_SEQPACKET"), ([], "0 of 1")):
        try:
            client.call("session.exec", fds=fds, session=session, argv=["true"], streams="terminal")
            check(False, f"{wanted}: accepted")
        except Refused as refused:
            check(wanted in refused.message, refused.message)
    client.close()
    os.close(null)
    code = ("import json, os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['CORRAL_SESSION_SOCKET']); "
            "s.sendall(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'session.exec', 'params': "
            "{'argv': ['true'], 'streams': 'terminal', 'detach': True}}).encode() + b'\\n'); print(s.recv(4096).decode())")
    out = service.good("session", "exec", session, "--", "/usr/bin/python3", "-c", code)
    check("cannot request a terminal" in out, f"a request from inside: {out}")
    service.good("session", "stop", session)
