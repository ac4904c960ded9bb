# SPDX-License-Identifier: Apache-2.0
"""Limits hold, and where one cannot, that is said."""
import os

from harness import LONG, PATIENCE, Skip, check, contains, equal

COUNT_FORKS = """
import os, signal, sys
n = 0
pids = []
try:
    while n < 400:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        pids.append(pid)
        n += 1
except BlockingIOError:
    pass
for pid in pids:
    os.kill(pid, signal.SIGKILL)
print(n)
"""

COUNT_FILES = """
n = 0
held = []
try:
    while n < 2000:
        held.append(open('/dev/null'))
        n += 1
except OSError as error:
    print(error.errno, n)
"""

PYTHON = "/usr/bin/python3"


def guarantee(result, name):
    return {g["name"]: g for g in result["guarantees"]}[name]


def register(suite):
    test = suite.test

    @test("--processes bounds processes and threads", root=True)
    def _(box):
        result = box.json("--processes", "30", "--", PYTHON, "-c", COUNT_FORKS)
        state = guarantee(result, "limits.processes")
        if state["state"] != "enforced":  # sampling.py has what happens then
            check(box.user.uid == 0, f"an ordinary user has no limit: {state}")
            raise Skip(f"not enforced here: {state['why']}")
        check(15 <= int(result["stdout"]) <= 30, f"{result['stdout']!r} processes with a limit of 30")

    @test("--processes counts this run only")
    def _(box):
        others = [box.start([box.corral, "run", "--processes", "10", "sleep", "600"]) for _ in range(12)]
        result = box.json("--processes", "10", "-c", "sleep 0.1 & sleep 0.1 & wait; echo fine")
        equal(result["stdout"], "fine\n", f"stdout of {result['stderr']}")
        for process in others:
            process.terminate()
            process.wait(timeout=PATIENCE)

    @test("a fork bomb ends at its time-out and leaves nothing")
    def _(box):
        done = box.run("--timeout", "1s", "--grace", "200ms", "--processes", "60", "-c",
                       f"b() {{ b | b & }}; b; sleep {LONG}")
        equal(done.status, 124, "status")

    @test("--open-files bounds descriptors")
    def _(box):
        equal(box.run("--open-files", "64", "-c", "ulimit -n; ulimit -Hn").exited(0).out, "64\n64\n", "ulimit")
        errno, count = box.run("--open-files", "64", "--", PYTHON, "-c", COUNT_FILES).exited(0).out.split()
        equal(errno, "24", "errno")
        check(int(count) < 64, f"{count} files")

    @test("--max-file-size bounds a file and not a pipe", root=True)
    def _(box):
        done = box.run("--max-file-size", "64K", "--", "dd", "if=/dev/zero", "of=big", "bs=1K", "count=100")
        done.exited(128 + 25)
        contains(done.err, "--max-file-size", "the reason on stderr")
        equal(len(box.read("ws/big")), 65536, "size of the file")
        equal(len(box.run("--max-file-size", "64K", "-c", "head -c 200000 /dev/zero").exited(0).raw_out), 200000, "a pipe")
        box.sh("\"$CORRAL\" run --max-file-size 64K -c 'head -c 200000 /dev/zero' >large").exited(0)
        equal(len(box.read("ws/large")), 200000, "the caller's own file")

    @test("--cpu-time ends a busy process", root=True)
    def _(box):
        done = box.run("--cpu-time", "1s", "--timeout", "100s", "--", "sh", "-c", "while :; do :; done")
        check(done.status in (128 + 24, 128 + 9), f"status {done.status}")
        contains(done.err, "--cpu-time", "the reason on stderr")
        check(done.seconds < PATIENCE, f"it took {done.seconds:.1f} s")

    @test("--cpu-time cannot be caught for ever")
    def _(box):
        code = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
        result = box.json("--cpu-time", "1s", "--timeout", "100s", "--", PYTHON, "-c", code)
        equal([result["reason"], result["signal"]], ["limit", 9], "ending")

    @test("--memory is enforced with a controller, and refused under --require without")
    def _(box):
        plan = box.corral_("explain", "--json", "--memory", "64M").exited(0).json["plan"]
        state = {g["name"]: g for g in plan["guarantees"]}["limits.memory"]
        if state["state"] == "enforced":
            result = box.json("--memory", "64M", "--", PYTHON, "-c", "x = bytearray(400 << 20)")
            equal(result["reason"], "oom", "reason")
            return
        done = box.run("--memory", "64M", "--require", "limits.memory", "--", "touch", "ran").exited(125)
        done.said("limits.memory", "remedy")
        check(not box.exists("ws/ran"), "something ran")
        result = box.json("--memory", "64M", "true")
        equal(guarantee(result, "limits.memory")["state"], "weaker", "said in the result: it is sampled")

    @test("--memory counts all processes together", root=True, user=False)
    def _(box):
        script = f"for i in 1 2 3 4; do {PYTHON} -c 'import time; x = bytearray(40 << 20); time.sleep(%d)' & done; wait"
        result = box.json("--memory", "100M", "-c", script % 30)  # the whole run ends at once
        if guarantee(result, "limits.memory")["state"] != "enforced":
            raise Skip("no memory controller")
        equal(result["reason"], "oom", "reason")
        # The OOM killer may end a process of the command alone; its shell exits then.
        result = box.json("--memory", "64M", "-c", f"{PYTHON} -c 'x = bytearray(400 << 20)'; exit $?")
        equal([result["reason"], result["exit_code"], result["signal"]], ["oom", None, 9], "the signal of the OOM killer")
        equal(box.json("--memory", "400M", "-c", script % 1)["reason"], "exit", "with enough")

    @test("--cpus bounds processors", root=True, user=False)
    def _(box):
        words = ("--", "/bin/sh", "-c", f"timeout 1 {PYTHON} -c 'while True: pass'; exit 0")
        result = box.json("--cpus", "0.2", *words)
        if guarantee(result, "limits.cpu")["state"] != "enforced":
            raise Skip("no cpu controller")
        check(result["usage"]["cpu_ms"] < 0.6 * result["duration_ms"], f"{result['usage']} in {result['duration_ms']} ms with 0.2")

    @test("--tmp-size bounds the private /tmp", root=True)
    def _(box):
        done = box.run("--tmp-size", "1M", "-c", "head -c 3000000 /dev/zero >/tmp/big; wc -c </tmp/big").exited(0)
        contains(done.err, "No space left", "the error of the command")
        check(int(done.out) <= 1 << 20, f"{done.out} bytes")
        box.run("--tmp-size", "8M", "-c", "head -c 3000000 /dev/zero >/tmp/big").exited(0)

    @test("all private directories share one size")
    def _(box):
        done = box.run("--tmp-size", "2M", "-c", "for d in /tmp /var/tmp /dev/shm /run; do "
                       "head -c 1500000 /dev/zero >$d/big || echo full; done")
        check(done.out.count("full") >= 2, f"{done}")

    @test("the private /tmp is empty at each run and invisible outside", root=True)
    def _(box):
        name = f"inside-{os.path.basename(box.dir)}"
        box.run("-c", f"touch /tmp/{name} /dev/shm/{name}").exited(0)
        equal(box.run("-c", "ls -A /dev/shm; ls /tmp | grep inside-").out, "", "nothing is carried over")
        for top in ("/tmp", "/dev/shm"):
            if os.path.exists(f"{top}/{name}"):
                os.unlink(f"{top}/{name}")
                check(False, f"it was written to the host's {top}")

    @test("no core file is written")
    def _(box):
        equal(box.run("-c", "ulimit -c").out, "0\n", "ulimit -c")

    @test("processor time of a run counts for who waits for it, at both levels", root=True)
    def _(box):
        watch = ("import os, subprocess, sys; done = subprocess.run(sys.argv[1:]).returncode; spent = os.times(); "
                 "print(spent.children_user + spent.children_system); sys.exit(done)")
        spin = "import time\nwhile time.process_time() < 0.2: pass"
        # An orphan of the command's counts as well.
        script = f"(/usr/bin/python3 -c '{spin}' & wait) & wait; exit 3"
        for level in ("full", "standard"):
            for more in ((), ("--net", "filtered", "--allow-host", "host.example")):
                done = box.execute(["/usr/bin/python3", "-c", watch, box.corral, "run", "--level", level, *more, "-c", script])
                check(float(done.exited(3).out) >= 0.19, f"{level} {more}: {done.out}")
