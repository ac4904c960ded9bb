# SPDX-License-Identifier: Apache-2.0
"""The life of a session, from create to stop."""
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess

from service import HUNG, Client, Refused, acting_as, alive, check, children, equal, marked, wait_until


def test_a_command_gets_streams_status_and_directory(service):
    session = service.create("--name", "streams")
    status, out, err = service.run("session", "exec", "streams", "--", "sh", "-c", "cat; pwd; echo oops >&2; exit 7", data=b"given\n")
    equal((status, out, err), (7, f"given\n{service.workspace}\n", "oops\n"), "a command")
    result = json.loads(service.good("session", "exec", session, "--json", "-c", "echo kept; echo $0", "word"))
    equal((result["stdout"], result["exit_code"], result["session"]), ("kept\nword\n", 0, session), "a captured command")
    equal(service.run("session", "exec", session, "--", "no-such-command")[0], 127, "a missing command")
    equal(service.run("session", "exec", session, "--chdir", "/", "pwd")[1], "/\n", "--chdir")
    for words in (["session", "exec", session], ["session", "exec", session, "--json"], ["run", "--level", service.level]):
        status, _, err = service.run(*words, "--", "")
        check(status == 2 and "no command was given" in err, f"{words} with an empty name: {status} {err}")
    shown = service.show("streams")
    equal((shown["id"], shown["state"], shown["level"], shown["workspace"]),
          (session, "RUNNING", service.level, service.workspace), "session show")
    service.good("session", "stop", session)
    equal(service.show(session)["state"], "STOPPED", "the state after stop")
    status, _, err = service.run("session", "exec", session, "true")
    check(status == 126 and "is STOPPED" in err, f"a command of a stopped session: {status} {err}")
    check(session not in service.good("session", "list"), "a stopped session is in `session list`")
    check(session in service.good("session", "list", "--all"), "a stopped session is not in `session list --all`")
    check(not os.path.exists(f"{service.place}/run/corral/s/{session}.sock"), "its socket is left")


def test_output_that_cannot_be_written_is_told(service):
    session = service.create()
    for words in ([], ["--timeout", "60s"]):  # the supervisor's own socket, and the daemon's
        with open("/dev/full", "wb") as full:
            command = service.command("session", "exec", *words, session, "--", "sh", "-c", "echo x; exit 0", stdout=full)
            err = command.communicate()[1].decode()
        equal(command.returncode, 125, f"the status with {words}: {err}")
        check("stdout: No space left on device; part of the data was lost" in err, f"the note with {words}: {err}")


def test_empty_files_of_a_nested_sandbox_end_with_the_session(service):
    """Mount points for names that Corral protects; at level standard, and as root, no sandbox inside makes any."""
    if service.level != "full" or service.uid == 0:
        status, _, err = service.run("session", "exec", service.create("--allow-nested", "--name", "nested"), "true")
        equal(status, 0, f"a command: {err}")
        return
    session = service.create("--allow-nested")
    made = [f"{service.workspace}/{name}" for name in (".envrc", ".agents")]
    service.good("session", "exec", session, "--", "unshare", "-Urm", "sh", "-c", ": >.envrc; mkdir .agents")
    equal([os.path.exists(path) for path in made], [True, True], "while the session lives")
    service.good("session", "stop", session)
    equal([os.path.exists(path) for path in made], [False, False], "after its end")


def test_an_end_that_cannot_be_recorded_is_an_error_and_is_recorded_later(service):
    """A writer of the database that waits stands for a full disk: every change fails."""
    session = service.create("--name", "late")
    database = sqlite3.connect(f"{service.place}/home/.local/state/corral/daemon/sessions.db", isolation_level=None)

    def recorded():
        return database.execute("SELECT state FROM sessions WHERE id = ?", (session,)).fetchone()[0]

    database.execute("BEGIN IMMEDIATE")
    try:
        equal(service.good("session", "exec", "late", "--", "echo", "out"), "out\n", "a command meanwhile")
        check(service.run("session", "create", "--level", service.level)[0] == 126, "a session was created without a record")
        status, _, err = service.run("session", "stop", "late")
        check(status == 126 and "the session has ended, but the database" in err, f"session stop: {status} {err!r}")
        equal((recorded(), service.show(session)["state"]), ("RUNNING", "STOPPED"), "the database, and what the daemon says")
        check(session not in service.good("session", "list"), "an ended session is in `session list`")
    finally:
        database.execute("ROLLBACK")
    check(wait_until(lambda: recorded() == "STOPPED"), "the end was never recorded")
    database.close()
    shown = service.show(session)
    check(shown["reason"] == "stopped by a client" and shown["ended"] >= shown["started"] > 0, f"the row: {shown}")
    service.good("session", "stop", service.create("--name", "late"))


