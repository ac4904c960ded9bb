"""Signals to corral, and the death of everything inside with it."""
import os
import signal
import subprocess
import time

from harness import check, equal, wait_until


def begin(box, *words, ready="ready"):
    """A running command that has announced itself on stdout."""
    process = box.start([box.corral, "run", *words])
    line = process.stdout.readline().decode()
    equal(line, f"{ready}\n", "the first line of the command")
    return process


def ended(process, seconds=5):
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        check(False, f"corral still runs after {seconds} s")


def inside(box):
    """Pids of this test that are not corral's own supervisor."""
    mine = {process.pid for process in box.ours}
    return [pid for pid in box.strays() if pid not in mine]


def register(suite):
    test = suite.test

    for name in ("INT", "TERM", "HUP", "USR1", "USR2", "QUIT"):
        @test(f"SIG{name} to corral reaches the command", root=name == "TERM")
        def _(box, name=name):
            process = begin(box, "-c", f"trap 'echo caught; exit 42' {name}; echo ready; while :; do sleep 0.05; done")
            process.send_signal(getattr(signal, f"SIG{name}"))
            equal(ended(process), 42, "status")
            equal(process.stdout.read(), b"caught\n", "stdout")

    @test("a command that dies of the signal gives 128+n")
    def _(box):
        process = begin(box, "-c", "echo ready; exec sleep 60")
        process.send_signal(signal.SIGTERM)
        equal(ended(process), 143, "status")

    @test("a command that ignores the first request is ended by the second and third")
    def _(box):
        process = begin(box, "--grace", "300ms", "-c", "trap '' INT TERM; echo ready; while :; do sleep 0.05; done")
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        check(ended(process) != 0, "status 0")

    @test("SIGKILL of corral kills everything inside within a second", root=True)
    def _(box):
        process = begin(box, "-c", "trap '' TERM HUP INT; setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &); "
                        "sleep 300 & echo ready; while :; do sleep 0.05; done")
        wait_until(lambda: len(inside(box)) >= 4, 3)
        check(len(inside(box)) >= 4, f"only {inside(box)} run inside")
        os.kill(process.pid, signal.SIGKILL)
        ended(process)
        equal(wait_until(lambda: not inside(box), 1.0), True, "everything is gone")
        box.run("true").exited(0)  # the next run sweeps the control group that nobody else could

    @test("SIGKILL of corral while it is still setting up leaves nothing")
    def _(box):
        for delay in (0.0, 0.0005, 0.001, 0.002, 0.004):
            process = box.start([box.corral, "run", "sleep", "300"])
            time.sleep(delay)
            os.kill(process.pid, signal.SIGKILL)
            ended(process)
        equal(wait_until(lambda: not inside(box), 1.0), True, "everything is gone")
        equal(wait_until(lambda: not box.remains(), 1.0), True, f"remains {box.remains()}")

    @test("a signal that arrives during set-up is not lost")
    def _(box):
        for delay in (0.0005, 0.001, 0.002, 0.004):
            process = box.start([box.corral, "run", "sleep", "30"])
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            status = ended(process)
            check(status != 0, f"status {status} after {delay} s")

    @test("what the caller ignores stays ignored by corral")
    def _(box):
        done = box.sh("trap '' INT; \"$CORRAL\" run sh -c 'echo ready; sleep 0.6; echo done' & p=$!; sleep 0.3; "
                      "kill -INT $p; wait $p; echo $?", timeout=10)
        equal(done.out, "ready\ndone\n0\n", "output")

    @test("inside no signal starts ignored or blocked")
    def _(box):
        done = box.sh("trap '' PIPE USR1 TERM; exec \"$CORRAL\" run grep -E 'Sig(Blk|Ign)' /proc/self/status").exited(0)
        for line in done.out.splitlines():
            equal(int(line.split()[1], 16), 0, line)

    @test("the command cannot signal corral or anything outside")
    def _(box):
        victim = box.start(["/bin/sleep", "60"])
        script = "kill -USR1 %d && echo reached; kill -USR1 $PPID; exit 0" % victim.pid
        check("reached" in box.sh(script.split(";")[0]).out, "control")
        equal(wait_until(lambda: victim.poll() is not None, 3), True, "the control's victim is dead")
        victim = box.start(["/bin/sleep", "60"])
        done = box.run("-c", "kill -0 %d && echo reached; exit 3" % victim.pid).exited(3)
        equal(done.out, "", "stdout")
        box.run("-c", "kill -KILL $PPID; exit 4").exited(4)
        equal(victim.poll(), None, "the victim lives")
        victim.kill()

    @test("twenty runs at once do not disturb each other")
    def _(box):
        processes = [box.start([box.corral, "run", "-c", f"sleep 0.2; echo {i}; exit {i}"]) for i in range(20)]
        for i, process in enumerate(processes):
            out, err = process.communicate(timeout=20)
            equal((process.returncode, out, err), (i, f"{i}\n".encode(), b""), f"run {i}")
