# SPDX-License-Identifier: Apache-2.0
"""What the behaviour suites share: TAP, an unprivileged caller, a scratch place.

Should:   run every command with a time limit, as an ordinary user even when the
          suite itself runs as root, and look after each test whether a process,
          mount, cgroup or temporary file is left.
Must not: depend on the caller's own HOME, environment or terminal.
"""
import glob
import json
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import traces  # noqa: E402  the path has to be set first
from traces import HUNG, PATIENCE, owner_of  # noqa: E402

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

# What a command sleeps that has to be ended: longer than any patience of a test.
LONG = 600


class Skip(Exception):
    """The test cannot be made here; the text says why."""


class Failure(AssertionError):
    """The product did something else than it should."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: got {short(got)}, wanted {short(wanted)}")


def contains(text, part, what):
    if part not in text:
        raise Failure(f"{what}: {part!r} is not in {short(text)}")


def short(value, most=600):
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def wait_until(probe, seconds=PATIENCE):
    """The first true answer of probe, or its last answer."""
    end, pause = time.monotonic() + seconds, 0.01
    while True:
        answer = probe()
        if answer or time.monotonic() >= end:
            return answer
        time.sleep(pause)
        pause = min(1.2 * pause, 0.1)


def until_empty(look, seconds=PATIENCE):
    """The last answer of look(): the first that is empty, or what stays."""
    end = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def in_time(limits, attempt, was_ready):
    """The answer of attempt(limit) for the first time limit that left the command time to get ready.

    How long that takes depends on the machine's load; what happens then must not."""
    for limit in limits:
        answer = attempt(limit)
        if was_ready(answer):
            break
    return answer


class Done:
    """How a command ended."""

    def __init__(self, argv, status, out, err, seconds, max_rss_kb=0):
        self.argv, self.status, self.seconds = argv, status, seconds
        self.raw_out, self.raw_err = out, err
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")
        self.max_rss_kb = max_rss_kb

    def __repr__(self):
        words = " ".join(str(w) for w in self.argv[1:])
        return f"`{words[:160]}` → {self.status}, stdout {short(self.out)}, stderr {short(self.err)}"

    def exited(self, status):
        if self.status != status:
            raise Failure(f"status {self.status} instead of {status}: {self}")
        return self

    def said(self, *parts):
        for part in parts:
            contains(self.err, part, f"stderr of {' '.join(self.argv[1:])[:160]}")
        return self

    @property
    def json(self):
        try:
            return json.loads(self.raw_out)
        except ValueError as error:
            raise Failure(f"no JSON ({error}): {self}") from error


class User:
    """Who runs the commands of a pass."""

    def __init__(self, name, uid, gid, drop):
        self.name, self.uid, self.gid, self.drop = name, uid, gid, drop

    @staticmethod
    def current():
        entry = pwd.getpwuid(os.getuid())
        return User(entry.pw_name, entry.pw_uid, entry.pw_gid, False)

    @staticmethod
    def named(name):
        entry = pwd.getpwnam(name)
        return User(entry.pw_name, entry.pw_uid, entry.pw_gid, True)

    def popen_words(self):
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.drop else {}