def test_the_rules_about_arguments_hold_for_the_directory_of_a_command(service):
    """With fs.tools=workspace, by --chdir as by an argument, also through a symlink."""
    os.symlink("/etc", f"{service.workspace}/away")
    os.mkdir(f"{service.workspace}/sub")
    session = service.create("--set", "fs.tools=workspace")
    for words in (["--chdir", "/etc", "--", "cat", "hostname"], ["--chdir", "/etc", "--", "ls"], ["--chdir", "away", "--", "ls"],
                  ["--chdir", "sub/../../../..", "--", "ls"], ["--chdir", "away/..", "--", "ls"],
                  ["--chdir", "sub", "--", "ls", "../away/"], ["--", "ls", "away/"]):
        status, _, err = service.run("session", "exec", session, *words)
        equal(status, 126, f"{words}, which printed {err!r}")
        check("fs.tools" in err, f"the reason is not named: {err!r}")
    equal(service.good("session", "exec", session, "--chdir", "sub", "--", "ls", ".."), "away\nsub\n", "a directory of the workspace")
    service.good("session", "stop", session)
    os.unlink(f"{service.workspace}/away")
    os.rmdir(f"{service.workspace}/sub")


def test_the_result_goes_to_a_descriptor_and_a_socket_cancels(service):
    mark = f"612.{os.getpid()}"
    session = service.create()

    def start(*words):
        ours, theirs = socket.socketpair()
        with theirs:
            return ours, service.command("session", "exec", session, "--result-fd", str(theirs.fileno()), *words,
                                         stdin=subprocess.PIPE, pass_fds=[theirs.fileno()])

    ours, process = start("-c", "cat; printf '\\377'; exit 5")
    out, err = process.communicate(b"in ")
    result = json.loads(ours.makefile().read())
    equal((process.returncode, out, err), (5, b"in \xff", b""), "a command with streams")
    equal((result["exit_code"], result["stdout"], result["session"]), (5, None, session), "its result")
    ours, process = start("no-such-command")
    process.communicate()
    equal((process.returncode, json.loads(ours.makefile().read())["reason"]), (127, "setup"), "a missing command")
    ours, process = start("-c", f"setsid sleep {mark} & wait")
    check(wait_until(lambda: marked(mark)), "the command did not begin")
    ours.shutdown(socket.SHUT_WR)
    process.communicate()
    equal(json.loads(ours.makefile().read())["error"]["message"], "cancelled by the caller", "the result of a cancelled command")
    check(wait_until(lambda: not marked(mark)), "a process of a cancelled command is left")
    service.good("session", "stop", session)


def test_exec_needs_no_second_program(service):
    """The client of `session exec` is in corral itself; the other verbs need corrald."""
    session = service.create()
    alone = f"{service.place}/alone"
    os.mkdir(alone, 0o755)
    shutil.copy(service.corral, f"{alone}/corral")

    def run(*words):
        return service.outside([f"{alone}/corral", "session", *words])

    equal(run("exec", session, "--", "sh", "-c", "echo out; echo err >&2; exit 3"), (3, "out\n", "err\n"), "exec without corrald")
    equal(json.loads(run("exec", session, "--json", "--", "echo", "kept")[1])["stdout"], "kept\n", "exec --json without corrald")
    status, _, err = run("list")
    check(status == 125 and "corrald" in err, f"session list without corrald: {status} {err}")
    status, _, err = run("exec", "-d", session, "--", "true")
    check(status == 125 and "corrald" in err, f"a terminal without corrald: {status} {err}")
    shutil.rmtree(alone)
    service.good("session", "stop", session)


def test_an_answer_has_the_result_or_not(service):
    session, client = service.create(), service.client()
    brief = client.call("session.exec", session=session, argv=["sh", "-c", "echo out; exit 4"], result=False)
    equal(brief, {"status": 4, "reason": "exit", "notes": []}, "an answer without a result")
    whole = client.call("session.exec", session=session, argv=["printf", "a\\0b\\n\\377"])
    equal((whole["status"], whole["reason"], whole["notes"]), (0, "exit", []), "an answer")
    equal(whole["result"]["stdout"], "a\0b\n\ufffd", "output with NUL, newline and a byte that is not UTF-8")
    number = client.send("session.exec", session=session, argv=["true"])
    client.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": "\"a\"", "method": "session.exec",
                                      "params": {"session": session, "argv": ["true"], "result": False}}).encode() + b"\n")
    got = {client.line()["id"], client.line()["id"]}
    equal(got, {number, "\"a\""}, "the ids of two answers")
    client.close()
    service.good("session", "stop", session)


def test_many_commands_at_once_have_their_own_answers(service):
    """More than the threads that wait: each command has the thread that read its request."""
    session, clients = service.create(), [service.client() for _ in range(6)]
    for turn in range(5):
        sent = [(client, client.send("session.exec", session=session, argv=["sh", "-c", f"sleep 0.0{turn}; echo {turn}.{n}.{k}"]), f"{turn}.{n}.{k}")
                for n, client in enumerate(clients) for k in range(8)]
        answers = {}
        for client, _, _ in sent:
            line = client.line()
            answers[(client, line["id"])] = line["result"]["result"]["stdout"]
        equal([answers[(client, number)] for client, number, _ in sent], [f"{text}\n" for _, _, text in sent], "their output")
    service.good("session", "exec", session, "--", "true")
    for client in clients:
        client.close()
    service.good("session", "stop", session)


