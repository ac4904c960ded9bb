# SPDX-License-Identifier: Apache-2.0
"""On a terminal: a pty of the command's own, job control, resize, modes put back."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from harness import LONG, PATIENCE, Failure, check, describe, equal, lines_of, short, wait_until


class Terminal:
    """A terminal with one program on it, as its session leader."""

    def __init__(self, box, argv, rows=30, cols=100):
        self.master, self.slave = pty.openpty()
        if box.user.drop:
            os.fchown(self.slave, box.user.uid, box.user.gid)
        self.resize(rows, cols)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.process = box.start(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                 preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def send(self, data):
        os.write(self.master, data.encode())

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                pass
        return bool(ready)

    def is_canonical(self):
        """Whether the terminal reads lines; Corral and the shell's line editor read keys."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ICANON)

    def has_job(self):
        """Whether Corral is the shell's foreground job and reads the terminal."""
        group = struct.unpack("i", fcntl.ioctl(self.master, termios.TIOCGPGRP, bytes(4)))[0]
        return group != self.process.pid and not self.is_canonical()

    def expect(self, pattern, seconds=PATIENCE):
        """Waits for pattern, consumes up to its end and returns the match."""
        end = time.monotonic() + seconds
        while True:
            match = re.search(pattern.encode(), self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            left = end - time.monotonic()
            if left <= 0:
                raise Failure(f"{pattern!r} did not appear on the terminal; there was {short(self.seen)}")
            self.read(min(left, 0.1))

    def finish(self, seconds=PATIENCE):
        """The status of the program, and everything it printed."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise Failure(f"still running on its terminal; there was {short(self.seen)}")
            self.read(0.05)
        while self.read(0.05) and self.seen[-1:] != b"":
            if not select.select([self.master], [], [], 0.05)[0]:
                break
        return self.process.returncode, self.seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def close(self):
        for fd in (self.master, self.slave):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def terminal(box, *words, **more):
    return Terminal(box, [box.corral, *words], **more)


def has_stopped(box):
    return any(line.startswith("State:\tT") for pid in box.strays() for line in lines_of(f"/proc/{pid}/status"))


def runs(box, words):
    return any(describe(pid).strip().endswith(words) for pid in box.strays())


BASH = ["/bin/bash", "--norc", "--noprofile", "-i"]


def register(suite):
    test = suite.test

    @test("-v on a terminal has a header and a footer, in colour unless NO_COLOR or TERM says no", root=True)
    def _(box):
        for variables, colour in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            box.env.update(variables)
            for script, end in (("exit 0", r"completed in \d+\.\d s \(sandbox: full\)"),
                                ("exit 3", r"exit, status 3, after \d+\.\d s \(sandbox: full\)")):
                with Terminal(box, [box.corral, "run", "-v", "--level", "full", "--", "sh", "-c", f"{script} # \x1b[5m"]) as screen:
                    status, said = screen.finish()
                equal(status, int(script[-1]), "status")
                paint = (r"\x1b\[1m", r"\x1b\[3[12]m", r"\x1b\[0m") if colour else ("", "", "")
                check(re.search(f"corral: {paint[0]}sandboxed: sh -c '{script} # \\?\\[5m'{paint[2]}\n", said), f"header: {said!r}")
                check(re.search(f"corral: {paint[1]}{end}{paint[2]}\n", said), f"footer: {said!r}")
                check("level full (namespaces), workspace" in said, f"the rules: {said!r}")
            box.env.pop("NO_COLOR", None)
            box.env["TERM"] = "xterm"
        done = box.run("-v", "--", "true").exited(0)
        check("\x1b" not in done.err and "sandboxed:" not in done.err, f"in a pipe: {done}")

    @test("on a terminal the command has a terminal of its own", root=True)
    def _(box):
        with terminal(box, "run", "tty") as t:
            status, text = t.finish()
            equal(status, 0, "status")
            check(re.fullmatch(r"/dev/pts/\d+\n", text), f"tty says {text!r}")
        with terminal(box, "run", "-c", "stat -Lc %d /proc/self/fd/0; ls /dev/pts; echo x >/dev/tty") as t:
            status, text = t.finish()
            device, *rest = text.split()
            check(int(device) != os.fstat(t.slave).st_dev, "the caller's terminal was handed in")
            equal((status, rest), (0, ["0", "ptmx", "x"]), "a devpts of its own, and its controlling terminal")

    @test("a hint is told on a terminal too")
    def _(box):
        with terminal(box, "run", "touch", "/etc/new") as t:
            status, text = t.finish()
            equal(status, 1, "status")
            check("corral: hint: fs.write: /etc/new" in text, f"the terminal shows {text!r}")

    @test("the terminal's modes are the same before and after")
    def _(box):
        for words in (("run", "true"), ("run", "stty", "raw", "-echo"), ("run", "--", "nowhere"),
                      ("run", "--timeout", "200ms", "--grace", "0", "sleep", "9"), ("run", "-c", "kill -9 $$")):
            with terminal(box, *words) as t:
                t.finish()
                equal(termios.tcgetattr(t.slave), t.before, f"modes after {words}")

    @test("the command's terminal has the caller's size and modes")
    def _(box):
        with terminal(box, "run", "stty", "size", rows=37, cols=111) as t:
            equal(t.finish(), (0, "37 111\n"), "stty size")

    @test("modes that the command sets at once stay, also if the supervisor is late")
    def _(box):
        for turn in range(20):
            with terminal(box, "run", "--", "sh", "-c", f"stty -opost; touch {turn}; sleep 0.1; stty -a | grep -o -- -opost") as screen:
                pid = screen.process.pid
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as children:
                    while not children.read() and screen.process.poll() is None:
                        children.seek(0)
                    time.sleep(turn * 0.0001)
                    os.kill(pid, signal.SIGSTOP)
                    # Stopped too early, the command does not begin.
                    wait_until(lambda: os.path.exists(f"{box.ws}/{turn}"), 0.2)
                    os.kill(pid, signal.SIGCONT)
                status, said = screen.finish(LONG)
                equal([status, "-opost" in said], [0, True], said)

    @test("a resize reaches the command", root=True)
    def _(box):
        with terminal(box, "run", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done") as t:
            t.expect("ready")
            t.resize(41, 87)
            t.expect("41 87")
            t.send("\x03")
            equal(t.finish()[0], 130, "status")

    @test("Ctrl-C interrupts the command")
    def _(box):
        with terminal(box, "run", "sh", "-c", f"echo ready; exec sleep {LONG}") as t:
            t.expect("ready")
            t.send("\x03")
            equal(t.finish()[0], 130, "status")

    @test("Ctrl-C is the command's to catch, and Ctrl-\\ quits")
    def _(box):
        with terminal(box, "run", "-c", "trap 'echo caught' INT; echo ready; for i in 1 2 3 4 5 6; do sleep 0.2; done; exit 9") as t:
            t.expect("ready")
            t.send("\x03")
            t.expect("caught")
            equal(t.finish()[0], 9, "status")
        with terminal(box, "run", "-c", "echo ready; exec sleep 600") as t:
            t.expect("ready")
            t.send("\x1c")
            equal(t.finish()[0], 131, "status")

    @test("typing reaches the command, with echo and Ctrl-D")
    def _(box):
        with terminal(box, "run", "cat") as t:
            t.send("hello\n")
            t.expect("hello\r\nhello\r\n")
            t.send("\x04")
            equal(t.finish()[0], 0, "status")

    @test("Ctrl-Z stops corral, fg resumes it", root=True)
    def _(box):
        with Terminal(box, BASH) as t:
            t.send("PS1='P''> '; stty -echo\n")
            t.expect("P> ")
            # exec, because a ^Z between vfork and execve of a plain dash stops only its child.
            t.send("\"$CORRAL\" run sh -c 'echo rea''dy; exec cat'\n")
            t.expect("ready")
            t.send("\x1a")
            t.expect(r"Stopped")
            t.expect("P> ")
            t.send("echo shell-$((6*7))\n")
            t.expect("shell-42")
            t.expect("P> ")
            t.send("fg\n")
            check(wait_until(t.has_job), "the job is not resumed")
            t.send("resumed-words\n")
            t.expect("resumed-words")
            t.send("\x04")
            t.expect("P> ")
            t.send("echo st-$?; exit\n")
            t.expect("st-0")
            t.finish()

    for level in ("full", "standard"):
        @test(f"a command that stops itself does not stop the caller's job: {level}", root=True)
        def _(box, level=level):
            for name in ("STOP", "TSTP", "TTIN"):
                with Terminal(box, BASH) as t:
                    t.send("PS1='P''> '; stty -echo\n")
                    t.expect("P> ")
                    t.send(f"\"$CORRAL\" run --level {level} bash -c 'echo rea''dy; kill -{name} $$; echo go''es-on; cat'\n")
                    t.expect("ready")
                    check(wait_until(lambda: has_stopped(box)), f"{name}: the command does not stop")
                    t.read(0.3)
                    check(b"Stopped" not in t.seen, f"{name}: {t.seen!r}")
                    # Now ^Z stops the job, and fg continues both.
                    t.send("\x1a")
                    t.expect("Stopped")
                    t.expect("P> ")
                    t.send("fg\n")
                    t.expect("goes-on")
                    t.send("\x04")
                    t.expect("P> ")
                    t.send("echo st-$?; exit\n")
                    t.expect("st-0")
                    t.finish()

    @test("Ctrl-C ends a command that stopped itself")
    def _(box):
        with terminal(box, "run", "sh", "-c", "echo rea''dy; kill -STOP $$; sleep 60") as t:
            t.expect("ready")
            check(wait_until(lambda: has_stopped(box)), "the command does not stop")
            t.send("\x03")
            equal(t.finish()[0], 130, "status")

    @test("a job that began in the background reads lines after fg", root=True)
    def _(box):
        with Terminal(box, BASH) as t:
            t.send("PS1='P''> '\n")
            t.expect("P> ")
            # By then the terminal has the modes of the shell's line editor.
            t.send("(sleep 0.4; exec \"$CORRAL\" run cat) &\n")
            t.expect("P> ")
            check(wait_until(lambda: runs(box, "run cat")), "the job does not begin")
            time.sleep(0.5)
            t.send("fg\n")
            check(wait_until(t.has_job), "the job does not get the terminal")
            t.send("hello\n")
            t.expect("hello\r\nhello\r\n")
            t.send("\x04")
            t.expect("P> ")
            t.send("echo st-$?; exit\n")
            t.expect("st-0")
            t.finish()

    @test("a shell inside has job control of its own")
    def _(box):
        with terminal(box, "run", "/bin/bash", "--norc", "--noprofile", "-i") as t:
            t.send("PS1='P''> '; stty -echo\n")
            t.expect("P> ")
            t.send(f"sleep {LONG}\n")
            check(wait_until(lambda: runs(box, f"sleep {LONG}")), "the job does not begin")
            t.send("\x1a")
            t.expect("Stopped")
            t.expect("P> ")
            t.send("kill -9 %1; wait %1; echo job-$((1+1))\n")
            t.expect("job-2")
            t.send("exit 4\nexit 4\n")  # bash warns once where the dead job is not reaped yet
            text = t.finish()
            equal(text[0], 4, "status")
            check("no job control" not in text[1], f"{text[1]!r}")

    @test("corral in a pipeline of a terminal passes bytes through")
    def _(box):
        with Terminal(box, BASH) as t:
            t.send("PS1='P''> '; stty -echo\n")
            t.expect("P> ")
            t.send("echo word | \"$CORRAL\" run tr a-z A-Z | cat; echo st-${PIPESTATUS[1]}\n")
            t.expect("WORD")
            t.expect("st-0")
            t.send("exit\n")
            t.finish()

    @test("corral in the background of a shell does not take its terminal")
    def _(box):
        with Terminal(box, BASH) as t:
            t.send("PS1='P''> '; stty -echo\n")
            t.expect("P> ")
            t.send("\"$CORRAL\" run sh -c 'sleep 0.3; echo from-behind' &\n")
            t.expect("P> ")
            t.send("read line; echo got-$line\n")
            check(wait_until(t.is_canonical), "the shell does not read a line")
            t.send("typed\n")
            t.expect("got-typed")
            t.expect("from-behind")
            t.send("wait; exit\n")
            t.finish()

    @test("corral shell runs what is typed, inside", root=True)
    def _(box):
        with terminal(box, "shell") as t:
            check(wait_until(lambda: not t.is_canonical()), "the shell does not begin")
            t.send("echo in-$((40+2)) $CORRAL_LEVEL; touch made; exit 5\n")
            t.expect("in-42 (full|standard)")
            equal(t.finish()[0], 5, "status")
            equal(termios.tcgetattr(t.slave), t.before, "modes")
        check(box.exists("ws/made"), "the file is not there")

    @test("--tty never gives pipes on a terminal, --tty always a terminal")
    def _(box):
        with terminal(box, "run", "--tty", "never", "tty") as t:
            status, text = t.finish()
            equal((status, text), (1, "not a tty\n"), "never")
        with terminal(box, "run", "--tty", "always", "tty") as t:
            equal(t.finish()[0], 0, "always")

    @test("with stdout redirected there is no terminal inside")
    def _(box):
        with Terminal(box, ["/bin/sh", "-c", "\"$CORRAL\" run tty >out; echo st-$?"]) as t:
            t.expect("st-1")
            t.finish()
        equal(box.read("ws/out"), "not a tty\n", "tty")

    @test("the command cannot type into the caller's terminal")
    def _(box):
        code = ("import fcntl, termios, sys\n"
                "for fd in (0, 1, 2):\n"
                "    try:\n"
                "        for c in b'echo typed\\n': fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))\n"
                "        print('pushed', fd)\n"
                "    except OSError as e: print('refused', e.errno)\n")
        box.write("ws/push.py", code)
        with Terminal(box, BASH) as t:
            t.send("PS1='P''> '; stty -echo\n")
            t.expect("P> ")
            t.send("\"$CORRAL\" run /usr/bin/python3 push.py\n")
            t.expect("(refused|pushed)")
            t.expect("P> ")
            t.send("echo after-$((1+1)); exit\n")
            status, text = t.finish()
            check(not re.search(r"^typed", text, re.MULTILINE), f"{text!r}")

    @test("a hang-up of the terminal ends the command")
    def _(box):
        t = terminal(box, "run", "-c", "echo ready; exec sleep 600")
        t.expect("ready")
        t.close()
        try:
            t.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure("corral survives its terminal") from None

    @test("large output to a terminal arrives whole")
    def _(box):
        with terminal(box, "run", "seq", "1", "30000") as t:
            seen = b""
            end = time.monotonic() + PATIENCE
            while t.process.poll() is None and time.monotonic() < end:
                t.read(0.05)
            while t.read(0.1):
                if not select.select([t.master], [], [], 0.1)[0]:
                    break
            seen = t.seen.replace(b"\r\n", b"\n")
            equal(seen == "".join(f"{i}\n" for i in range(1, 30001)).encode(), True, "all lines in order")
