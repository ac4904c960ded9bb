# SPDX-License-Identifier: Apache-2.0
"""The pool of waiting sandboxes: who gets one, what it runs, and that it is the cold run's sandbox."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess

from service import check, children, equal, wait_until

SETS = ("--set", "daemon.pool=2")


def keepers(service):
    """The processes that keep a pool of this daemon's user; their sandboxes have pid namespaces of their own."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                name = file.read().strip()
            if (name == "corral-pool" and os.stat(f"/proc/{pid}").st_uid == service.uid
                    and os.readlink(f"/proc/{pid}/ns/pid") == os.readlink("/proc/self/ns/pid")):
                found.append(int(pid))
    return found


def sockets(service):
    return os.listdir(f"{service.place}/run/corral/p")


def waiting(service):
    """The number of sandboxes that wait for a command: their last process is in recvmsg(2)."""
    calls = {"x86_64": "47 ", "aarch64": "212 "}[os.uname().machine]
    found = 0
    for pid in set().union(*(children(keeper) for keeper in keepers(service))):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
                found += file.read().startswith(calls)
    return found


def pooled(service, *words, more=()):
    """The result of a run that may use the pool, whatever its status."""
    _, out, err = service.run("run", "--json", "--level", service.level, *SETS, *more, "--", *words)
    check(out, err)
    return json.loads(out)


def warm(service, *words, more=()):
    """The same, of a run in a sandbox of the pool."""
    got = {}

    def served():
        got.update(pooled(service, *words, more=more))
        return got["warm"]
    check(wait_until(served), "no run was served by the pool")
    return got


def fill(service, more=()):
    """Runs until a sandbox of the pool has served one; False at a level that the pool does not serve."""
    if service.level != "full":
        return False
    warm(service, "true", more=more)
    return True


def waits(service, more=()):
    """A sandbox waits, so that a cold run after this is one by decision."""
    warm(service, "true", more=more)
    check(os.geteuid() != 0 or wait_until(lambda: waiting(service) >= 1), "no sandbox waits")


def empty(service):
    """Ends the keepers, so that the next test begins without a pool."""
    for pid in keepers(service):
        os.kill(pid, signal.SIGKILL)
    check(wait_until(lambda: not keepers(service) and not sockets(service)), "a keeper or its socket is left")


def test_a_waiting_sandbox_gives_the_result_of_a_cold_run(service):
    """J1, J7: the same report but for times and ids; at another level the run is cold."""
    script = "cat; pwd; id -u; echo oops >&2; echo x >made; touch ../ws2/no 2>/dev/null; umask; ulimit -n; env | sort | grep -v -e _ID= -e _SESSION; exit 7"
    reads = ("--read", f"{service.place}/ws2")
    words = ("run", "--json", "--stdin", "--level", service.level, *reads)

    def result(*more):
        status, out, err = service.run(*words, *more, "--", "sh", "-c", script, data=b"given\n")
        equal(status, 7, err)
        return json.loads(out)
    pool, cold, served = fill(service, reads), result(), {}
    check(wait_until(lambda: served.update(result(*SETS)) or served["warm"] == pool), "the pool served no run, or one at another level")
    equal(cold["warm"], False, "a run without the key")
    for name in set(cold) - {"id", "started", "duration_ms", "usage", "policy_sha256", "warm"}:
        equal(served[name], cold[name], name)
    check(served["denials"] or service.level != "full", "no refusal was recorded")
    equal(served["usage"]["max_rss_kb"] is None, cold["usage"]["max_rss_kb"] is None, "usage")
    os.unlink(f"{service.workspace}/made")
    empty(service)


def test_each_sandbox_runs_one_command(service):
    """J2: nothing of one run is in the next, though both came from the pool."""
    if not fill(service):
        return
    seen = []
    for number in range(6):
        seen.append(warm(service, "sh", "-c", f"ls /tmp | grep left; echo >/tmp/left{number}; echo $$")["stdout"].splitlines())
    check(all(len(lines) == 1 for lines in seen), f"files of an earlier run: {seen}")
    equal({lines[0] for lines in seen}, {"2"}, "the command is the first process after pid 1")
    empty(service)