def test_agents_are_listed_with_their_sessions(service):
    """Two agents whose tables are in the user's file, and sessions without one, also after a restart of the daemon."""
    path = f"{service.place}/home/.config/corral/corral.toml"
    with acting_as(service.uid):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write('[agent.lister]\nmode = "read-only"\n[agent.scribe]\nmode = "read-only"\n')

    def agents():
        rows = json.loads(service.good("session", "agents", "--json"))
        return {row["id"]: row for row in rows if row["id"] in ("lister", "scribe", "nobody")}
    try:
        service.good("daemon", "reload")
        equal(agents(), {}, "agents before")
        first = [service.create("--agent", "lister") for _ in range(2)]
        second, none = service.create("--agent", "scribe"), service.create()
        equal(list(agents()), ["scribe", "lister"], "the last one first")
        service.good("session", "stop", first[0])
        rows, ended = agents(), service.show(first[0])
        equal({name: (row["sessions"], row["alive"]) for name, row in rows.items()}, {"lister": (2, 1), "scribe": (1, 1)}, "their sessions")
        equal((rows["lister"]["first"], rows["lister"]["last"]), (ended["created"], ended["ended"]), "first and last seen")
        status, _, err = service.run("session", "create", "--agent", "nobody")
        check(status == 126, f"an agent without a table: {status} {err}")
        equal(agents()["nobody"]["sessions"], 1, "a session that failed")
        service.stop()
        service.start()
        text = service.good("session", "agents").splitlines()
        equal(text[0].split(), ["AGENT", "SESSIONS", "ALIVE", "FIRST", "SEEN", "LAST", "SEEN"], "the heading")
        equal(sorted(line.split()[:3] for line in text[1:] if line.split()[0] in agents()), [["lister", "2", "0"], ["nobody", "1", "0"], ["scribe", "1", "0"]], "after a restart")
        equal([service.show(session)["state"] for session in (second, none)], ["STOPPED"] * 2, "their states")
    finally:
        os.unlink(path)
        service.good("daemon", "reload")


def test_a_session_that_cannot_start_is_failed_and_says_why(service):
    status, _, err = service.run("session", "create", "--name", "bad", "--read", "/no/such/path")
    check(status == 2 and "/no/such/path" in err, f"a path that does not exist: {status} {err}")
    shown = service.show("bad")
    check(shown["state"] == "FAILED" and "/no/such/path" in shown["reason"], f"its record: {shown}")
    status, _, err = service.run("session", "create", "--name", "a/b")
    check(status == 2 and "name of a session" in err, f"an invalid name: {status} {err}")
    status, _, err = service.run("session", "create", "--tools", "no_such")
    check(status == 2 and "no_such" in err, f"a tool that does not exist: {status} {err}")
    status, _, err = service.run("session", "create", "--bridge", "")
    check(status == 2 and "--bridge" in err and "remedy" in err, f"a bridge without a command: {status} {err}")
    for words in (("exec", "bad", "true"), ("stop", "bad")):
        status, _, err = service.run("session", *words)
        check(status == 126 and "is FAILED" in err and "corral session create" in err, f"{words}: {status} {err}")
    service.create("--name", "taken")
    status, _, err = service.run("session", "create", "--name", "taken")
    check(status == 2 and "taken is alive" in err, f"a name that is taken: {status} {err}")
    service.good("session", "stop", "taken")


def test_a_failure_is_an_object_where_a_result_would_be_one(service):
    """As of a run: a program that reads stdout has one object, whatever happened; a usage error is for people."""
    session = service.create()
    for words, wanted, reason, message in ((("nosuch", "--json", "true"), 126, "refused", "there is no session"),
                                           ((session, "--json", "/no/such/program"), 127, "setup", "/no/such/program"),
                                           ((session, "--json", "--chdir", "/no/such/dir", "true"), 125, "setup", "/no/such/dir")):
        status, out, err = service.run("session", "exec", *words)
        result = json.loads(out)
        equal((status, err, result["reason"], result["exit_code"]), (wanted, "", reason, None), f"{words}")
        check(message in result["error"]["message"], f"{words}: {result['error']}")
    run = service.run("run", "--level", service.level, "--json", "/no/such/program")
    equal(sorted(json.loads(run[1])), sorted(result), "the members of a run's object")
    status, out, err = service.run("session", "exec", session, "--json", "--timeout", "x", "true")
    check(status == 2 and out == "" and "invalid time" in err, f"a usage error: {status} {out} {err}")
    status, out, err = service.run("session", "exec", "nosuch", "true")
    check(status == 126 and out == "" and "there is no session" in err, f"without --json: {status} {out} {err}")
    service.good("session", "stop", session)


