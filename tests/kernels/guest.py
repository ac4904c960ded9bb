#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside a test machine, started by init: the escape rows and the control groups, on this kernel.

What it finds is one line on the console, REPORT and a JSON object; run.py, which
started the machine, reads it there.  How each configuration of the machine is
made is MODES; a configuration that this kernel or this corral does not have is
reported with its reason and without rows.
"""
import collections
import ctypes
import fcntl
import json
import os
import platform
import pwd
import socket
import struct
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import calls  # noqa: E402  the path has to be set first
import quotas  # noqa: E402

REPORT = "CORRAL-KERNEL-REPORT "
USER = "agent"
ESCAPE = "/corral/tests/escape/run.py"
LANDLOCK_CREATE_RULESET = 444  # the same number on every architecture
PLACE = "/srv/place"
CALLERS = ("user", "root")

# name, options of corral, the ceiling of user namespaces
MODES = (
    ("as it comes", (), None),
    ("--level standard", ("--level", "standard"), None),
    ("without user namespaces", (), "0"),
)
MOUNTS = (
    ("proc", "/proc", "proc", ""), ("sysfs", "/sys", "sysfs", ""), ("devpts", "/dev/pts", "devpts", "gid=5,mode=620,ptmxmode=666"),
    ("tmpfs", "/dev/shm", "tmpfs", "mode=1777"), ("tmpfs", "/run", "tmpfs", "mode=755"), ("tmpfs", "/tmp", "tmpfs", "mode=1777"),
    ("mqueue", "/dev/mqueue", "mqueue", ""), ("cgroup2", "/sys/fs/cgroup", "cgroup2", ""),
)


def read_all():
    """All files of the disk, once.  It answers in the time of the host, in which the machine's clock leaps by seconds."""
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if not os.path.ismount(os.path.join(folder, name))]
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb", buffering=0) as source:
                    while source.read(1 << 20):
                        pass


def set_up():
    read_all()
    libc = ctypes.CDLL(None, use_errno=True)
    for source, target, kind, options in MOUNTS:
        os.makedirs(target, exist_ok=True)
        if libc.mount(source.encode(), target.encode(), kind.encode(), 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), f"mount {target}")
    os.environ.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LANG="C.UTF-8")
    quotas.write("/proc/sys/kernel/printk", "1 1 1 1")
    subprocess.run(["modprobe", "loop"], check=False)  # its device, which systemd makes, is what would load it
    socket.sethostname("machine")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:  # the loopback: SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 1))
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(target, f"/dev/{name}")
    user = pwd.getpwnam(USER)
    os.chown(user.pw_dir, user.pw_uid, user.pw_gid)
    os.makedirs(PLACE)
    os.chown(PLACE, user.pw_uid, user.pw_gid)
    quotas.hand_over(user.pw_uid)
    quotas.enter(f"{quotas.SESSION}/leaf")
    return user


def landlock_abi():
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1))


def corral(*words, uid=0):
    """(status, what it printed as JSON or None, what it complained of)."""
    who = {} if uid == 0 else {"user": uid, "group": uid, "extra_groups": []}
    done = subprocess.run([quotas.CORRAL, *words], cwd=PLACE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=quotas.environment(uid), timeout=quotas.BOUND,
                          check=False, **who)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    return done.returncode, answer, done.stderr.decode(errors="replace").strip()[-300:]


def explain(options, uid):
    """What corral says it would do: level, engine, each guarantee; or why it would not."""
    status, answer, said = corral("explain", "--no-config", "--json", *options, "--", "true", uid=uid)
    if answer is None or "plan" not in answer:
        return {"error": said or f"status {status}"}
    plan = answer["plan"]
    return {"level": plan["level"], "engine": plan["engine"], "landlock_abi": plan.get("landlock_abi"),
            "guarantees": {g["name"]: g["state"] for g in plan["guarantees"]}}


