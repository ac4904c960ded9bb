# SPDX-License-Identifier: Apache-2.0
"""lock = workspace: a session or run has its workspace alone."""
import os
import signal

from service import check, equal, marked, wait_until


def test_a_locked_workspace_is_refused_with_the_name_of_its_holder(service):
    first = service.create("--lock")
    status, _, err = service.run("session", "create", "--level", service.level, "--lock")
    check(status == 126 and f"locked by session {first}" in err and "--lock-wait" in err, f"a second session: {status} {err}")
    status, _, err = service.run("run", "--level", service.level, "--lock", "--", "true")
    check(status == 126 and f"locked by session {first}" in err, f"a run: {status} {err}")
    os.symlink(service.workspace, f"{service.place}/home/link")
    status, _, err = service.run("run", "--level", service.level, "--lock", "-w", f"{service.place}/home/link", "--", "true")
    check(status == 126 and first in err, f"a run by another name of the directory: {status} {err}")
    os.unlink(f"{service.place}/home/link")
    service.good("run", "--level", service.level, "--lock", "-w", f"{service.place}/ws2", "--", "true")
    service.good("run", "--level", service.level, "--", "true")
    other = service.create()
    before = set(os.listdir(service.workspace))
    service.good("session", "stop", first)
    equal(service.good("run", "--level", service.level, "--lock", "--", "echo", "free"), "free\n", "after the end of the holder")
    equal(set(os.listdir(service.workspace)), before, "files in the workspace")
    service.good("session", "stop", other)


def test_a_waiting_session_gets_the_lock_when_its_holder_is_killed(service):
    first = service.create("--lock")
    mark = f"617.{os.getpid()}"
    service.good("session", "exec", first, "-c", f"setsid sleep {mark} &")
    waiting = service.command("session", "create", "--level", service.level, "--lock", "--lock-wait", "none", "--name", "second")
    check(wait_until(lambda: "STARTING" in service.good("session", "list")), "the second session does not wait")
    os.kill(service.show(first)["supervisor"], signal.SIGKILL)
    out, err = waiting.communicate()
    check(waiting.returncode == 0 and out.startswith(b"sess_"), f"the second session: {waiting.returncode} {err}")
    check(wait_until(lambda: not marked(mark)), "a process of the first session is left")
    status, _, err = service.run("run", "--level", service.level, "--lock", "--lock-wait", "100ms", "--", "true")
    check(status == 126 and out.decode().strip() in err, f"a run that waits a moment: {status} {err}")
    service.good("session", "stop", "second")