def test_a_command_of_a_session_asks_about_its_own(service):
    """`session show` by the socket of the session; about another one, or all, it learns how it is to ask, and nothing else."""
    own = service.create("--name", "own", "--read", os.path.dirname(service.corral))
    other = service.create("--name", "other")
    inside = ("session", "exec", own, "--", service.corral)
    shown = json.loads(service.good(*inside, "session", "show", "--json", own))
    equal((shown["id"], shown["state"], "supervisor" in shown), (own, "RUNNING", False), "its own session")
    for words in (("session", "show", other), ("session", "show", "other"), ("session", "list"), ("daemon", "status"), ("session", "create")):
        status, out, err = service.run(*inside, *words)
        check(status == 125 and out == "" and "a command of a session can use" in err, f"{words}: {status} {out} {err}")
    for session in (own, other):
        service.good("session", "stop", session)


def test_a_session_names_what_a_run_warns_of(service):
    """A refused request of a skill, and no sandbox at all: on stderr, in the object, and for others in the activity."""
    path = f"{service.place}/skill.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write('name = "fetcher"\n[requires]\nnet.allow = ["example.org"]\n')
    wanted = "skill fetcher does not get net.allow example.org"

    def warnings_of(*words):
        status, out, err = service.run("session", "create", "--json", *words)
        equal(status, 0, f"status, with {err!r}")
        made = json.loads(out)
        rows = [json.loads(line) for line in service.good("session", "activity", "--json", made["id"]).splitlines()]
        service.good("session", "stop", made["id"])
        equal([row["text"] for row in rows if row["kind"] == "warning"], made["warnings"], "in the activity")
        equal([line for line in err.splitlines() if "warning: " in line], [f"corral: warning: {text}" for text in made["warnings"]], "on stderr")
        return made["warnings"]
    run = service.run("run", "--level", service.level, "--skill", path, "--", "true")
    check(wanted in run[2], f"the control, a run: {run}")
    check(any(text.startswith(wanted) for text in warnings_of("--level", service.level, "--skill", path)), "the skill's request")
    check(not any("skill" in text for text in warnings_of("--level", service.level)), "a session without the skill")
    check(any("NOTHING is protected" in text for text in warnings_of("--level", "none", "--accept-no-sandbox")), "level none")


def test_processes_files_and_tmp_last_until_the_session_ends(service):
    mark = f"610.{os.getpid()}"
    session = service.create()
    service.good("session", "exec", session, "-c", f"echo kept >$TMPDIR/f; echo shared >f; setsid sleep {mark} & ")
    equal(service.good("session", "exec", session, "-c", "cat $TMPDIR/f f"), "kept\nshared\n", "files of an earlier command")
    with open(f"{service.workspace}/f", encoding="utf-8") as file:
        equal(file.read(), "shared\n", "the file in the workspace")
    check(wait_until(lambda: marked(mark)), "the background process has ended with its command")
    before = children(service.process.pid)
    service.good("session", "stop", session)
    check(wait_until(lambda: not marked(mark)), "the background process survived its session")
    check(wait_until(lambda: not children(service.process.pid) & before or len(children(service.process.pid)) < len(before)),
          "processes of the session are left")


def test_stop_sends_term_before_kill(service):
    session = service.create()
    process = service.command("session", "exec", session, "-c", "trap 'echo ended >end; exit' TERM; echo >began; while :; do sleep 0.05; done")
    check(wait_until(lambda: os.path.exists(f"{service.workspace}/began")), "the command did not begin")
    service.good("session", "stop", session)
    process.communicate()
    check(os.path.exists(f"{service.workspace}/end"), "the command got no SIGTERM")
    os.unlink(f"{service.workspace}/began")
    os.unlink(f"{service.workspace}/end")


def test_a_command_that_a_stop_ends_says_so(service):
    """Its client would read a signal of nobody: by the short way, and with a token by the daemon."""
    token = f"{service.place}/home/stopped-token"
    began = [f"{service.workspace}/began{n}" for n in range(2)]
    for words, step, reason in ((("--name", "brief"), "sleep 0.05", "stopped by a client"), (("--cpu-total", "300ms"), ":", "processor time")):
        session = service.create("--token-file", token, *words)
        commands = [service.command("session", "exec", session, *more, "-c", f"echo >{path}; until [ -e {began[0]} ] && [ -e {began[1]} ]; do sleep 0.01; done; while :; do {step}; done")
                    for path, more in zip(began, ((), ("--token-file", token)))]
        check(wait_until(lambda: all(os.path.exists(path) for path in began)), "the commands did not begin")
        if words[0] == "--name":
            service.good("session", "stop", session)
        for command in commands:
            _, err = command.communicate(timeout=HUNG)
            check(command.returncode in (137, 143), f"{words}: {command.returncode} {err!r}")
            check(b"the session was stopped: " in err and reason.encode() in err, f"{words}: {err!r}")
        for path in (token, *began):
            os.unlink(path)
    # A control: what a command itself does is no stop.
    session = service.create()
    _, _, err = service.run("session", "exec", session, "-c", "kill -TERM $$")
    equal(err, "", "a command that ends itself by a signal")
    equal(re.match(r"cpu +\d+\.\d{3} s \((cgroup|sampled)\)$", service.good("session", "show", session).splitlines()[-1]) is None, False, "its time")
    service.good("session", "stop", session)