def test_a_run_with_other_attributes_is_cold(service):
    """J1: a limit, a priority, a umask, a policy or a file that the caller does not share with the keeper."""
    if not fill(service):
        return
    word = ["run", "--json", "--level", service.level, *SETS, "--", "true"]
    for change in ("ulimit -t 1000", "umask 0077", "nice -n 3", "taskset 1", "ionice -c 3", "prlimit --nproc=4000:4000"):
        waits(service)
        prefix = change if change.split()[0] in ("nice", "taskset", "ionice", "prlimit") else f"{change};"
        status, out, err = service.outside(["sh", "-c", f'{prefix} "$@"', "sh", service.corral, *word])
        equal(status, 0, f"{change}: {err}")
        equal(json.loads(out)["warm"], False, change)
    waits(service)
    equal(pooled(service, "true", more=("--timeout", "77"))["warm"], False, "another policy")
    empty(service)


def test_a_name_that_appears_is_protected_as_in_a_cold_run(service):
    """J1: a .git that is made while sandboxes wait."""
    if not fill(service):
        return
    waits(service)
    os.makedirs(f"{service.workspace}/.git/hooks")
    os.chown(f"{service.workspace}/.git", service.uid, -1)
    os.chown(f"{service.workspace}/.git/hooks", service.uid, -1)
    got = pooled(service, "sh", "-c", "echo evil >.git/hooks/pre-commit")
    check(not got["warm"] and got["exit_code"] != 0, f"the hook was written: {got}")
    check(not os.path.exists(f"{service.workspace}/.git/hooks/pre-commit"), "the hook is on the host")
    os.rmdir(f"{service.workspace}/.git/hooks")
    os.rmdir(f"{service.workspace}/.git")
    empty(service)


