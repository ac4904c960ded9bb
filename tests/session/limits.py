# SPDX-License-Identifier: Apache-2.0
"""Limits of a session: what ends one command, what ends the session, and what both say."""
import json
import os
import signal
import subprocess
import time

from service import acting_as, alive, check, equal, marked, wait_until

HOG = "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (8 << 20)))\n"


def result_of(service, *words):
    status, out, err = service.run("session", "exec", "--json", *words)
    check(out, f"no result: status {status}, {err}")
    return json.loads(out)


def activities(service, session, kind):
    rows = service.client().call("session.activity", session=session)["activity"]
    return [row["text"] for row in rows if row["kind"] == kind]


def test_a_command_above_the_memory_limit_ends_alone(service):
    """Another command and the session itself go on; the result and the activity name the option."""
    session = service.create("--memory", "150M")
    other = service.command("session", "exec", session, "--", "sh", "-c", "echo up; exec sleep 600")
    equal(other.stdout.readline().strip(), b"up", "the other command")
    result = result_of(service, session, "--", "python3", "-c", HOG)
    equal(result["reason"], "oom", f"the reason in {result}")
    check("--memory" in json.dumps(result["denials"]), f"the denials: {result['denials']}")
    equal(service.show(session)["state"], "RUNNING", "the state")
    equal(other.poll(), None, "the status of the other command")
    equal(service.good("session", "exec", session, "--", "echo", "on"), "on\n", "a later command")
    found = wait_until(lambda: activities(service, session, "limit"))
    check(found and "--memory" in found[0], f"the activity: {found}")
    service.good("session", "stop", session)
    other.wait()


FAMILY = """
import os, sys
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        exec(sys.argv[1])
while True:
    os.wait()
"""


def test_the_tree_of_a_command_above_the_memory_limit_is_gone(service):
    """Four children with sessions of their own have the memory; without a cgroup none of them stays."""
    session = service.create("--memory", "150M")
    mark = f"family-{session}"
    result = result_of(service, session, "--", "python3", "-c", FAMILY, HOG, mark)
    by_cgroup = any(g["name"] == "limits.memory" and g["state"] == "enforced" for g in result["guarantees"])
    check(result["reason"] == "oom" or by_cgroup, f"the reason in {result}")
    check(wait_until(lambda: not marked(mark)), f"left: {marked(mark)}")
    equal(service.show(session)["state"], "RUNNING", "the state")
    service.good("session", "stop", session)


def test_a_background_process_above_the_memory_limit_ends_and_its_session_goes_on(service):
    """Its command has ended long ago."""
    session, mark = service.create("--memory", "150M"), f"left-{os.getpid()}"
    service.good("session", "exec", session, "--", "sh", "-c", 'python3 -c "$0" "$1" >/dev/null 2>&1 &', HOG, mark)
    check(wait_until(lambda: not marked(mark)), f"left: {marked(mark)}")
    equal(service.good("session", "exec", session, "--", "echo", "on"), "on\n", "a later command")
    service.good("session", "stop", session)


def test_a_session_that_a_limit_ends_names_it(service):
    """The growth on disk is the whole session's."""
    session = service.create("--disk", "20M")
    status, _, _ = service.run("session", "exec", session, "--", "sh", "-c", "head -c 90000000 /dev/zero >big; exec sleep 600")
    check(status != 0, "a command above the limit ended well")
    check(wait_until(lambda: service.show(session)["state"] == "FAILED"), "the session did not end")
    check("--disk" in service.show(session)["reason"], service.show(session)["reason"])
    check(any("--disk" in text for text in activities(service, session, "limit")), "no activity")
    os.unlink(f"{service.workspace}/big")  # the growth of a later session begins without it


def test_a_daemon_that_is_slow_knows_why_a_session_ended(service):
    """It has the messages of the supervisor, and its end, at once: none of the messages is lost."""
    session = service.create("--disk", "20M")
    supervisor = service.show(session)["supervisor"]
    os.kill(service.process.pid, signal.SIGSTOP)
    try:
        for _ in range(3):  # each is a message, or two
            equal(service.good("session", "exec", session, "--", "true"), "", "a command without the daemon")
        process = service.command("session", "exec", session, "--", "sh", "-c", "head -c 90000000 /dev/zero >big; exec sleep 600")
        check(wait_until(lambda: not alive(supervisor)), "the supervisor did not end")
    finally:
        os.kill(service.process.pid, signal.SIGCONT)
    process.communicate()
    check(wait_until(lambda: service.show(session)["state"] == "FAILED"), "the session did not end")
    check("--disk" in service.show(session)["reason"], service.show(session)["reason"])
    check(any("--disk" in text for text in activities(service, session, "limit")), "no activity")
    os.unlink(f"{service.workspace}/big")


