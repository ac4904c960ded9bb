# SPDX-License-Identifier: Apache-2.0
"""Limits where no control group can be made: they are sampled, and a run that exceeds one is killed."""
import os
import signal
import time

from harness import Skip, check, contains, equal, wait_until

PYTHON = "/usr/bin/python3"
LEVELS = ("full", "standard")
# Far longer than any sample takes; a test ends when the run is killed.
LONG = 60

KEEP = f"import sys, time; x = bytearray(int(sys.argv[1]) << 20); time.sleep({LONG})"
SHARED = """
import mmap, os, sys, time
m = mmap.mmap(-1, 40 << 20)
for at in range(0, 40 << 20, 4096):
    m[at] = 1
pids = []
for i in range(6):
    pid = os.fork()
    if pid == 0:
        sum(m[at] for at in range(0, 40 << 20, 4096))
        time.sleep(1)
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
print("fine")
"""
# The limits of the caller's groups hold as well; what is not there cannot be used.
WITHOUT_GROUPS = ["unshare", "-m", "/bin/sh", "-ec", 'mount -t tmpfs none /sys/fs/cgroup; exec "$@"', "sh"]


def guarantee(result, name):
    return {g["name"]: g for g in result["guarantees"]}[name]


def words_of(box, *words):
    return [*(WITHOUT_GROUPS if box.user.uid == 0 else []), box.corral, "run", "--json", *words]


def sampled(box, name, *words):
    """The result of a run whose limit of this name is sampled."""
    result = box.execute(words_of(box, *words), timeout=LONG + 30).json
    state = guarantee(result, name)
    if state["state"] == "enforced":
        raise Skip(f"this user has a control group: {state}")
    equal(state["state"], "weaker", name)
    return result


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def leads_session(pid):
    """A sampler does; the early process of linux/early.h does not, and may still be a zombie when the command begins."""
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def sampler_of(supervisor):
    """Of the supervisor's children the one that has none; None while they are being made."""
    own = children(supervisor)
    idle = [pid for pid in own if not children(pid)]
    return idle[0] if len(own) == 2 and len(idle) == 1 and leads_session(idle[0]) else None


