# SPDX-License-Identifier: Apache-2.0
"""What a process inherits from a privileged caller: none of it reaches the command."""
import ctypes
import json
import os
import resource
import signal

from harness import Skip, check, equal

LIBC = ctypes.CDLL(None, use_errno=True)
ADDR_COMPAT_LAYOUT, MMAP_PAGE_ZERO, ADDR_NO_RANDOMIZE, PER_LINUX32 = 0x0200000, 0x0100000, 0x0040000, 0x0008
PR_SET_MEMORY_MERGE = 67

# Printed by the command, and outside for the control.
SHOW = """
import ctypes, json, os, resource
libc = ctypes.CDLL(None)
print(json.dumps({
    "policy": os.sched_getscheduler(0),
    "nice": os.getpriority(os.PRIO_PROCESS, 0),
    "oom": int(open("/proc/self/oom_score_adj").read()),
    "dump": int(open("/proc/self/coredump_filter").read(), 16),
    "personality": libc.personality(0xffffffff),
    "merge": int("ksm_merge_any: yes" in open("/proc/self/ksm_stat").read()),
    "rtprio": resource.getrlimit(resource.RLIMIT_RTPRIO)[1],
    "nicelimit": resource.getrlimit(resource.RLIMIT_NICE)[1],
    "memlock": resource.getrlimit(resource.RLIMIT_MEMLOCK)[1],
    "affinity": sorted(os.sched_getaffinity(0)),
    "ignored": [n for n in (1, 10, 12, 15, 37, 64)
                if int(open("/proc/self/status").read().split("SigIgn:")[1].split()[0], 16) >> (n - 1) & 1],
}))
"""


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)


def ignore(*numbers):
    def prepare():
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
    return prepare


def raise_limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def merge():
    if LIBC.prctl(PR_SET_MEMORY_MERGE, 1, 0, 0, 0) != 0:
        raise OSError("PR_SET_MEMORY_MERGE")


# Name, what the caller does, the key, the value outside (None: any), the value inside.
ROWS = [
    ("signals that are ignored", ignore(1, 10, 37, 64), "ignored", [1, 10, 37, 64], []),
    ("SCHED_FIFO", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)), "policy", 1, 0),
    ("SCHED_RR", lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10)), "policy", 2, 0),
    ("SCHED_RR that ends at fork",
     lambda: os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(10)),
     "policy", 2 | 0x40000000, 0),
    ("SCHED_BATCH, which stays", lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)), "policy", 3, 3),
    ("a negative nice value", lambda: os.setpriority(os.PRIO_PROCESS, 0, -7), "nice", -7, 0),
    ("a positive nice value, which stays", lambda: os.setpriority(os.PRIO_PROCESS, 0, 7), "nice", 7, 7),
    ("a negative oom_score_adj", lambda: write("/proc/self/oom_score_adj", "-500"), "oom", -500, 0),
    ("a positive oom_score_adj, which stays", lambda: write("/proc/self/oom_score_adj", "300"), "oom", 300, 300),
    ("the core dump filter", lambda: write("/proc/self/coredump_filter", "0x7f"), "dump", 0x7f, 0),
    ("old address layouts", lambda: LIBC.personality(ADDR_COMPAT_LAYOUT | MMAP_PAGE_ZERO),
     "personality", ADDR_COMPAT_LAYOUT | MMAP_PAGE_ZERO, 0),
    ("fixed addresses, which a command may choose", lambda: LIBC.personality(ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT),
     "personality", ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT, ADDR_NO_RANDOMIZE),
    ("a 32-bit personality", lambda: LIBC.personality(PER_LINUX32), "personality", PER_LINUX32, 0),
    ("merged memory pages", merge, "merge", 1, 0),
    ("RLIMIT_RTPRIO", raise_limit(resource.RLIMIT_RTPRIO, 50), "rtprio", 50, 0),
    ("RLIMIT_NICE", raise_limit(resource.RLIMIT_NICE, 30), "nicelimit", 30, 0),
    ("RLIMIT_MEMLOCK", raise_limit(resource.RLIMIT_MEMLOCK, 1 << 30), "memlock", 1 << 30, 8 << 20),
    ("a small RLIMIT_MEMLOCK, which stays", raise_limit(resource.RLIMIT_MEMLOCK, 1 << 16), "memlock", 1 << 16, 1 << 16),
    ("processor affinity, which stays", lambda: os.sched_setaffinity(0, {0}), "affinity", [0], [0]),
]


def launcher(raise_it, user):
    """As root, in the process that becomes the caller."""
    def prepare():
        raise_it()
        if user.drop:
            os.setgroups([])
            os.setresgid(user.gid, user.gid, user.gid)
            os.setresuid(user.uid, user.uid, user.uid)
    return prepare


def show(box, raise_it, *words):
    try:
        done = box.execute([*words, "/usr/bin/python3", "-c", SHOW], user=None, group=None, extra_groups=None,
                           preexec_fn=launcher(raise_it, box.user))
    except Exception as error:  # subprocess tells no more of what failed in the child
        raise Skip("this host does not let root raise it") from error
    return json.loads(done.exited(0).out)


def register(suite):
    if not suite.root:
        return
    for name, raise_it, key, outside, inside in ROWS:
        @suite.test(f"of a caller's: {name}", root=True)
        def _(box, raise_it=raise_it, key=key, outside=outside, inside=inside):
            equal(show(box, raise_it)[key], outside, "control")
            for level in ("full", "standard"):
                equal(show(box, raise_it, box.corral, "run", "--level", level, "--")[key], inside, level)

    @suite.test("a caller that is not dumpable loses them as well", root=True)
    def _(box):
        secret = f"{box.dir}/corral-x"  # a program that cannot be read is not dumpable
        box.execute(["/bin/cp", box.corral, secret], user=None, group=None, extra_groups=None).exited(0)
        os.chmod(secret, 0o711)
        os.chown(secret, 0, 0)
        for level in ("full", "standard"):
            found = show(box, lambda: write("/proc/self/coredump_filter", "0x7f"), secret, "run", "--level", level, "--")
            equal(found["dump"], 0, level)

    @suite.test("a caller with few descriptors has as many grants as another", root=True)
    def _(box):
        names = [f"{box.dir}/grant-{n}" for n in range(60)]
        grants = [word for name in names for word in ("--read", name)]
        for name in names:
            os.mkdir(name)
        for most in (40, 1024):
            few = raise_limit(resource.RLIMIT_NOFILE, most)
            done = box.execute([box.corral, "run", "--level", "full", *grants, "--", "/bin/sh", "-c",
                                'ls -d "$1"/grant-* | wc -l; ls /proc/self/fd', "sh", box.dir],
                               user=None, group=None, extra_groups=None, preexec_fn=launcher(few, box.user))
            equal(done.exited(0).out.split(), ["60", "0", "1", "2", "3"], f"limit {most}")

    @suite.test("core dumps that go to a socket and cannot be emptied: no run", user=False, root=True)
    def _(box):
        script = ('mount --bind "$1" /proc/sys/kernel/core_pattern && mount -o remount,bind,ro /proc && shift && '
                  'exec "$@"')
        for pattern, status in (("core", 0), ("|/usr/lib/handler", 0), ("@/run/dumps.socket", 125)):
            file = box.write("pattern", pattern + "\n")
            done = box.execute(["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, "sh", file,
                                box.corral, "run", "--level", "standard", "--", "true"])
            if "mount:" in done.err or "unshare:" in done.err:
                raise Skip("no mount namespace can be made here")
            done.exited(status)
            check(status == 0 or "core dumps go to a socket" in done.err, f"{done}")
