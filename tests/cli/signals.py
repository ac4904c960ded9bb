# SPDX-License-Identifier: Apache-2.0
"""Signals to corral, and the death of everything inside with it."""
import os
import signal
import subprocess
import time

from harness import PATIENCE, check, describe, equal, lines_of, wait_until


def begin(box, *words, ready="ready"):
    """A running command that has announced itself on stdout."""
    process = box.start([box.corral, "run", *words])
    line = process.stdout.readline().decode()
    equal(line, f"{ready}\n", "the first line of the command")
    return process


def ended(process, seconds=PATIENCE):
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        check(False, f"corral still runs after {seconds} s")


def is_pending(pid, number):
    """Whether a signal waits for a process: two that wait at once are one."""
    waits = [int(line.split()[1], 16) for line in lines_of(f"/proc/{pid}/status") if line.startswith("ShdPnd:")]
    return bool(waits and waits[0] >> (number - 1) & 1)


def request_thrice(process):
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
        check(wait_until(lambda: process.poll() is not None or not is_pending(process.pid, signal.SIGTERM)), "not read")


def inside(box):
    """Pids of this test that are not corral's own supervisor."""
    mine = {process.pid for process in box.ours}
    return [pid for pid in box.strays() if pid not in mine]


def has_stopped(pid):
    return any(line.startswith("State:\tT") for line in lines_of(f"/proc/{pid}/status"))


STUBBORN = "trap '' TERM HUP INT; setsid sleep 600 & (setsid sleep 600 &); echo ready; while :; do sleep 0.05; done"


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def chain(pid, level):
    """Corral's own processes, from the supervisor to the one that starts the command."""
    found = [pid]
    for _ in range(1 if level == "full" else 3):
        found.append(children(found[-1])[0])
    return found


def starter(pid, level):
    return chain(pid, level)[-1]


def limits_of(pid):
    """The soft limits that are set, as /proc writes them."""
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        return {line[26:47].strip() for line in file}