def test_a_command_above_the_limit_of_processes_ends_alone(service):
    """Where it is sampled.  At level full, and in a cgroup, the kernel refuses the fork."""
    session = service.create("--processes", "40")
    script = "import os, time\nfor _ in range(80):\n    if os.fork() == 0:\n        time.sleep(600)\ntime.sleep(600)\n"
    result = result_of(service, session, "--", "python3", "-c", script)
    sampled = any(found["name"] == "limits.processes" and found["state"] == "weaker" for found in result["guarantees"])
    equal(result["reason"], "limit" if sampled else "exit", f"the reason in {result}")
    equal(service.show(session)["state"], "RUNNING", "the state")
    if sampled:
        equal(service.good("session", "exec", session, "--", "echo", "on"), "on\n", "a later command")
    service.good("session", "stop", session)


def test_the_size_of_a_file_is_limited_for_each_command(service):
    """The command gets SIGXFSZ; output through a pipe has no such limit, and neither has another session."""
    session, free = service.create("--max-file-size", "256K"), service.create()
    big = f"{service.workspace}/big"
    for _ in range(2):
        result = result_of(service, session, "--", "dd", "if=/dev/zero", "of=big", "bs=64K", "count=10")
        equal((result["reason"], result["signal"]), ("limit", 25), f"the end in {result}")
        check("--max-file-size" in json.dumps(result["denials"]), f"the denials: {result['denials']}")
        equal(os.path.getsize(big), 256 << 10, "the size of the file")
        os.unlink(big)
    piped = service.command("session", "exec", session, "--", "head", "-c", "900000", "/dev/zero")
    equal((len(piped.communicate()[0]), piped.returncode), (900000, 0), "bytes through a pipe")
    equal(service.show(session)["state"], "RUNNING", "the state")
    service.good("session", "exec", free, "--", "dd", "if=/dev/zero", "of=big", "bs=64K", "count=10")
    equal(os.path.getsize(big), 10 << 16, "control: without a limit")
    os.unlink(big)
    for one in (session, free):
        service.good("session", "stop", one)


FILES = """
import resource
held = []
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    print("raised", end=" ")
except (OSError, ValueError):
    print("not raised", end=" ")
try:
    while len(held) < 300:
        held.append(open("/dev/null", "rb"))
except OSError as error:
    print(error.errno, end=" ")
print(len(held), flush=True)
input()
"""


def test_open_files_are_limited_for_each_process(service):
    """Two commands at once have all of them each; the limit cannot be raised again."""
    session, free = service.create("--open-files", "64"), service.create("--open-files", "1000")

    def start(name):
        return service.command("session", "exec", name, "--", "python3", "-c", FILES, stdin=subprocess.PIPE)
    both = [start(session), start(session)]
    for process in both:
        words = process.stdout.readline().split()
        equal(words[:3], [b"not", b"raised", b"24"], "what a command at the limit gets")
        check(40 < int(words[3]) < 64, f"{words} files with a limit of 64")
    control = start(free)
    equal(control.stdout.readline().split()[-1:], [b"300"], "control: with a higher limit")
    for process in both + [control]:
        process.communicate(b"\n")
        equal(process.returncode, 0, "its status")
    for one in (session, free):
        service.good("session", "stop", one)


def test_processor_time_is_limited_for_each_process_of_a_command(service):
    """`--cpu-time` ends the command that reached it; the next ones have all of it again."""
    session = service.create("--cpu-time", "1s")
    result = result_of(service, session, "--", "python3", "-c", "while True: pass")
    equal((result["reason"], result["signal"]), ("limit", 24), f"the end in {result}")
    check("--cpu-time" in json.dumps(result["denials"]), f"the denials: {result['denials']}")
    for _ in range(3):  # together more than the limit
        burn = "import time\nwhile time.process_time() < 0.6: pass\nprint('done')"
        equal(service.good("session", "exec", session, "--", "python3", "-c", burn), "done\n", "a command below the limit")
    equal(service.show(session)["state"], "RUNNING", "the state")
    service.good("session", "stop", session)


def test_processors_are_limited_as_the_report_says(service):
    """`--cpus 0.5`: with a controller half a processor for all commands together, else one processor for each of them."""
    session, free = service.create("--cpus", "0.5"), service.create()
    count = ("--", "python3", "-c", "import os; print(len(os.sched_getaffinity(0)))")
    host = len(os.sched_getaffinity(0))
    equal(service.good("session", "exec", free, *count), f"{host}\n", "control: without a limit")
    result = result_of(service, session, *count)
    report = next(row for row in result["guarantees"] if row["name"] == "limits.cpu")
    if report["state"] == "enforced":
        equal(report["by"], ["cgroup"], f"the report: {report}")
        script = "timeout 2 python3 -c 'while True: pass'; exit 0"
        both = [service.command("session", "exec", "--json", session, "--", "sh", "-c", script) for _ in range(2)]
        results = [json.loads(process.communicate()[0]) for process in both]
        used, took = sum(one["usage"]["cpu_ms"] for one in results), max(one["duration_ms"] for one in results)
        check(0 < used < 0.9 * took, f"{used} ms of processor time in {took} ms")
    else:
        check(report["state"] == "weaker" and "affinity" in report["by"] and report["why"], f"the report: {report}")
        equal(result["stdout"], "1\n", "processors")
    for one in (session, free):
        service.good("session", "stop", one)


