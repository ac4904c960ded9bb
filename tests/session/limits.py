# SPDX-License-Identifier: Apache-2.0
"""Limits of a session: what ends one command, what ends the session, and what both say."""
import json
import os

from service import check, equal, marked, wait_until

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
    sampled = service.show(session)["cpu"]["by"] == "sampled"
    mark = f"family-{session}"
    result = result_of(service, session, "--", "python3", "-c", FAMILY, HOG, mark)
    check(result["reason"] == "oom" or not sampled, f"the reason in {result}")
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


def test_a_command_above_the_limit_of_processes_ends_alone(service):
    """At level standard it is sampled; at level full the kernel refuses the fork."""
    session = service.create("--processes", "40")
    script = "import os, time\nfor _ in range(80):\n    if os.fork() == 0:\n        time.sleep(600)\ntime.sleep(600)\n"
    result = result_of(service, session, "--", "python3", "-c", script)
    check(result["reason"] in ("limit", "exit"), f"the reason in {result}")
    check(service.level != "standard" or result["reason"] == "limit", f"the reason in {result}")
    equal(service.show(session)["state"], "RUNNING", "the state")
    if service.level == "standard":
        equal(service.good("session", "exec", session, "--", "echo", "on"), "on\n", "a later command")
    service.good("session", "stop", session)