def register(suite):
    test = suite.test

    for name in ("INT", "TERM", "HUP", "USR1", "USR2", "QUIT"):
        @test(f"SIG{name} to corral reaches the command", root=name == "TERM")
        def _(box, name=name):
            process = begin(box, "-c", f"trap 'echo caught; exit 42' {name}; echo ready; while :; do sleep 0.05; done")
            process.send_signal(getattr(signal, f"SIG{name}"))
            equal(ended(process), 42, "status")
            equal(process.stdout.read(), b"caught\n", "stdout")

    for level in ("full", "standard"):
        @test(f"every signal that would end corral is passed on or ignored: {level}", root=True)
        def _(box, level=level):
            # PIPE and XFSZ come from corral's own writes; a fault ends corral, and the command with it.
            passed = [signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGSTKFLT,
                      signal.SIGXCPU, signal.SIGRTMIN, signal.SIGRTMIN + 7, signal.SIGRTMAX]
            numbers = ",".join(str(int(n)) for n in passed)
            box.write("ws/count.py", f"import signal, time\ngot = set()\nfor n in ({numbers}):\n"
                      "    signal.signal(n, lambda n, _: got.add(n))\nprint('ready', flush=True)\n"
                      f"end = time.monotonic() + {PATIENCE / 2}\nwhile len(got) < {len(passed)} and time.monotonic() < end:\n"
                      "    time.sleep(0.02)\nprint(len(got))\n")
            process = begin(box, "--level", level, "/usr/bin/python3", "count.py")
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, *passed):
                process.send_signal(number)
            equal(ended(process), 0, "status")
            equal(process.stdout.read().decode(), f"{len(passed)}\n", "signals that arrived")

        @test(f"a fault of corral leaves nothing behind: {level}", root=True)
        def _(box, level=level):
            for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGSYS,
                           signal.SIGTRAP):
                process = begin(box, "--level", level, "-c", "echo ready; sleep 600")
                process.send_signal(number)
                equal(ended(process), -number, "status")
                equal(wait_until(lambda: not inside(box)), True, "everything is gone")
            box.run("true").exited(0)  # sweeps the control groups

    @test("output to a file that may not grow is an error of its own, not the end of corral")
    def _(box):
        for level in ("full", "standard"):
            done = box.sh(f"ulimit -f 1; \"$CORRAL\" run --level {level} -c 'head -c 100000 /dev/zero; echo x >done' >out")
            done.exited(125).said("stdout: ", "lost")
            check(box.exists("ws/done"), f"{level}: the command was cut short")

    @test("a command that dies of the signal gives 128+n")
    def _(box):
        process = begin(box, "-c", "echo ready; exec sleep 600")
        process.send_signal(signal.SIGTERM)
        equal(ended(process), 143, "status")

    @test("a command that has stopped ends by the first SIGTERM, as with timeout(1)")
    def _(box):
        for level in ("full", "standard"):
            process = begin(box, "--level", level, "-c", "echo ready; kill -STOP $$; exit 3")
            check(wait_until(lambda: any(has_stopped(pid) for pid in inside(box))), f"{level}: it has not stopped")
            process.send_signal(signal.SIGTERM)
            equal(ended(process), 128 + signal.SIGTERM, level)

    @test("a command that ignores the first request is ended by the second and third")
    def _(box):
        process = begin(box, "--grace", "300ms", "-c", "trap '' INT TERM; echo ready; while :; do sleep 0.05; done")
        request_thrice(process)
        check(ended(process) != 0, "status 0")

    @test("SIGKILL of corral kills everything inside", root=True)
    def _(box):
        process = begin(box, "-c", "trap '' TERM HUP INT; setsid sleep 600 & (setsid sh -c 'sleep 600 & sleep 600' &); "
                        "sleep 600 & echo ready; while :; do sleep 0.05; done")
        wait_until(lambda: len(inside(box)) >= 4)
        check(len(inside(box)) >= 4, f"only {inside(box)} run inside")
        os.kill(process.pid, signal.SIGKILL)
        ended(process)
        equal(wait_until(lambda: not inside(box)), True, "everything is gone")
        box.run("true").exited(0)  # the next run sweeps the control group that nobody else could

    @test("SIGKILL of corral while it is still setting up leaves nothing")
    def _(box):
        for delay in (0.0, 0.0005, 0.001, 0.002, 0.004):
            process = box.start([box.corral, "run", "sleep", "600"])
            time.sleep(delay)
            os.kill(process.pid, signal.SIGKILL)
            ended(process)
        equal(wait_until(lambda: not inside(box)), True, "everything is gone")
        equal(wait_until(lambda: not box.remains()), True, f"remains {box.remains()}")

    for level in ("full", "standard"):
        @test(f"three requests end everything, level {level}", root=True)
        def _(box, level=level):
            process = begin(box, "--level", level, "--grace", "600s", "-c", STUBBORN)
            request_thrice(process)
            check(ended(process) != 0, "status 0")
            equal(wait_until(lambda: not inside(box)), True, "everything is gone")

        @test(f"a first process that hangs does not hold up the time-out, level {level}", root=True)
        def _(box, level=level):
            process = begin(box, "--level", level, "--timeout", "1s", "--grace", "100ms", "-c", STUBBORN)
            os.kill(starter(process.pid, level), signal.SIGSTOP)
            equal(ended(process), 124, "status")
            equal(wait_until(lambda: not inside(box)), True, "everything is gone")

        @test(f"a first process that is killed ends everything, and the result says so, level {level}", root=True)
        def _(box, level=level):
            process = begin(box, "--level", level, "-c", STUBBORN)
            os.kill(starter(process.pid, level), signal.SIGKILL)
            equal(ended(process), 137, "status")
            check(b"ended by the death of a process of the sandbox" in process.stderr.read(), "stderr")
            equal(wait_until(lambda: not inside(box)), True, "everything is gone")

        @test(f"the command's limits are not those of the processes that end it, level {level}", root=True)
        def _(box, level=level):
            process = begin(box, "--level", level, "--cpu-time", "7s", "--open-files", "99", "-c", STUBBORN)
            own = chain(process.pid, level)
            for pid in own[1:]:
                equal(limits_of(pid) & {"7", "99"}, set(), f"limits of {describe(pid)}")
            equal(limits_of(children(own[-1])[0]) >= {"7", "99"}, True, "limits of the command")
            process.kill()
            ended(process)
            equal(wait_until(lambda: not inside(box)), True, "everything is gone")
            box.run("true").exited(0)  # sweeps the control group

    @test("a signal that arrives during set-up is not lost")
    def _(box):
        for delay in (0.0005, 0.001, 0.002, 0.004):
            process = box.start([box.corral, "run", "sleep", "600"])
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            status = ended(process)
            check(status != 0, f"status {status} after {delay} s")

    @test("what the caller ignores stays ignored by corral")
    def _(box):
        done = box.sh("trap '' INT; \"$CORRAL\" run sh -c 'echo ready; : >began; until test -e sent; do sleep 0.05; done; "
                      "sleep 0.3; echo done' & p=$!; until test -e began; do sleep 0.05; done; "
                      "kill -INT $p; : >sent; wait $p; echo $?")
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
        equal(wait_until(lambda: victim.poll() is not None), True, "the control's victim is dead")
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
            out, err = process.communicate(timeout=2 * PATIENCE)
            equal((process.returncode, out, err), (i, f"{i}\n".encode(), b""), f"run {i}")
