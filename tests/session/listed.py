# SPDX-License-Identifier: Apache-2.0
"""`corral ps` and sessions: which session a run and a command belong to."""
import json
import os

from service import check, equal, wait_until
from terminal import ESCAPE, screen


def listed(service):
    return json.loads(service.good("ps", "--json"))


def test_ps_names_the_session_of_a_command(service):
    """By the short way, and by the daemon; a command that has ended is not listed, and a plain run has no session."""
    named, other = service.create("--name", "listed"), service.create()
    plain = service.command("run", "--level", service.level, "--", "sleep", "701")
    commands = [service.command("session", "exec", "listed", "--", "sleep", "702"),
                service.command("session", "exec", "--json", other, "--", "sh", "-c", "sleep 703 # \x1b[1m"),
                service.command("session", "exec", other, "--", "true")]
    commands.pop().wait()
    try:
        check(wait_until(lambda: len(listed(service)["commands"]) == 2 and len(listed(service)["runs"]) == 3), f"listed: {listed(service)}")
        shown = listed(service)
        runs = {run["session"]: run for run in shown["runs"]}
        equal((set(runs), runs[named]["session_name"], runs[other]["session_name"], runs[None]["session_name"]),
              ({named, other, None}, "listed", None, None), "the sessions of the runs")
        equal((runs[named]["command"], runs[None]["command"]), (["[session]", named], ["sleep", "701"]), "their commands")
        of = {row["session"]: row for row in shown["commands"]}
        equal((of[named]["command"], of[named]["session_name"], of[other]["command"][0], of[other]["session_name"]),
              (["sleep", "702"], "listed", "sh", None), "the commands")
        check(of[named]["id"].startswith(f"{named}.") and of[named]["since"].endswith("Z"), f"id and time: {of[named]}")
        text = service.good("ps").splitlines()
        check(any(named in line and "listed" in line and line.endswith("sleep 702") for line in text), f"the text: {text}")
        check(any(other in line and "sleep 703" in line and "\x1b" not in line for line in text), f"the other: {text}")
        check(not any(" true" in line for line in text), f"a command that has ended: {text}")
    finally:
        for process in (plain, *commands):
            process.kill()
            process.wait()
        service.good("session", "stop", named)
        service.good("session", "stop", other)
    check(wait_until(lambda: listed(service)["commands"] == []), "commands of sessions that have ended")
    equal((listed(service)["commands_more"], "SESSION" in service.good("ps")), (0, False), "after their end")


def test_a_command_that_its_client_has_left_is_listed_until_it_ends(service):
    """Detached from the start, or attached to again; in `corral ps` and in the views of front ends."""
    session = service.create()

    def states():
        client = service.client()
        rows = client.call("ui.view", view=f"session/{session}")["commands"]
        client.close()
        return {row["argv"][-1]: row["state"] for row in rows}

    service.good("session", "exec", "--detach", session, "--", "sh", "-c", "echo up; while ! [ -e go ]; do sleep 0.05; done # 1")
    with screen(service, "session", "exec", "-T", session, "--", "sh", "-c", "echo up; while ! [ -e go ]; do sleep 0.05; done # 2") as one:
        check(wait_until(lambda: len(states()) == 2), "the second command")
        one.type(ESCAPE + b"d")
        equal(one.ended(), 0, "the status after a detach")
    check(wait_until(lambda: len(listed(service)["commands"]) == 2), f"listed: {listed(service)}")
    equal(sorted(states().values()), ["running", "running"], "the views")
    with screen(service, "session", "attach", session, listed(service)["commands"][0]["id"].rpartition(".")[2]) as one:
        one.until(b"up")  # of the backlog
        with open(f"{service.workspace}/go", "w", encoding="utf-8"):
            pass
        equal(one.ended(), 0, "the status of the client that attached")
    check(wait_until(lambda: sorted(states().values()) == ["ended", "ended"]), f"after their end: {states()}")
    equal(listed(service)["commands"], [], "after their end")
    os.unlink(f"{service.workspace}/go")
    service.good("session", "stop", session)


def test_ps_counts_the_commands_that_the_daemon_does_not_list(service):
    """The daemon remembers the last commands of a session: one that began before them still runs."""
    session = service.create()
    first = service.command("session", "exec", "--json", session, "--", "sleep", "704")
    try:
        check(wait_until(lambda: len(listed(service)["commands"]) == 1), "the command is not listed")
        for _ in range(9):
            service.good("session", "exec", "--json", session, "--", "true")
        check(wait_until(lambda: (len(listed(service)["commands"]), listed(service)["commands_more"]) == (0, 1)), f"{listed(service)}")
        check("and 1 more" in service.good("ps"), service.good("ps"))
    finally:
        first.kill()
        first.wait()
        service.good("session", "stop", session)