def self_test(options, uid):
    """What corral's own test of the host found."""
    status, answer, said = corral("test", "--no-config", "--json", *options, uid=uid)
    if answer is None:
        return {"status": status, "said": said}
    failed = [f"{check['name']}: {check['reason']}" for check in answer["checks"] if check["state"] in ("fail", "skip")]
    return {"status": status, "counts": answer["counts"], "failed": failed, "level": answer["level"]}


def said_level(uid):
    """The level that corral reports without having been asked for one."""
    status, answer, said = corral("status", "--json", uid=uid)
    return {"status": status, "said": said, "level": answer and answer["level"]}


def escape(options, caller, wanted):
    """The quick rows as one caller: counts, and every row that was not contained."""
    path = f"/run/{caller}.jsonl"
    argv = ["/usr/bin/python3", ESCAPE, "--corral", quotas.CORRAL, "--probe", quotas.PROBE, "--quick", "--user", USER,
            "--as", caller, "--report", path, "--jobs", "1", *options]
    argv += ["--families"] if wanted.get("rows") != "quick" else []
    argv += [word for name in ("only", "sample", "begin") if name in wanted for word in (f"--{name}", wanted[name])]
    start = time.monotonic()
    status = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    if not os.path.exists(path):
        raise RuntimeError(f"the escape suite judged nothing and ended with status {status}")
    with open(path, encoding="utf-8") as source:
        answers = [json.loads(line) for line in source]
    os.unlink(path)
    return {
        "caller": caller, "status": status, "seconds": round(time.monotonic() - start),
        "rows": len(answers), "counts": collections.Counter(answer["result"] for answer in answers),
        "others": [[answer[key] for key in ("id", "result", "reason")] for answer in answers
                   if answer["result"] not in ("CONTAINED", "LIMIT")],
    }


def same(plan, number, uid):
    """An earlier configuration of the same machine with the same plan, or None: it is judged there."""
    for name, options, ceiling in MODES[:number]:
        if ceiling is None and explain(options, uid) == plan:
            return name
    return None


def judge_mode(number, user, arguments):
    name, options, ceiling = MODES[number]
    if ceiling is not None:
        quotas.write("/proc/sys/user/max_user_namespaces", ceiling)
    callers = {"user": user.pw_uid, "root": 0}
    found = {"name": name, "callers": {}}
    for caller in CALLERS:
        plan = explain(options, callers[caller])
        answer = found["callers"][caller] = {"plan": plan}
        answer["same"] = same(plan, number, callers[caller]) if ceiling is None else None
        if answer["same"] or "error" in plan:
            continue
        if int(arguments.get("begin", 0)) == 0:  # once, however many machines share the rows
            answer["test"] = self_test(options, callers[caller])
            answer["status"] = None if options else said_level(callers[caller])
            answer["quotas"] = quotas.Quotas(callers[caller], options, PLACE).judge()
        # The rows have to know which engine they judge, however it came to be chosen.
        asked = ("--level", "standard") if plan["engine"] == "landlock" else options
        answer["escape"] = escape(asked, caller, arguments)
    return found


def arguments_of_machine():
    """corral.NAME=VALUE on the kernel's command line."""
    with open("/proc/cmdline", encoding="utf-8") as source:
        words = source.read().split()
    return dict(word[len("corral."):].split("=", 1) for word in words if word.startswith("corral.") and "=" in word)


def report(user):
    arguments = arguments_of_machine()
    start = time.monotonic()
    found = {
        "release": platform.release(), "machine": platform.machine(), "landlock_abi": landlock_abi(),
        "calls": calls.present(arguments.get("holes", "")), "modes": [judge_mode(int(arguments["mode"]), user, arguments)],
    }
    found["seconds"] = round(time.monotonic() - start)
    return found


def main():
    try:
        found = report(set_up())
    except Exception:  # whatever it is, the console is the only place where it can be said
        found = {"broken": traceback.format_exc()}
    print("\n" + REPORT + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