def test_a_command_that_ignores_term_is_killed(service):
    mark = f"611.{os.getpid()}"
    session = service.create()
    process = service.command("session", "exec", session, "-c", f"trap '' TERM; echo >deaf; sleep {mark}")
    check(wait_until(lambda: os.path.exists(f"{service.workspace}/deaf")), "the command did not begin")
    service.good("session", "stop", session)
    process.communicate()
    check(wait_until(lambda: not marked(mark)), "a process that ignores SIGTERM survived")
    os.unlink(f"{service.workspace}/deaf")


def test_a_client_that_dies_takes_its_command_along_and_no_other(service):
    marks = [f"612.{os.getpid()}", f"613.{os.getpid()}"]
    session = service.create()
    clients = [service.command("session", "exec", session, "-c", f"setsid sleep {mark} & sleep {mark}") for mark in marks]
    check(wait_until(lambda: all(len([pid for pid in marked(mark) if pid not in [c.pid for c in clients]]) >= 2 for mark in marks)),
          "the commands did not begin")
    clients[0].send_signal(signal.SIGKILL)
    clients[0].wait()  # its pipes stay open: the time-out of the command would close them, too
    check(wait_until(lambda: not marked(marks[0])), "the command of a dead client is alive")
    clients[0].communicate()
    check(marked(marks[1]), "the command of another client is gone")
    equal(service.show(session)["state"], "RUNNING", "the state of the session")
    service.good("session", "stop", session)
    clients[1].communicate()


def test_serial_sessions_run_one_command_at_a_time(service):
    for words, wanted in ((["--serial"], "one end two end "), ([], "one two end end ")):
        session = service.create(*words)
        log = f"{service.workspace}/log"
        first = service.command("session", "exec", session, "-c", "printf 'one ' >>log; while ! [ -e go ]; do sleep 0.02; done; printf 'end ' >>log")
        check(wait_until(lambda: os.path.exists(log)), "the first command did not begin")
        second = service.command("session", "exec", session, "-c", "printf 'two ' >>log; while ! [ -e go ]; do sleep 0.02; done; printf 'end ' >>log")
        if not words:
            check(wait_until(lambda: "two" in open(log, encoding="utf-8").read()), "the second command did not begin")
        else:  # the daemon has the second request before it gets this answer
            wait_until(lambda: int(re_metric(service, "corral_execs_total")) >= 2)
        with open(f"{service.workspace}/go", "w", encoding="utf-8"):
            pass
        first.communicate()
        second.communicate()
        with open(log, encoding="utf-8") as file:
            equal(file.read(), wanted, f"the order with {words}")
        os.unlink(log)
        os.unlink(f"{service.workspace}/go")
        service.good("session", "stop", session)


def re_metric(service, name):
    lines = [line for line in service.good("daemon", "metrics").splitlines() if line.startswith(name + " ")]
    equal(len(lines), 1, f"lines of {name}")
    return lines[0].split()[1]


def test_a_session_ends_at_its_time_out(service):
    mark = f"614.{os.getpid()}"
    session = service.create("--session-timeout", "1s")
    process = service.command("session", "exec", session, "sleep", mark)
    process.communicate()
    check(wait_until(lambda: service.show(session)["state"] == "STOPPED"), "the session did not end")
    check("time-out" in service.show(session)["reason"], f"its reason: {service.show(session)}")
    check(not marked(mark), "its command is alive")
    status, _, err = service.run("session", "create", "--session-timeout", "soon")
    check(status == 2 and "a time such as" in err, f"an invalid time: {status} {err}")


def test_a_sandbox_that_is_killed_ends_its_session_and_no_other(service):
    first, second = service.create(), service.create()
    supervisors = {session: service.show(session)["supervisor"] for session in (first, second)}
    os.kill(supervisors[first], signal.SIGKILL)
    check(wait_until(lambda: service.show(first)["state"] == "FAILED"), "a session without supervisor lives")
    check("signal 9" in service.show(first)["reason"], f"its reason: {service.show(first)}")
    equal(service.good("session", "exec", second, "echo", "fine"), "fine\n", "the other session")
    inner = children(supervisors[second])
    os.kill(min(inner), signal.SIGKILL)
    check(wait_until(lambda: service.show(second)["state"] == "FAILED"), "a session without its first process lives")
    check(wait_until(lambda: not any(alive(pid) for pid in inner)), "processes of the session are left")


