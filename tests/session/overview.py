# SPDX-License-Identifier: Apache-2.0
"""The daemon's state for front ends: views, paging, actions, events, and their bounds."""
import json
import os
import time

from service import HUNG, Refused, check, equal, wait_until

NO_SESSION, PARAMS = -32002, -32602


def view(service, name, **query):
    client = service.client()
    try:
        return client.call("ui.view", view=name, **query)
    finally:
        client.close()


def shown(service):
    """Options that show a directory read-only, and a path in it that the caller could create on the host."""
    return ("--read", f"{service.place}/ws2"), f"{service.place}/ws2/denied-here"


def refused(service, name, **query):
    try:
        view(service, name, **query)
    except Refused as problem:
        return problem.code
    return None


class Feed:
    """A follower of the events."""

    def __init__(self, service):
        self.client, self.events = service.client(), []
        self.client.call("ui.follow")

    def wait(self, kind, test):
        """The first event of this kind that passes; they may come in any order."""
        end = time.monotonic() + HUNG
        while time.monotonic() < end:
            for event in self.events:
                if event["kind"] == kind and test(event["event"]):
                    return event["event"]
            message = self.client.line()
            check(message is not None, "the daemon closed the feed")
            if message.get("method") == "ui.event":
                self.events.append(message["params"])
        check(False, f"no event {kind} came: {self.events!r:.2000}")

    def close(self):
        self.client.close()


def test_the_first_screen(service):
    session = service.create("--name", "screen")
    options, path = shown(service)
    service.run("run", "--level", service.level, *options, "--", "mkdir", path)
    screen = service.client().call("ui.overview")
    equal(set(screen), {"now", "refused", "waiting", "pending", "totals"}, "members")
    equal(set(screen["now"]), {"runs", "sessions"}, "members of now")
    check(session in [row["id"] for row in screen["now"]["sessions"]], "the session is not there")
    rows = [row for row in screen["refused"] if row.get("path") == path]
    check(rows and rows[0]["why"] and rows[0]["allow_with"], f"the refusal: {rows}")
    check(screen["totals"]["refused_last_hour"] >= 1, "the total of refusals")
    service.good("session", "stop", session)


def test_a_live_run_is_on_the_first_screen_and_a_session_is_no_run(service):
    session = service.create()
    process = service.command("run", "--level", service.level, "--", "sleep", "60")
    found = wait_until(lambda: [row for row in view(service, "overview")["now"]["runs"] if row["command"][-1] == "60"])
    check(found and found[0]["level"] == service.level, f"the run: {found}")
    equal(len(view(service, "runs")["alive"]), 1, "runs that are alive, without the session")
    alive = view(service, f"run/{found[0]['id']}")
    equal((alive["alive"]["id"], alive["run"], alive["output"]), (found[0]["id"], None, None), "the run by its id")
    process.terminate()
    process.communicate()
    ended = wait_until(lambda: view(service, f"run/{found[0]['id']}")["run"])
    equal(ended["command"], ["sleep", "60"], "the run after its end")
    service.good("session", "stop", session)


def test_sessions_are_paged_by_the_database(service):
    made = [service.create() for _ in range(5)]
    seen, before = [], None
    while True:
        page = view(service, "sessions", limit=2, state="alive", **({"before": before} if before else {}))
        check(len(page["sessions"]) <= 2, "a page is too long")
        seen += [row["id"] for row in page["sessions"]]
        before = page["next"]
        if before is None:
            break
    equal([one for one in seen if one in made], list(reversed(made)), "the newest first, each once")
    equal([row["id"] for row in view(service, "sessions", search=made[2][-8:].lower())["sessions"]], [made[2]], "a search")
    equal(refused(service, "sessions", state="ASLEEP"), PARAMS, "a wrong state")
    for session in made:
        service.good("session", "stop", session)
    check(made[0] not in [row["id"] for row in view(service, "sessions", state="alive")["sessions"]], "an ended one")


