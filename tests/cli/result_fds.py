# SPDX-License-Identifier: Apache-2.0
"""--result-fd: the streams are the command's, the result is an object on a descriptor, and a socket cancels."""
import json
import os
import socket

from harness import PATIENCE, check, contains, equal, process_names, wait_until


def by_pipe(box, *words, **more):
    """(status, stdout, stderr, object) of a run whose result goes to a pipe."""
    theirs, ours = os.pipe()
    try:
        done = box.execute([box.corral, "run", "--result-fd", ours, *words], pass_fds=[ours], **more)
    finally:
        os.close(ours)
    with os.fdopen(theirs, "rb") as file:
        text = file.read()
    return done, json.loads(text) if text else None


def marked(mark):
    """Processes of the host that have the mark in their arguments."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and process_names(int(pid), mark.encode())]


class OnSocket:
    """A run with a socket for the result."""

    def __init__(self, box, *words):
        self.ours, theirs = socket.socketpair()
        self.process = box.start([box.corral, "run", "--result-fd", theirs.fileno(), *words], pass_fds=[theirs.fileno()])
        theirs.close()

    def result(self):
        text = b""
        while data := self.ours.recv(1 << 16):
            text += data
        return json.loads(text)


def register(suite):
    test = suite.test

    @test("--result-fd: stdout and stderr are the command's, the object is on the descriptor", root=True)
    def _(box):
        done, result = by_pipe(box, "-c", "cat; printf '\\377\\0'; echo err >&2; exit 3", stdin="in ")
        equal((done.status, done.raw_out, done.err), (3, b"in \xff\0", "err\n"), "status and streams")
        equal((result["reason"], result["exit_code"], result["stdout"], result["stderr"]), ("exit", 3, None, None), "the object")

    @test("--result-fd with --json captures the output and leaves stdout alone")
    def _(box):
        done, result = by_pipe(box, "--json", "-c", "echo out; exit 4")
        equal((done.status, done.out, done.err), (4, "", ""), "status and streams")
        equal((result["stdout"], result["exit_code"]), ("out\n", 4), "the object")

    @test("--result-fd has the refusal, and prints no note")
    def _(box):
        box.own(box.write("ws/guarded", "kept"))
        done, result = by_pipe(box, "--protect", "guarded", "-c", "echo changed >guarded")
        check(done.status != 0 and box.read("ws/guarded") == "kept", f"written from inside: {done}")
        check("corral:" not in done.err, f"a note on the command's stderr: {done.err}")
        check([d for d in result["denials"] if d["path"] == f"{box.ws}/guarded"], f"no denial: {result['denials']}")
        done, result = by_pipe(box, "-c", "echo changed >guarded")
        equal((done.status, result["denials"], box.read("ws/guarded")), (0, [], "changed\n"), "the twin without the rule")

    @test("--result-fd has the failures too, except usage errors")
    def _(box):
        done, result = by_pipe(box, "--", "/no/such/program")
        equal((done.status, done.err, result["reason"], result["exit_code"]), (127, "", "setup", None), "a missing program")
        contains(result["error"]["message"], "/no/such/program", "the error")
        done, result = by_pipe(box, "--no-such-option", "--", "true")
        equal((done.status, result), (2, None), "an unknown option")
        done.said("--no-such-option")

    @test("--result-fd: the command does not get the descriptor")
    def _(box):
        done, result = by_pipe(box, "-c", "ls /proc/self/fd | wc -l; for fd in 3 4 5 6 7 8 9; do echo forged >&$fd; done 2>/dev/null")
        equal(result["reason"], "exit", "the object is Corral's")
        outside = box.execute(["sh", "-c", "ls /proc/self/fd | wc -l"])
        equal(done.out, outside.out, "descriptors inside and outside")

    @test("--result-fd refuses a descriptor that it cannot use")
    def _(box):
        for word, text in (("1", "is the command's"), ("77", "not an open descriptor"), ("x", "not an open descriptor")):
            box.run("--result-fd", word, "--", "touch", "ran").exited(2).said("--result-fd", text)
        with open("/dev/null", "rb") as file:
            done = box.run("--result-fd", file.fileno(), "--", "touch", "ran", pass_fds=[file.fileno()])
            done.exited(2).said("cannot be written")
        check(not box.exists("ws/ran"), "a command ran")

    @test("a byte on the socket of --result-fd cancels the run and all its processes", root=True)
    def _(box):
        mark = f"4711.{os.getpid()}"
        run = OnSocket(box, "--grace", "100ms", "-c", f"trap '' TERM; setsid sleep {mark} & echo begun; wait; sleep {mark}")
        equal(run.process.stdout.readline(), b"begun\n", "its output")
        check(wait_until(lambda: marked(mark)), "the grandchild does not run")
        run.ours.send(b"x")
        result = run.result()
        equal(result["reason"], "cancelled", "the reason")
        run.process.communicate(timeout=PATIENCE)
        check(wait_until(lambda: not marked(mark)), "a process is left")

    @test("a run ends when the other end of its --result-fd socket is closed")
    def _(box):
        mark = f"4712.{os.getpid()}"
        run = OnSocket(box, "--grace", "100ms", "-c", f"setsid sleep {mark} & echo begun; wait")
        equal(run.process.stdout.readline(), b"begun\n", "its output")
        run.ours.close()
        run.process.communicate(timeout=PATIENCE)
        check(wait_until(lambda: not marked(mark)), "a process is left")

    @test("a run whose --result-fd is a file is not cancelled")
    def _(box):
        with open(f"{box.dir}/result", "wb") as file:
            box.own(f"{box.dir}/result")
            done = box.run("--result-fd", file.fileno(), "-c", "sleep 0.2; echo end", pass_fds=[file.fileno()])
        equal(done.exited(0).out, "end\n", "its output")
        equal(json.loads(box.read("result"))["reason"], "exit", "the reason")