def test_a_masked_file_that_was_replaced_twice_is_not_shown(service):
    """J4: the keeper holds the inode, so its number does not come back."""
    secret = f"{service.workspace}/secret"

    def write(text):
        with open(f"{secret}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.chown(f"{secret}.new", service.uid, -1)
        os.rename(f"{secret}.new", secret)
    write("first")
    more = ("--deny", secret)
    if fill(service, more):
        for number in range(4):
            waits(service, more)
            write(f"value{number}")
            write(f"value{number} again")
            got = pooled(service, "cat", secret, more=more)
            check(got["exit_code"] != 0 and "value" not in got["stdout"], f"a denied file was read: {got}")
        empty(service)
    os.unlink(secret)


def test_a_mount_ends_the_pool(service):
    """J4: a file system that the host mounts is there in the next run."""
    if os.geteuid() != 0 or not fill(service):
        return
    place = f"{service.workspace}/mounted"
    os.mkdir(place)
    waits(service)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        with open(f"{place}/file", "w", encoding="utf-8") as file:
            file.write("there")
        got = pooled(service, "cat", "mounted/file")
        equal((got["stdout"], got["warm"]), ("there", False), "a file on the new mount")
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        os.rmdir(place)
    empty(service)


def test_limits_and_signals_reach_a_warm_command(service):
    if not fill(service, ("--timeout", "1")):
        return
    got = warm(service, "sleep", "60", more=("--timeout", "1"))
    equal(got["reason"], "timeout", "the time-out")
    check(got["duration_ms"] >= 900, f"the time-out, since the start of the command: {got['duration_ms']} ms")
    fill(service)
    process = begin(service, "trap 'exit 9' TERM; echo on; while :; do sleep 0.05; done")
    process.send_signal(signal.SIGTERM)
    process.communicate()
    equal(process.returncode, 9, "a forwarded signal")
    empty(service)


def test_a_warm_command_ends_with_its_caller_and_outlives_the_keeper(service):
    """J5."""
    if not fill(service):
        return
    for victim in ("keeper", "caller"):
        mark = f"812{len(victim)}.{os.getpid()}"
        process = begin(service, f"sleep {mark} & echo on; wait; echo off")
        if victim == "keeper":
            empty(service)
            check(running(mark), "the command ended with the keeper")
            os.kill(running(mark)[0], signal.SIGTERM)
            equal(process.communicate()[0], b"off\n", "the rest of the command")
            equal(process.returncode, 0, "its end")
        else:
            process.kill()
            process.communicate()
            check(wait_until(lambda: not running(mark)), "the command outlives its caller")
    empty(service)


def begin(service, script):
    """A command in a sandbox of the pool: pid 1 is a child of the keeper, not of the caller."""
    words = ("run", "--level", service.level, *SETS, "--")
    found = []

    def begun():
        service.good(*words, "true")  # a person's run, which has another policy than a tool call
        process = service.command(*words, "sh", "-c", script)
        equal(process.stdout.readline(), b"on\n", "the command runs")
        if children(process.pid):
            process.kill()
            process.communicate()
        else:
            found.append(process)
        return found
    check(wait_until(begun), "no run was served by the pool")
    return found[0]


def running(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[:2] == [b"sleep", mark.encode()]:
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def test_a_keeper_has_nothing_of_its_run(service):
    """Its streams, arguments and environment; other users cannot connect."""
    if not fill(service, ("--set", "env.set=A=hidden-value")):
        return
    for pid in keepers(service):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                text = file.read()
                check(b"--json" not in text and b"XDG_" not in text and b"hidden" not in text, f"{name}: {text!r}")
        links = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in range(3)}
        equal(links, {"/dev/null"}, "its streams")
    for name in sockets(service):
        equal(os.stat(f"{service.place}/run/corral/p/{name}").st_mode & 0o077, 0, "the mode of the socket")
    empty(service)


def test_another_user_gets_no_sandbox(service):
    """J3: root may connect, but is not the user of the keeper."""
    if service.uid == 0 or os.geteuid() != 0 or not fill(service):
        return
    waits(service)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(f"{service.place}/run/corral/p/{sockets(service)[0]}")
        client.settimeout(10)
        equal(client.recv(4096), b"", "the answer to another user")
    empty(service)


def test_a_caller_in_a_landlock_domain_runs_cold(service):
    """J3: the keeper is not in the domain, so its sandboxes are not."""
    if not fill(service):
        return
    confine = ("import ctypes, os, struct, sys\n"
               "libc = ctypes.CDLL(None, use_errno=True)\n"
               "libc.prctl(38, 1, 0, 0, 0)\n"
               "attr = struct.pack('Q', 1 << 8)\n"  # LANDLOCK_ACCESS_FS_MAKE_REG: no rule, so it is refused everywhere
               "fd = libc.syscall(444, attr, len(attr), 0)\n"
               "sys.exit(77) if fd < 0 or libc.syscall(446, fd, 0) != 0 else None\n"
               "os.execv(sys.argv[1], sys.argv[1:])\n")
    waits(service)
    words = [service.corral, "run", "--level", "full", *SETS, "--", "sh", "-c"]
    status, _, err = service.outside(["/usr/bin/python3", "-c", confine, *words, "echo >escaped"])
    check(status not in (0, 77), f"a confined caller: {status} {err}")
    check(not os.path.exists(f"{service.workspace}/escaped"), "the command left the caller's Landlock domain")
    empty(service)


def test_the_pool_ends_with_the_daemon(service):
    """J6: also when the daemon is killed."""
    if not fill(service):
        return
    for end in (signal.SIGTERM, signal.SIGKILL):
        waits(service)
        check(keepers(service), "there is no keeper")
        service.process.send_signal(end)
        service.process.wait()
        check(wait_until(lambda: not keepers(service)), f"{end.name}: a keeper is left")
        equal(pooled(service, "echo", "cold")["stdout"], "cold\n", "a run without a daemon")
        equal(keepers(service), [], "a keeper without a daemon")
        service.start()
    empty(service)


def test_many_runs_at_once(service):
    if not fill(service):
        return
    crowd = [service.command("run", "--json", "--level", service.level, *SETS, "--", "sh", "-c", f"echo {n}; sleep 0.1") for n in range(20)]
    results = [json.loads(process.communicate()[0]) for process in crowd]
    equal([re.sub(r"\D", "", got["stdout"]) for got in results], [str(n) for n in range(20)], "their output")
    check(wait_until(lambda: len(keepers(service)) == 1), f"keepers: {keepers(service)}")  # the daemon refuses the others
    empty(service)