def test_a_command_with_output_denials_and_result(service):
    options, path = shown(service)
    session = service.create(*options)
    service.run("session", "exec", session, "--", "sh", "-c", f"echo out; echo err >&2; mkdir {path}; exit 3")
    command = view(service, f"session/{session}")["commands"][0]
    equal((command["state"], command["argv"][0], command["result"]["exit_code"]), ("ended", "sh", 3), "the command")
    for name in (command["id"], command["result"]["id"]):
        run = view(service, f"run/{name}")
        check("out\n" in run["output"]["text"] and "err\n" in run["output"]["text"], f"output: {run['output']}")
        rows = [row for row in run["denials"] if row["path"] == path]
        check(rows and rows[0]["allow_with"], f"denials: {run['denials']}")
        check("stdout" not in run["result"], "captured output is kept twice")
    service.good("session", "stop", session)
    equal(view(service, f"run/{command['id']}")["output"]["text"][:4], "out\n", "output after the end of the session")


def test_output_is_a_bounded_ring(service):
    """32 MB of output: the last 256 KiB are there, and daemon and supervisor do not grow."""
    session = service.create("--max-output", "200MB", "--timeout", "1h")
    supervisor = service.show(session)["supervisor"]

    def resident(pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    before = resident(service.process.pid), resident(supervisor)
    process = service.command("session", "exec", session, "--", "sh", "-c", "head -c 32000000 /dev/zero | tr '\\0' x; echo the end")
    while process.stdout.read(1 << 20):
        pass
    process.communicate()
    command = view(service, f"session/{session}")["commands"][0]
    wait_until(lambda: view(service, f"run/{command['id']}")["output"]["total"] == 32000008)
    output = view(service, f"run/{command['id']}")["output"]
    equal(output["total"], 32000008, "the size of the output")
    equal((len(output["text"]), output["text"][-8:]), (256 * 1024, "the end\n"), "the end of the output")
    after = resident(service.process.pid), resident(supervisor)
    check(all(late - early < 8192 for early, late in zip(before, after)), f"memory in KiB: {before}, then {after}")
    service.good("session", "stop", session)


def test_the_last_commands_are_kept_and_bytes_are_text(service):
    session = service.create()
    for number in range(10):
        service.command("session", "exec", session, "--", "printf",
                        f"{number} \\377 \\033[31m \\342\\202\\254").communicate()
    commands = view(service, f"session/{session}")["commands"]
    equal(len(commands), 8, "commands that are kept")
    equal(view(service, f"run/{commands[0]['id']}")["output"]["text"], "9 \ufffd \x1b[31m \u20ac", "bytes as text")
    equal(refused(service, f"run/{session}.1"), NO_SESSION, "a command that is not kept any more")
    service.good("session", "stop", session)


def test_a_tool_call_is_a_command(service):
    made = service.made()
    client = service.client()
    client.call("file.list", session=made["id"])
    client.close()
    command = view(service, f"session/{made['id']}")["commands"][0]
    equal((command["tool"], command["state"]), ("list_directory", "ended"), "the call")
    service.good("session", "stop", made["id"])


def whole_search(service, **query):
    """The records of a search, which the daemon ends after some milliseconds with the place where the next one goes on."""
    found = view(service, "audit", **query)
    records = found["records"]
    while not found["complete"]:
        before = found["next"]
        found = view(service, "audit", before=before, **query)
        check(found["next"] != before, "a search that does not go on")
        records += found["records"]
    equal(found["next"], None, "the place after a search that is complete")
    return records


def test_audit_pages_and_search(service):
    for number in range(6):
        service.good("run", "--level", service.level, "--", "true", f"needle-{number}")
    page = view(service, "audit", limit=4, kind="run")
    equal([row["command"][1] for row in page["records"]], [f"needle-{n}" for n in (5, 4, 3, 2)], "the newest first")
    rest = view(service, "audit", limit=2, kind="run", before=page["next"])
    equal([row["command"][1] for row in rest["records"]], ["needle-1", "needle-0"], "the page after it")
    equal([row["command"][1] for row in whole_search(service, search="NEEDLE-3")], ["needle-3"], "a search")
    equal(whole_search(service, search="abcabcabcabc"), [], "a text that is nowhere")
    for wrong in ("x", "1", "1.", ".1", "-1.0", "1.0x", "9" * 30 + ".1"):
        equal(refused(service, "audit", before=wrong), PARAMS, f"the cursor {wrong}")
    equal(refused(service, "audit", kind="nonsense"), PARAMS, "a wrong kind")
    charts = view(service, "charts")
    equal((len(charts["runs_over_time"]), len(charts["denials_over_time"])), (24, 24), "columns")
    check(sum(charts["runs_over_time"]) == sum(charts["latency"]) == charts["runs"] >= 6, f"charts: {charts}")


def test_pending_changes_are_shown_applied_and_discarded(service):
    path = f"{service.workspace}/pending.txt"
    with open(path, "w", encoding="utf-8") as file:
        file.write("one\n")
    os.chown(path, service.uid, service.uid)
    ids = []
    for word in ("two", "three"):
        status, _, err = service.run("run", "--level", service.level, "--cow", "--", "sh", "-c", f"echo {word} >> pending.txt")
        if status != 0 and "copy-on-write" in err:
            return  # not at this level
        rows = view(service, "pending")["pending"]
        ids.append([row["id"] for row in rows if row["id"] not in ids][0])
    changes = view(service, f"pending/{ids[0]}")["changes"]
    equal([row["path"] for row in changes], ["pending.txt"], "the changed file")
    check("+two\n" in changes[0]["diff"], f"the diff: {changes}")
    client = service.client()
    equal(client.call("ui.apply", id=ids[0])["done"]["left"], 0, "changes that are left")
    with open(path, encoding="utf-8") as file:
        equal(file.read(), "one\ntwo\n", "the file after it was applied")
    try:
        client.call("ui.apply", id=ids[1])
        check(False, "a change of a file that changed on the host was applied")
    except Refused:
        pass
    client.call("ui.discard", id=ids[1])
    for wrong in ("", ids[1]):
        try:
            client.call("ui.discard", id=wrong)
            check(False, f"discarded {wrong!r}")
        except Refused:
            pass
    client.close()
    equal([row for row in view(service, "pending")["pending"] if row["id"] in ids], [], "pending changes")
    equal(refused(service, f"pending/{ids[0]}"), NO_SESSION, "changes that are gone")
    os.unlink(path)


def test_wrong_views(service):
    for name in ("", "nothing", "overview/x", "session/", "session/nothing", "run/../../x", "run/" + "x" * 500, "pending/.."):
        equal(refused(service, name), NO_SESSION, f"the view {name!r:.40}")
    equal(refused(service, "audit", limit=501), PARAMS, "a page that is too long")
    equal(refused(service, "audit", limit=-1), PARAMS, "a negative page")


def test_events_of_a_session(service):
    feed = Feed(service)
    options, path = shown(service)
    session = service.create(*options)
    feed.wait("session", lambda e: e["id"] == session and e["state"] == "RUNNING")
    process = service.command("session", "exec", session, "--", "sh", "-c",
                              f"echo first; while [ ! -e go ]; do sleep 0.05; done; mkdir {path}; echo last")
    feed.wait("run", lambda e: e.get("session") == session and e["state"] == "running")
    text = feed.wait("output", lambda e: e.get("session") == session)
    equal((text["from"], text["text"]), (0, "first\n"), "output while the command runs")
    with open(f"{service.workspace}/go", "w", encoding="utf-8"):
        pass
    process.communicate()
    feed.wait("output", lambda e: "last\n" in e["text"])
    feed.wait("run", lambda e: e.get("session") == session and e["state"] == "ended")
    feed.wait("denial", lambda e: e.get("path") == path and e["session"] == session)
    service.good("session", "stop", session)
    feed.wait("session", lambda e: e["id"] == session and e["state"] == "STOPPED")
    equal(len([e for e in feed.events if e["kind"] == "denial" and e["event"].get("path") == path]), 1,
          "a denial is reported once")
    feed.close()
    os.unlink(f"{service.workspace}/go")


ASK = """
import os, socket, sys, time
for name in sys.argv[2:]:
    try:
        socket.getaddrinfo(name, 443)
    except OSError:
        pass
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""


def asking(service, session, *names):
    """A command that asks the gate for these names, and then waits for a file: it runs until the test has seen enough."""
    return service.command("session", "exec", session, "--", "/usr/bin/python3", "-I", "-c", ASK,
                           f"{service.workspace}/seen", *names)


def let_end(service, process):
    with open(f"{service.workspace}/seen", "w", encoding="utf-8"):
        pass
    process.communicate()
    os.unlink(f"{service.workspace}/seen")


def test_decisions_of_the_gate_are_events_while_the_command_runs(service):
    feed = Feed(service)
    session = service.create("--net", "filtered", "--allow-host", "allowed.invalid")
    process = asking(service, session, "evil.invalid")
    seen = feed.wait("decision", lambda e: e.get("name") == "evil.invalid")
    check(process.poll() is None, "the command ended before the event")
    equal((seen["session"], seen["run"], seen["op"], seen["verdict"]), (session, f"{session}.1", "resolve", "denied"), "the event")
    shown = view(service, f"run/{session}.1")
    equal((shown["state"], shown["decisions_more"]), ("running", 0), "the command")
    early = [row for row in shown["decisions"] if row["name"] == "evil.invalid"]
    check(early and early[0]["verdict"] == "denied" and early[0]["count"] >= 1, f"its decisions so far: {shown['decisions']}")
    let_end(service, process)
    feed.wait("run", lambda e: e.get("session") == session and e["state"] == "ended")
    ended = [row for row in view(service, f"run/{session}.1")["decisions"] if row["name"] == "evil.invalid"]
    told = sum(e["event"]["count"] for e in feed.events if e["kind"] == "decision" and e["event"].get("name") == "evil.invalid")
    equal(told, sum(row["count"] for row in ended), "each decision is told once")
    service.good("session", "stop", session)
    feed.close()


def test_a_flood_of_decisions_is_counted(service):
    """300 names: at most 64 events for each second that the command took, and a count of the rest; none is lost."""
    feed = Feed(service)
    session = service.create("--net", "filtered", "--allow-host", "allowed.invalid")
    began = time.monotonic()
    process = asking(service, session, *(f"n{i}.invalid" for i in range(300)))
    feed.wait("decision", lambda e: e.get("more", 0) > 0 or e.get("name") == "n299.invalid")
    let_end(service, process)
    feed.wait("run", lambda e: e.get("session") == session and e["state"] == "ended")
    seconds = time.monotonic() - began
    mine = [e["event"] for e in feed.events if e["kind"] == "decision" and e["event"].get("session") == session]
    rows, more = [e for e in mine if "op" in e], sum(e.get("more", 0) for e in mine)
    check(0 < len(rows) <= 64 * (int(seconds) + 2), f"{len(rows)} events in {seconds:.1f} s")
    shown = view(service, f"run/{session}.1")
    whole = sum(row["count"] for row in shown["decisions"] or []) + shown["decisions_more"]
    if shown["result"] != {"cut": True}:
        equal(sum(e["count"] for e in rows) + more, whole, "events and count together")
    service.good("session", "stop", session)
    feed.close()


def test_events_of_a_plain_run(service):
    feed = Feed(service)
    options, path = shown(service)
    process = service.command("run", "--level", service.level, *options, "--", "sh", "-c",
                              f"while [ ! -e go ]; do sleep 0.05; done; mkdir {path}")
    started = feed.wait("run", lambda e: e["state"] == "running" and "denied-here" in json.dumps(e["command"]))
    with open(f"{service.workspace}/go", "w", encoding="utf-8"):
        pass
    process.communicate()
    feed.wait("run", lambda e: e["state"] == "ended" and e["id"] == started["id"])
    feed.wait("denial", lambda e: e.get("path") == path and e["id"] == started["id"])
    feed.close()
    os.unlink(f"{service.workspace}/go")


def test_nothing_is_watched_without_a_follower(service):
    def target(fd):
        try:
            return os.readlink(f"/proc/{service.process.pid}/fd/{fd}")
        except FileNotFoundError:  # closed since the list was read
            return ""

    def watches():
        return sum(target(fd) == "anon_inode:inotify" for fd in os.listdir(f"/proc/{service.process.pid}/fd"))

    before = 1  # of the policy files
    check(wait_until(lambda: watches() == before), "inotify descriptors before")
    feeds = [Feed(service), Feed(service)]
    equal(watches(), before + 1, "inotify descriptors with two followers")
    for feed in feeds:
        feed.close()
    check(wait_until(lambda: watches() == before), "inotify descriptors without a follower")