def register(suite):
    test = suite.test

    @test("--memory without a control group ends a run that keeps too much", root=True)
    def _(box):
        for level in LEVELS:
            result = sampled(box, "limits.memory", "--level", level, "--memory", "64M", "--", PYTHON, "-c", KEEP, "300")
            equal([result["reason"], result["signal"], result["exit_code"]], ["oom", 9, None], f"{level}: {result}")
            contains(guarantee(result, "limits.memory")["why"], "sampled every 5 to 100 ms", level)
            contains(guarantee(result, "limits.memory")["why"], "not counted: memory that no process maps", level)
            # Nobody waited for the command: the usage of the sandbox's own process is not its own.
            equal([result["usage"]["cpu_ms"], result["usage"]["max_rss_kb"]], [None, None], f"{level}: usage")
            words = [word for word in words_of(box, "-v", "--level", level, "--memory", "1G", "true") if word != "--json"]
            contains(box.execute(words).exited(0).err, "limits.memory is weaker: sampled", f"{level}: -v")
            result = sampled(box, "limits.memory", "--level", level, "--memory", "1G", "echo", "fine")
            equal([result["reason"], result["stdout"]], ["exit", "fine\n"], level)

    @test("--memory without a control group counts all processes together", root=True)
    def _(box):
        script = f"for i in 1 2 3 4; do {PYTHON} -c '{KEEP}' 40 & done; wait"
        for level in LEVELS:
            result = sampled(box, "limits.memory", "--level", level, "--memory", "100M", "-c", script)
            equal(result["reason"], "oom", level)

    @test("--memory without a control group counts shared memory once", root=True)
    def _(box):
        for level in LEVELS:
            result = sampled(box, "limits.memory", "--level", level, "--memory", "150M", "--", PYTHON, "-c", SHARED)
            equal([result["reason"], result["stdout"]], ["exit", "fine\n"], f"{level}: {result['stderr']}")

    @test("a limit that was exceeded is told with its value and its option", root=True)
    def _(box):
        rows = (("--memory", "64M", ["--", PYTHON, "-c", KEEP, "300"], "the memory limit of 64.0 MiB: a sample found "),
                ("--disk", "8M", ["-c", f"head -c 30000000 /dev/zero >big; sleep {LONG}"], "the limit of 8.0 MiB on disk space: "))
        for option, value, words, said in rows:
            argv = [word for word in words_of(box, option, value, *words) if word != "--json"]
            done = box.execute(argv, timeout=LONG + 30).exited(137)
            contains(done.err, said, "the limit and its value")
            contains(done.err, f"(raise it with {option})", "the remedy")

    @test("--processes at level standard ends a run that keeps too many", root=True)
    def _(box):
        script = f"for i in $(seq 60); do sleep {LONG} & done; wait; echo survived"
        words = ("--level", "standard", "--processes", "30")
        result = sampled(box, "limits.processes", *words, "-c", script)
        equal([result["reason"], result["stdout"]], ["limit", ""], f"{result}")
        contains(guarantee(result, "limits.processes")["why"], "sampled every 10 to 100 ms", "as linux/sample_interval.h has it")
        result = sampled(box, "limits.processes", *words, "-c", "for i in $(seq 20); do sleep 0.3 & done; wait; echo fine")
        equal([result["reason"], result["stdout"]], ["exit", "fine\n"], f"{result}")

    @test("--processes at level standard also limits all processes of the user, so that a fork bomb leaves the sampler a processor")
    def _(box):
        if box.user.uid == 0:
            raise Skip("the kernel applies RLIMIT_NPROC to no process of root")
        script = "import resource; print(*resource.getrlimit(resource.RLIMIT_NPROC))"
        soft, hard = map(int, sampled(box, "limits.processes", "--level", "standard", "--processes", "30", "--", PYTHON, "-c",
                                      script)["stdout"].split())
        equal(soft, hard, "the command cannot raise it")
        check(30 + 512 < soft < 30 + 512 + 4096, f"30, what the user has, and room for others: {soft}")
        plain = box.json("--level", "standard", "--", PYTHON, "-c", script)["stdout"].split()
        equal(plain, box.sh(f"{PYTHON} -c '{script}'").out.split(), "without the option")

    @test("the built-in number of processes is not sampled")
    def _(box):
        result = box.json("--level", "standard", "-c", f"exec {PYTHON} -c 'import os; print(os.getppid())'")
        state = guarantee(result, "limits.processes")
        check(state["state"] != "weaker", f"{state}")

    @test("--disk ends a run that adds too much to what it may write", root=True)
    def _(box):
        os.makedirs(f"{box.dir}/more", exist_ok=True)
        os.chown(f"{box.dir}/more", box.user.uid, box.user.gid)
        box.write("ws/before", "x" * 20_000_000)
        for level in LEVELS:
            for place in ("new", "sub/new", "$HOME/new", f"{box.dir}/more/new"):
                script = f"mkdir -p sub; head -c 30000000 /dev/zero >{place}; sleep {LONG}; echo survived"
                result = box.execute([box.corral, "run", "--json", "--level", level, "--disk", "8M", "--write", f"{box.dir}/more",
                                      "-c", script], timeout=LONG + 30).json
                equal([result["reason"], result["stdout"]], ["limit", ""], f"{level} {place}")
                equal(guarantee(result, "limits.disk")["state"], "weaker", "state")
                box.sh("rm -rf new sub").exited(0)
                box.run("-c", "rm -f $HOME/new").exited(0)
                box.sh(f"rm -f {box.dir}/more/new").exited(0)
            done = box.run("--level", level, "--disk", "8M", "-c", "rm before; head -c 20000000 /dev/zero >before; echo fine")
            equal(done.exited(0).out, "fine\n", "what replaces as much is no growth")

    @test("--disk counts what a run with --cow keeps apart")
    def _(box):
        result = box.json("--cow", "--disk", "8M", "-c", f"head -c 30000000 /dev/zero >new; sleep {LONG}", timeout=LONG + 30)
        equal(result["reason"], "limit", f"{result}")
        check(not box.exists("ws/new"), "it was written to the workspace")
        box.corral_("discard", "--all")

    @test("--cpus without a control group pins the command, which cannot undo it", root=True)
    def _(box):
        if len(os.sched_getaffinity(0)) < 2:
            raise Skip("one processor")
        every = sorted(os.sched_getaffinity(0))
        code = ("import os\nprint(len(os.sched_getaffinity(0)))\n"
                f"for who in (0, os.getpid()):\n  try:\n    os.sched_setaffinity(who, {every})\n"
                "  except OSError as error:\n    print(error.errno)\nprint(len(os.sched_getaffinity(0)))")
        for level in LEVELS:
            result = sampled(box, "limits.cpu", "--level", level, "--cpus", "1", "--", PYTHON, "-c", code)
            equal(result["stdout"], "1\n1\n1\n1\n", f"{level}: {result}")
            argv = [word for word in words_of(box, "--level", level, "--cpus", "0.5", "nproc") if word != "--json"]
            done = box.execute(argv).exited(0)
            equal(done.out, "1\n", "a part of a processor is a whole one")
            contains(done.err, "rounded up", "and that is said")

    @test("a run whose sampler is killed is ended", root=True)
    def _(box):
        for level in LEVELS:
            argv = words_of(box, "--level", level, "--memory", "1G", "sh", "-c", f": >began; exec sleep {LONG}")
            process = box.start(argv)
            check(wait_until(lambda: box.exists("ws/began")), f"{level}: the command does not begin")
            os.remove(f"{box.ws}/began")
            until = time.monotonic() + LONG
            while (victim := sampler_of(process.pid)) is None and time.monotonic() < until:
                time.sleep(0.05)
            if victim is None:
                raise Skip("this user has a control group")
            os.kill(victim, signal.SIGKILL)
            out, _ = process.communicate(timeout=LONG)
            contains(out.decode(), '"reason":"limit"', level)

    @test("a run that is sampled leaves no process behind", root=True)
    def _(box):
        for level in LEVELS:
            sampled(box, "limits.memory", "--level", level, "--memory", "1G", "--disk", "1G", "true")
            equal(box.strays(), [], "processes that are left")