def test_reload_keeps_the_old_files_if_the_new_ones_are_bad(service):
    path = f"{service.place}/home/.config/corral/corral.toml"
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    for name in (".config", ".config/corral"):
        os.chown(f"{service.place}/home/{name}", service.uid, service.uid)

    def write(text):
        """In one step: the daemon watches the file, and would load it while it is empty."""
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.chown(file.name, service.uid, service.uid)
        os.chmod(file.name, 0o600)
        os.rename(file.name, path)

    def value():
        session = service.create()
        out = service.good("session", "exec", session, "-c", "echo $FROM_FILE")
        service.good("session", "stop", session)
        return out.strip()

    write('[env.set]\nFROM_FILE = "one"\n')
    check(wait_until(lambda: value() == "one"), "the new file is not loaded")
    service.good("daemon", "reload")
    loaded = json.loads(service.good("daemon", "status", "--json"))["policy"]["loaded"]
    service.process.send_signal(signal.SIGHUP)
    check(wait_until(lambda: json.loads(service.good("daemon", "status", "--json"))["policy"]["loaded"] > loaded), "SIGHUP reloads nothing")
    running = service.create()
    write('[env.set]\nFROM_FILE = "two"\n')
    service.good("daemon", "reload")
    equal(value(), "two", "after daemon reload")
    equal(service.good("session", "exec", running, "-c", "echo $FROM_FILE").strip(), "one", "a session from before")
    write("env = nonsense\n")
    status, _, err = service.run("daemon", "reload")
    check(status != 0 and "stay in force" in err, f"a bad file: {status} {err}")
    equal(value(), "two", "after a bad file")
    check("reload failed" in service.good("daemon", "status"), "`daemon status` does not show the error")
    os.unlink(path)
    service.good("daemon", "reload")
    equal(value(), "", "without a file")
    check("reload failed" not in service.good("daemon", "status"), "`daemon status` still shows the error")
    service.good("session", "stop", running)


def test_a_changed_file_is_loaded_and_a_bad_one_is_not(service):
    home = f"{service.place}/home"
    folder, path = f"{home}/.config/corral", f"{home}/.config/corral/corral.toml"

    def own(name, mode):
        os.chown(name, service.uid, service.uid)
        os.chmod(name, mode)

    def save(text, name=path):
        """In one step: the daemon would load a file that is still empty."""
        with open(f"{home}/.new", "w", encoding="utf-8") as file:
            file.write(text)
        own(file.name, 0o600)
        os.rename(file.name, name)

    def policy():
        return json.loads(service.good("daemon", "status", "--json"))["policy"]

    def loads(what, reason):
        """Waits for a new generation, or for the error of a bad file."""
        before = policy()
        what()
        check(wait_until(lambda: (policy()["generation"], policy()["error"]) != (before["generation"], before["error"])), reason)
        return policy()

    def make_folder():
        for name in (f"{home}/.config", folder):
            os.makedirs(name, mode=0o700, exist_ok=True)
            own(name, 0o700)
        with open(path, "w", encoding="utf-8") as file:  # not in one step
            file.write('[env.set]\nFROM_FILE = "one"\n')
        own(path, 0o600)

    def value(*words):
        session = service.create(*words)
        out = service.good("session", "exec", session, "-c", "echo $FROM_FILE; touch made 2>/dev/null && echo wrote; rm -f made")
        service.good("session", "stop", session)
        return out.split()

    shutil.rmtree(folder, ignore_errors=True)
    service.good("daemon", "reload")
    check(policy()["watched"], "the files are not watched")
    loads(make_folder, "a new directory with a file")
    check(wait_until(lambda: value() == ["one", "wrote"]), "the new file")
    running = service.create()

    def replace():
        save('[env.set]\nFROM_FILE = "two"\n[agent.reader]\nmode = "read-only"\n', f"{folder}/.new")
        os.rename(f"{folder}/.new", path)
    loads(replace, "a rename over the file")
    equal(value(), ["two", "wrote"], "after a rename")
    equal(value("--agent", "reader"), ["two"], "the table of the session's agent")
    status, _, err = service.run("session", "create", "--agent", "raeder")
    check(status == 126 and "[agent.raeder]" in err, f"an agent without a table: {status} {err}")
    equal(service.good("session", "exec", running, "-c", "echo $FROM_FILE").strip(), "one", "a session from before")
    bad = loads(lambda: save("env = nonsense\n"), "a bad file")
    check(bad["error"] and bad["failed"], f"the error of a bad file: {bad}")
    equal(value(), ["two", "wrote"], "after a bad file")
    check(loads(lambda: save('[env.set]\nFROM_FILE = "three"\n'), "a good file again")["error"] is None, "the error stays")
    equal(value(), ["three", "wrote"], "after a good file")
    generation = policy()["generation"]
    save("x", f"{folder}/other")  # of another name: no change
    loads(lambda: os.unlink(path), "a removed file")
    equal(policy()["generation"], generation + 1, "generations")
    equal(value(), ["wrote"], "without a file")
    service.good("session", "stop", running)
    shutil.rmtree(folder)


