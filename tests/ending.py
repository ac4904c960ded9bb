# SPDX-License-Identifier: Apache-2.0
"""Runs a suite in Python so that SIGTERM, SIGINT and SIGHUP end all of it: its processes, then its directories.

    tests/ending.py SUITE.py [WORD...]

Should:   leave no process and no directory of the suite, whatever its threads are doing.
Must not: run the `finally` of the tests: in a suite with threads the others would go on with all rows that wait.
Fails:    open.  What cannot be killed or removed stays, and the suite ends in a bounded time.
"""
import ctypes
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
POLITE_SECONDS = 5.0  # Corral removes its directories and control groups when it gets SIGTERM
KILLED_SECONDS = 10.0  # the kernel takes down namespaces
LOOK_SECONDS = 0.05
PR_SET_CHILD_SUBREAPER = 36

directories = []  # that this process made
is_ending = False
owner = None  # the pid of the suite


def remembering(make):
    """mkdtemp() and TemporaryDirectory() of Python, of which both make a directory by this function."""
    def made(*words, **more):
        path = make(*words, **more)
        directories.append(path)
        return path
    return made


def unless_ending(function):
    """The same function; once the suite ends, a thread that calls it stands still, so that it begins no other test."""
    def called(*words, **more):
        if is_ending and threading.current_thread() is not threading.main_thread():
            threading.Event().wait()
        return function(*words, **more)
    return called


def on_signals(handler):
    """What nohup or a shell in the background ignores stays ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def end(number, _frame):
    """The handler.  Python calls it in the main thread, between any two lines of it."""
    if os.getpid() != owner:  # a child by fork(), which has the handler too
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    begin()
    if os.getuid() == 0:
        os.seteuid(0)  # a test may just be another user
    end_processes()
    remove_directories()
    os._exit(128 + number)


def begin():
    """From now on the children of what dies are ours, and a second signal changes nothing."""
    global is_ending
    is_ending = True
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_processes(polite=POLITE_SECONDS):
    for number, seconds in ((signal.SIGTERM, polite), (signal.SIGKILL, KILLED_SECONDS)):
        told = set()
        until = time.monotonic() + seconds
        while (found := ours()) and time.monotonic() < until:
            for pid in found - told:
                send(pid, number)
            told = found
            reap()
            time.sleep(LOOK_SECONDS)


def ours():
    """The pids of descendants, and of daemons that were started with one of our directories in their environment."""
    parents = {int(name): parent_of(name) for name in os.listdir("/proc") if name.isdigit()}
    found = {pid for pid in parents if is_descendant(pid, parents)}
    marks = [os.fsencode(path) for path in directories]
    return found | {pid for pid in parents if pid not in found and pid != os.getpid() and names(pid, marks)}


def is_descendant(pid, parents):
    pid = parents.get(pid)
    while pid and pid != os.getpid():
        pid = parents.get(pid)
    return bool(pid)


def parent_of(pid):
    """0 for one that is gone, also if its parent has not asked for its status."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == b"Z" else int(parent)


def names(pid, marks):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read()
    except OSError:
        return False
    return any(mark in words for mark in marks)


def send(pid, number):
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reap():
    """A parent that waits for its child, such as timeout(1), ends only when the child is reaped; so do pid namespaces."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def remove_directories():
    left = [path for path in directories if os.path.lexists(path)]
    if not left:
        return
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwX", *left], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", "--one-file-system", "--", *left], check=False, stderr=subprocess.DEVNULL)


def main():
    global owner
    owner = os.getpid()
    tempfile.mkdtemp = unless_ending(remembering(tempfile.mkdtemp))
    subprocess.Popen.__init__ = unless_ending(subprocess.Popen.__init__)
    on_signals(end)
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