def write_config(service, text):
    """The user's policy file, which the daemon reads again; "" removes it."""
    path = f"{service.place}/home/.config/corral/corral.toml"
    with acting_as(service.uid):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            os.unlink(path)
    service.good("daemon", "reload")


def test_a_policy_file_limits_sessions(service):
    """Time and processor time; an option may say less or more than the user's file, and a request of a client too."""
    write_config(service, '[session]\ntimeout = "1h"\ncpu_total = "20m"\n')
    try:
        plain, other = service.create(), service.create("--session-timeout", "2d", "--cpu-total", "none")
        client = service.client()
        asked = client.call("session.create", cwd=service.workspace, timeout_ms=90000, cpu_total_ms=50000,
                            settings=[["level", service.level]])["id"]
        got = {name: service.show(session) for name, session in (("plain", plain), ("other", other), ("asked", asked))}
        times = {name: (row["deadline"] - row["created"]) // 1000 for name, row in got.items()}
        check(3590 <= times["plain"] <= 3610 and 172790 <= times["other"] <= 172810 and 89 <= times["asked"] <= 95, f"{times}")
        equal({name: row["cpu"]["limit_ms"] for name, row in got.items()}, {"plain": 1200000, "other": 0, "asked": 50000}, "limits")
        for session in (plain, other, asked):
            service.good("session", "stop", session)
        write_config(service, '[session]\ntimeout = "300ms"\n')
        short = service.create()
        check(wait_until(lambda: service.show(short)["state"] == "STOPPED"), "the session did not end")
        check("session.timeout" in service.show(short)["reason"], service.show(short)["reason"])
    finally:
        write_config(service, "")


def test_a_project_may_only_lower_the_limits_of_sessions(service):
    with open(f"{service.workspace}/.corral.toml", "w", encoding="utf-8") as file:
        file.write('[session]\ntimeout = "10m"\n')
    try:
        write_config(service, '[session]\ntimeout = "1h"\n')
        session = service.create()
        row = service.show(session)
        equal((row["deadline"] - row["created"]) // 60000, 10, "minutes of a lower limit")
        service.good("session", "stop", session)
        write_config(service, '[session]\ntimeout = "5m"\n')
        status, _, err = service.run("session", "create", "--level", service.level)
        check(status != 0 and "session.timeout" in err, f"a higher limit: {status} {err}")
    finally:
        os.unlink(f"{service.workspace}/.corral.toml")
        write_config(service, "")


def test_an_idle_session_ends(service):
    """A process in the background and an open connection do not keep it; its reason is in the state and the activity."""
    other = service.create()
    for limit in ("700ms", "5s", "40s"):  # on a busy machine a session ends before the command can begin
        session = service.create("--session-idle-timeout", limit)
        process = service.command("session", "exec", session, "--", "sh", "-c", "sleep 600 >/dev/null 2>&1 &")
        process.communicate()
        if process.returncode == 0:
            break
    equal(process.returncode, 0, "the command did not begin in time")
    client = service.client()
    check(wait_until(lambda: client.call("session.show", session=session)["state"] == "STOPPED"), "the session did not end")
    client.close()
    check("session.idle_timeout" in service.show(session)["reason"], service.show(session)["reason"])
    equal(service.show(other)["state"], "RUNNING", "a session without the limit")
    service.good("session", "stop", other)


def test_a_session_with_a_command_is_not_idle(service):
    """One that outlasts the limit, by each way, and with a terminal that no client has; then it ends."""
    made = {words: service.create("--session-idle-timeout", "3s") for words in ((), ("--json",), ("-d",))}
    started = {words: service.command("session", "exec", *words, session, "--", "sleep", "5") for words, session in made.items()}
    for words, process in started.items():
        process.communicate()
        equal(process.returncode, 0, f"the status of a command with {words}")
    for words, session in made.items():
        check(wait_until(lambda one=session: service.show(one)["state"] == "STOPPED"), "the session did not end")
        check("idle" in service.show(session)["reason"], service.show(session)["reason"])
    check("status 0" in str(activities(service, made[("-d",)], "command")), "the command with a terminal was killed")


def test_a_session_in_which_commands_run_is_not_idle(service):
    """Together they take longer than the limit; calls of file tools count too."""
    session = service.create("--session-idle-timeout", "5s")
    with open(f"{service.workspace}/idle.txt", "w", encoding="utf-8") as file:
        file.write("x")
    client, end = service.client(), time.monotonic() + 7
    while time.monotonic() < end:
        client.call("file.read", session=session, path="idle.txt")
        time.sleep(0.05)  # the limit is a hundred times this
    equal(service.show(session)["state"], "RUNNING", "the state")
    service.good("session", "stop", session)
    client.close()