def test_activity_is_listed_and_followed(service):
    session = service.create("--name", "busy")
    follower = service.command("session", "activity", "busy", "-f", "--json")
    line = json.loads(follower.stdout.readline())
    equal((line["kind"], line["text"]), ("state", "RUNNING"), "the first activity")
    service.good("session", "exec", session, "--", "/usr/bin/python3", "-c", REPORT, "one\x1b[2J")
    line = json.loads(follower.stdout.readline())
    equal((line["kind"], line["text"]), ("note", "one\x1b[2J"), "an activity that was followed")
    text = service.good("session", "activity", "busy")
    check("note" in text and "one?[2J" in text and "\x1b" not in text, f"control characters: {text!r}")
    service.good("session", "stop", session)
    out, err = follower.communicate(timeout=HUNG)
    equal(([json.loads(line)["text"] for line in out.splitlines()], err, follower.returncode), (["STOPPED"], b"", 0), "the end of the follower")
    equal(service.good("session", "activity", session, "-f", "--json").count("\n"), 3, "rows of a session that has ended")


def test_no_command_writes_what_the_daemon_records(service):
    """A reported end, limit or warning would be taken for one of Corral's; the words of a session are its own."""
    made = service.made()
    client = Client(f"{service.place}/run/corral/s/{made['id']}.sock", service.uid)
    client.call("session.authenticate", token=made["token"])
    for kind in ("bridge", "command", "copy", "limit", "state", "warning"):
        try:
            client.call("activity.report", kind=kind, text="FAILED")
            check(False, f"{kind} was recorded")
        except Refused as refused:
            check(refused.code == -32602 and kind in refused.message, f"{kind}: {refused.code} {refused.message}")
    client.call("activity.report", kind="state-of-work", text="FAILED")
    rows = [(row["kind"], row["text"]) for row in service.client().call("session.activity", session=made["id"])["activity"]]
    equal(rows, [("state", "RUNNING"), ("state-of-work", "FAILED")], "the activity")
    service.good("session", "stop", made["id"])


def test_a_follower_learns_that_the_daemon_was_killed(service):
    """And one that comes later, of a session without a row about its end, does not wait for one."""
    session = service.create()
    follower = service.command("session", "activity", session, "-f")
    try:
        check(b"RUNNING" in follower.stdout.readline(), "the first activity")
        service.process.kill()
        service.process.wait(HUNG)
        _, err = follower.communicate(timeout=HUNG)
        check(follower.returncode == 125 and b"corral daemon status" in err, f"{follower.returncode} {err!r}")
    finally:
        follower.kill()
        follower.communicate()
        service.start()
    equal(service.show(session)["state"], "FAILED", "the state")
    check("RUNNING" in service.good("session", "activity", session, "-f"), "its rows")


REPORT = """
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["CORRAL_SESSION_SOCKET"])
s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "activity.report",
                      "params": {"kind": "note", "text": sys.argv[1]}}).encode() + b"\\n")
assert "result" in json.loads(s.makefile().readline())
"""


def test_a_second_daemon_is_refused_and_a_stale_socket_is_replaced(service):
    process = service.command("daemon")
    _, err = process.communicate()
    check(process.returncode == 126 and b"another daemon" in err, f"a second daemon: {process.returncode} {err}")
    session = service.create()
    supervisor = service.show(session)["supervisor"]
    service.process.send_signal(signal.SIGKILL)
    service.process.wait()
    check(os.path.exists(service.admin), "a killed daemon removed its socket?")
    at = service.log.tell()
    service.start()
    check(f"{session} was RUNNING".encode() in service.text(at), "the new daemon does not report the session")
    equal(service.show(session)["state"], "FAILED", "the state of a session whose daemon died")
    check(wait_until(lambda: not alive(supervisor)), "a supervisor survived its daemon")


def test_a_daemon_waits_for_the_locks_of_one_that_was_killed(service):
    """A process that holds them and serves no socket stands for the moment between the signal and its end."""
    service.stop()
    places = [f"{service.place}/run/corral/daemon.lock", f"{service.place}/home/.local/state/corral/daemon/daemon.lock"]
    at = len(service.text())
    try:
        for place in places:
            with open(place, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                process = service.command("daemon", stdout=service.log, stderr=service.log)
                check(wait_until(lambda: waits(process.pid, place)), f"the daemon did not try {place}")
            check(wait_until(lambda: b"ready on" in service.text(at)), f"{place}: {service.text(at)!r}")
            process.terminate()
            equal(process.wait(HUNG), 0, "the end of the daemon")
            at = len(service.text())
        with open(places[0], "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status, _, err = service.run("daemon")
            check(status == 126 and "another daemon is running" in err, f"a lock that stays: {status} {err}")
    finally:
        service.start()


def waits(pid, place):
    """It has the file open, and sleeps for a moment."""
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") == place for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def test_the_daemon_ends_its_sessions_at_sigterm(service):
    mark = f"615.{os.getpid()}"
    session = service.create()
    process = service.command("session", "exec", session, "sleep", mark)
    check(wait_until(lambda: len(marked(mark)) >= 2), "the command did not begin")
    service.stop()
    equal(service.process.returncode, 0, "the status of the daemon")
    process.communicate()
    check(not marked(mark), "a command survived the daemon")
    check(not os.path.exists(service.admin), "the admin socket is left")
    service.start()
    equal(service.show(session)["state"], "STOPPED", "the state of the session")


def test_a_passed_socket_is_the_admin_socket(service):
    """As systemd does it: LISTEN_FDS."""
    service.stop()
    code = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); os.dup2(s.fileno(), 3); "
            "os.set_inheritable(3, True); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); "
            "os.execv(sys.argv[2], sys.argv[2:])")
    process = subprocess.Popen(["/usr/bin/python3", "-c", code, service.admin, service.corral, "daemon"], env=service.environment,
                               cwd=service.place, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **service.account)
    try:
        check(b"ready on" in process.stderr.readline(), "the daemon did not start")
        service.good("daemon", "status")
        process.terminate()
        process.communicate()
        check(os.path.exists(service.admin), "the daemon removed the socket of systemd")
        os.unlink(service.admin)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        service.start()