class Box:
    """A home, a workspace and an environment of their own for one test."""

    def __init__(self, suite, user, base=None):
        self.suite, self.user, self.corral = suite, user, suite.corral
        self.known = traces.processes()
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="corral-test-", dir=base))
        os.chmod(self.dir, 0o755)
        self.home, self.ws = f"{self.dir}/home", f"{self.dir}/ws"
        self.ours = []
        for path in (self.home, self.ws):
            self.mkdir(path)
        self.env = {
            "HOME": self.home, "PATH": PATH, "USER": user.name, "LOGNAME": user.name,
            "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TERM": "xterm", "CORRAL": self.corral,
        }
        self.own(self.dir)
        self.outside = Outside(self)

    # -- files --

    def own(self, path):
        if self.user.drop:
            os.chown(path, self.user.uid, self.user.gid)
        return path

    def mkdir(self, path, mode=0o755):
        path = os.path.join(self.dir, path)
        parts = os.path.relpath(path, self.dir).split("/")
        at = self.dir
        for part in parts:
            at = f"{at}/{part}"
            if not os.path.isdir(at):
                os.mkdir(at)
                self.own(at)
        os.chmod(path, mode)
        return path

    def write(self, path, content, mode=0o644):
        path = os.path.join(self.dir, path)
        self.mkdir(os.path.dirname(path), stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)
                   if os.path.isdir(os.path.dirname(path)) else 0o755)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return self.own(path)

    def exists(self, path):
        return os.path.lexists(os.path.join(self.dir, path))

    def read(self, path):
        with open(os.path.join(self.dir, path), "rb") as file:
            return file.read().decode("utf-8", "replace")

    # -- commands --

    def start(self, argv, **more):
        words = {"cwd": self.ws, "env": self.env, "stdin": subprocess.DEVNULL,
                 "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
        words.update(self.user.popen_words())
        words.update(more)
        process = subprocess.Popen([str(w) for w in argv], **words)
        self.ours.append(process)
        return process

    def execute(self, argv, timeout=HUNG, stdin=None, **more):
        """Runs argv to its end; a command that hangs is killed and fails the test."""
        if isinstance(stdin, (bytes, str)):
            more["stdin"] = subprocess.PIPE
        elif stdin is not None:
            more["stdin"], stdin = stdin, None
        began = time.monotonic()
        process = self.start(argv, **more)
        data = stdin.encode() if isinstance(stdin, str) else stdin
        try:
            out, err = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill_all()
            out, err = process.communicate()
            raise Failure(f"hung for {timeout} s: {' '.join(str(w) for w in argv)[:300]}, "
                          f"stdout {short(out)}, stderr {short(err)}") from None
        status = process.returncode
        return Done([str(w) for w in argv], status if status >= 0 else 128 - status,
                    out or b"", err or b"", time.monotonic() - began)

    def corral_(self, *words, **more):
        return self.execute([self.corral, *words], **more)

    def run(self, *words, **more):
        return self.corral_("run", *words, **more)

    def sh(self, script, **more):
        """A shell outside, with "$CORRAL" as the program under test."""
        return self.execute(["/bin/sh", "-c", script], **more)

    def json(self, *words, **more):
        return self.run("--json", *words, **more).json

    # -- what is left --

    def strays(self):
        """Processes of this test: their environment, words, directory or program name it."""
        mark = self.dir.encode()
        return [int(name) for name, _ in traces.processes() - self.known
                if int(name) != os.getpid() and process_names(name, mark)]

    def kill_all(self):
        for process in self.ours:
            if process.poll() is None:
                process.kill()
        for pid in self.strays():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def remains(self):
        """What of this test is still on the host, apart from its own files."""
        left = [f"process {pid}: {describe(pid)}" for pid in self.strays()]
        left += [f"mount {line}" for line in lines_of("/proc/self/mountinfo") if self.dir in line]
        mine = {str(process.pid) for process in self.ours}
        left += [f"cgroup {path}" for path in traces.cgroups() if owner_of(path) in mine]
        return left

    def tree(self):
        """Every path of home and workspace with its kind, mode, owner and size."""
        found = {}
        for top in (self.home, self.ws):
            for base, dirs, files in os.walk(top):
                for name in dirs + files:
                    st = os.lstat(f"{base}/{name}")
                    size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
                    found[f"{base}/{name}"] = (st.st_mode, st.st_uid, size)
        return found

    def files(self):
        """The same without the audit log, which grows with each run."""
        return {path: found for path, found in self.tree().items() if "/state/corral/audit/" not in path}

    def close(self):
        """Removes everything; returns what should not have been there."""
        left = until_empty(self.remains)
        self.kill_all()
        for process in self.ours:
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
            process.wait()
        remove_tree(self.dir)
        return left


class Outside:
    """The same calls without a sandbox, for controls."""

    def __init__(self, box):
        self.box = box

    def sh(self, script, **more):
        return self.box.execute(["/bin/sh", "-c", script], **more)


def remove_tree(path):
    def make_writable(function, name, _info):
        os.chmod(os.path.dirname(name), 0o700)
        if os.path.isdir(name) and not os.path.islink(name):
            os.chmod(name, 0o700)
        if function in (os.unlink, os.rmdir):
            function(name)
        else:  # a directory that could not be opened
            remove_tree(name)
    shutil.rmtree(path, onerror=make_writable)


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def process_names(pid, mark):
    for name in ("cmdline", "environ"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if mark in file.read():
                    return not is_zombie(pid)
        except OSError:
            pass
    for name in ("cwd", "exe"):
        try:
            if os.fsencode(os.readlink(f"/proc/{pid}/{name}")).startswith(mark):
                return not is_zombie(pid)
        except OSError:
            pass
    return False


def is_zombie(pid):
    return any(line.startswith("State:\tZ") for line in lines_of(f"/proc/{pid}/status"))


def describe(pid):
    text = " ".join(lines_of(f"/proc/{pid}/cmdline")).replace("\0", " ")
    return text[:120]


class Suite:
    """The tests of one program, their users and their results."""

    def __init__(self, corral, user_name):
        self.tests = []
        self.corral = os.path.abspath(corral)
        self.count = self.failed = 0
        self.root = os.getuid() == 0
        self.user = User.named(user_name) if self.root else User.current()
        self.users = [self.user, *([User.current()] if self.root else [])]
        self.groups_before = traces.dead_cgroups()
        self.directories_before = self.directories()
        self.notes = []
        self.etc = None  # a copy of /etc, once a test needs it

    def directories(self):
        return set().union(*(traces.directories(user.uid) for user in self.users))

    def test(self, name, root=False, user=True, base=None):
        """Registers a behaviour.  root=True repeats it as root, where the suite is."""
        def register(function):
            if user:
                self.tests.append((name, function, self.user, base))
            if root and self.root:
                self.tests.append((f"{name} (root)", function, User.current(), base))
            return function
        return register

    def plan(self, only):
        pattern = re.compile(only) if only else None
        return [t for t in self.tests if pattern is None or pattern.search(t[0])]

    def say(self, line):
        print(line, flush=True)

    def run_one(self, test):
        """(line, notes) of one test."""
        name, function, user, base = test
        box = None
        notes, verdict, tail = [], "ok", ""
        try:
            box = Box(self, user, base() if callable(base) else base)
            function(box)
        except Skip as reason:
            tail = f" # SKIP {reason}"
        except Failure as failure:
            verdict, notes = "not ok", str(failure).splitlines() or ["failed"]
        except Exception:  # a broken test is a failed test, never a missing one
            verdict, notes = "not ok", traceback.format_exc().splitlines()
        left = box.close() if box else []
        if left and verdict == "ok" and not tail:
            verdict, notes = "not ok", [f"left behind: {item}" for item in left]
        return verdict, f"{name}{tail}", notes

    def last_look(self):
        """What a supervisor left that was killed, the next run removes; nothing else may be left."""
        for user in self.users:
            box = Box(self, user)
            box.run("true")
            box.close()
        left = traces.staying(traces.dead_cgroups, self.groups_before)
        left |= traces.staying(self.directories, self.directories_before)
        self.count += 1
        self.failed += bool(left)
        for path in left:
            self.say(f"# left behind: {path}")
        self.say(f"{'not ok' if left else 'ok'} {self.count} - no control group and no directory is left by the whole suite")

    def run(self, only=None, jobs=1):
        tests = self.plan(only)
        lock = threading.Lock()
        waiting = iter(tests)

        def work():
            while True:
                with lock:
                    test = next(waiting, None)
                if test is None:
                    return
                began = time.monotonic()
                verdict, name, notes = self.run_one(test)
                with lock:
                    self.count += 1
                    self.failed += verdict == "not ok"
                    for note in notes:
                        self.say(f"# {note}")
                    if "-v" in sys.argv:
                        self.say(f"# {time.monotonic() - began:.2f} s")
                    self.say(f"{verdict} {self.count} - {name}")
        threads = [threading.Thread(target=work) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.last_look()
        self.say(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def needs(box, *programs):
    for program in programs:
        if shutil.which(program, path=box.env["PATH"]) is None:
            raise Skip(f"{program} is not installed")