def test_the_commands_of_the_document_work(service):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(f"{root}/docs/sessions.md", encoding="utf-8") as file:
        parts = file.read().split("```sh\n")[1:]
    script = "".join(part.split("```")[0] for part in parts)
    service.stop()
    bin_ = f"{service.place}/home/bin"
    os.makedirs(bin_, exist_ok=True)
    os.symlink(service.corral, f"{bin_}/corral")
    try:
        done = subprocess.run(["sh", "-euc", script], env={**service.environment, "PATH": f"{bin_}:{service.environment['PATH']}"},
                              cwd=service.workspace, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, text=True, timeout=120, **service.account)
        check(done.returncode == 0 and "object\n" in done.stdout and "done\n" in done.stdout and '"exit_code":3' in done.stdout,
              f"{done.returncode} {done.stdout} {done.stderr}")
    finally:
        os.unlink(f"{bin_}/corral")
        service.start()


def test_descriptors_that_are_not_streams_are_refused(service):
    session = service.create()
    client = service.client()
    null, path = os.open("/dev/null", os.O_RDWR), os.open("/", os.O_PATH)
    for fds, wanted in (([null, null], "2 of 3"), ([null, null, path], "cannot be relayed")):
        try:
            client.call("session.exec", fds=fds, session=session, argv=["true"], streams="pass")
            check(False, f"{wanted}: accepted")
        except Refused as refused:
            check(wanted in refused.message, refused.message)
        client.close()
        client = service.client()
    equal(client.call("session.exec", fds=[null] * 3, session=session, argv=["sh", "-c", "exit 3"], streams="pass")["status"], 3,
          "a command with /dev/null")
    client.close()
    os.close(null)
    os.close(path)
    service.good("session", "stop", session)


def test_processor_time_of_a_session_is_summed_and_limited(service):
    """Of all its commands, ended ones too; a session without the limit goes on with the same load."""
    burn = "import os, time\nwhile time.process_time() < 0.7: pass"
    limited, free = service.create("--cpu-total", "2s"), service.create()
    for session in (free, limited):
        for _ in range(2):
            service.good("session", "exec", session, "--", "python3", "-c", burn)
    cpu = service.show(free)["cpu"]
    check(cpu["ms"] >= 1300 and cpu["by"] in ("cgroup", "sampled"), f"the time of two ended commands: {cpu}")
    equal(service.show(limited)["cpu"]["limit_ms"], 2000, "the limit")
    status, _, _ = service.run("session", "exec", limited, "--", "python3", "-c", "while True: pass")
    check(status != 0, "a command above the limit")
    check(wait_until(lambda: service.show(limited)["state"] == "STOPPED"), "the session did not end")
    check("--cpu-total" in service.show(limited)["reason"], service.show(limited)["reason"])
    equal(service.good("session", "exec", free, "--", "echo", "alive"), "alive\n", "the session without a limit")
    service.good("session", "stop", free)


def test_processor_time_of_children_that_nobody_waits_for_is_counted(service):
    """The kernel forgets the time of a child whose parent ignores SIGCHLD; the samples of its life stay."""
    burn = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 1.2:
            pass
        os._exit(0)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
"""
    session = service.create("--cpu-total", "4s")
    status, _, _ = service.run("session", "exec", session, "--", "python3", "-c", burn)
    check(status != 0, "30 children of 1.2 s each ended below a limit of 4 s")
    check(wait_until(lambda: service.show(session)["state"] == "STOPPED"), "the session did not end")
    check("--cpu-total" in service.show(session)["reason"], service.show(session)["reason"])


def test_the_resolved_values_of_a_session_are_stored(service):
    session = service.create("--net", "none", "--mode", "read-only")
    row = service.show(session)
    equal((row["mode"], row["net"], row["profile"], row["workspace"]), ("read-only", "none", "workspace", service.workspace),
          "the values")
    check(len(row["policy"]) == 64, f"the hash of the policy: {row['policy']!r}")
    service.good("session", "stop", session)
    service.stop()
    service.start()
    equal(service.show(session)["mode"], "read-only", "after a restart of the daemon")
