# SPDX-License-Identifier: Apache-2.0
"""Questions of runs with --ask that the daemon shows: answered, refused, withdrawn; never from inside.

Each refusal has the same command outside as its control, a granted twin, and a verdict from the output of the
command and the files of the host.
"""
import json
import os
import socket

from service import HUNG, Client, Refused, check, equal, wait_until

NO_SESSION, PARAMS = -32002, -32602

# Inside a session: each way to an answer, one line each.
ATTEMPTS = """
import json, os, socket, sys
line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ui.answer",
                   "params": {"question": sys.argv[2], "answer": "allow"}}).encode() + b"\\n"
for path in (sys.argv[1], os.environ.get("CORRAL_SESSION_SOCKET", sys.argv[1])):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        s.sendall(line)
        print(s.makefile().readline().strip() or "closed")
    except OSError as problem:
        print("errno", problem.errno)
"""


def secret(service, name="asked.txt"):
    path = f"{service.place}/ws2/{name}"
    with open(path, "w", encoding="utf-8") as file:
        file.write("the content\n")
    os.chmod(path, 0o644)
    os.chown(path, service.uid, service.uid)
    return path


def asking(service, *words, options=()):
    """A run without a controlling terminal."""
    return service.command("run", "--level", service.level, "--ask", *options, "--", *words, start_new_session=True)


def questions(service):
    return json.loads(service.good("daemon", "questions", "--json"))["questions"]


def next_question(service, path):
    found = wait_until(lambda: [row for row in questions(service) if row["path"] == path])
    check(found, f"no question about {path}")
    return found[0]


def end(process):
    out, err = process.communicate(timeout=HUNG)
    return process.returncode, out.decode(), err.decode()


def test_an_answer_lets_a_run_go_on(service):
    path = secret(service)
    equal(service.outside(["cat", path])[1], "the content\n", "the control outside")
    process = asking(service, "sh", "-c", f"cat {path}; cat {path}")
    row = next_question(service, path)
    equal((row["op"], row["grant"]), ("read", f"--read {path}"), "the question")
    check(row["until"] > row["asked"], "the question has no end")
    service.good("daemon", "answer", row["id"], "allow-for-run")
    equal(end(process)[:2], (0, "the content\n" * 2), "the run with its answer")
    equal(questions(service), [], "the questions after it")


def test_the_option_for_the_daemon(service):
    """Also for a process with a terminal; the run is the same."""
    path = secret(service)
    process = service.command("run", "--level", service.level, "--ask-daemon", "--", "cat", path)
    service.good("daemon", "answer", next_question(service, path)["id"], "allow")
    equal(end(process)[:2], (0, "the content\n"), "the run with its answer")
    status, _, err = service.run("run", "--ask", "--ask-daemon", "--", "true")
    check(status == 2 and "cannot be combined" in err, f"both options: {status}, {err!r}")


def test_allow_is_for_one_call(service):
    path = secret(service)
    process = asking(service, "sh", "-c", f"cat {path}; cat {path}")
    first = next_question(service, path)
    service.good("daemon", "answer", first["id"], "allow")
    second = wait_until(lambda: [row for row in questions(service) if row["id"] != first["id"]])[0]
    service.good("daemon", "answer", second["id"], "refuse")
    status, out, _ = end(process)
    check(status != 0 and out == "the content\n", f"one of two calls was allowed: {status}, {out!r}")


def test_no_answer_is_a_refusal(service):
    path = secret(service)
    for seconds in (1, 10, 100):  # on a loaded machine the question may be over before it is seen
        process = asking(service, "cat", path, options=["--set", f"ask.timeout={seconds}s"])
        found = wait_until(lambda: [row for row in questions(service) if row["path"] == path] or process.poll() is not None, HUNG)
        status, out, _ = end(process)
        check(status != 0 and out == "", f"a run without an answer printed {out!r}")
        if isinstance(found, list):
            break
    check(isinstance(found, list), f"no question about {path}")
    status, _, err = service.run("daemon", "answer", found[0]["id"], "allow")
    check(status != 0 and "its time is over" in err, f"a late answer: {err!r}")


def test_the_end_of_a_run_withdraws_its_questions(service):
    path = secret(service)
    process = asking(service, "cat", path)
    next_question(service, path)
    process.kill()
    process.communicate()
    check(wait_until(lambda: questions(service) == []), "the question of a dead run stays")


def test_no_question_about_a_floor(service):
    """The daemon's own files and a credential are refused at once: there is nothing that it could allow."""
    key = f"{service.place}/home/.ssh/id_rsa"
    os.makedirs(os.path.dirname(key), mode=0o700, exist_ok=True)
    with open(key, "w", encoding="utf-8") as file:
        file.write("a key\n")
    for path in (os.path.dirname(key), key):
        os.chown(path, service.uid, service.uid)
    equal(service.outside(["cat", key])[1], "a key\n", "the control outside")
    status, out, _ = end(asking(service, "cat", key))
    check(status != 0 and out == "", f"a credential: {out!r}")


def test_wrong_answers(service):
    path = secret(service)
    process = asking(service, "cat", path)
    row = next_question(service, path)
    client = service.client()
    for question, answer, code in ((row["id"], "always", PARAMS), (row["id"], "", PARAMS), ("0", "allow", NO_SESSION),
                                   ("9" * 30, "allow", NO_SESSION), (f"{row['id']}x", "allow", NO_SESSION)):
        try:
            client.call("ui.answer", question=question, answer=answer)
            check(False, f"{question} {answer} was accepted")
        except Refused as problem:
            equal(problem.code, code, f"{question} {answer}")
    client.close()
    service.good("daemon", "answer", row["id"], "refuse")
    check(end(process)[0] != 0, "a refused run succeeded")


def test_a_session_cannot_answer(service):
    """Neither by the admin socket nor by its own; the same answer outside is accepted."""
    path = secret(service)
    session = service.create()
    process = asking(service, "cat", path)
    row = next_question(service, path)
    out = service.good("session", "exec", session, "--", "python3", "-c", ATTEMPTS, service.admin, row["id"])
    lines = out.splitlines()
    equal(len(lines), 2, "attempts")
    check(all("errno" in line or '"error"' in line or line == "closed" for line in lines), f"an attempt: {out!r}")
    equal([one["id"] for one in questions(service)], [row["id"]], "the question after the attempts")
    check(process.poll() is None, "the run went on")
    service.good("daemon", "answer", row["id"], "allow")  # the twin
    equal(end(process)[:2], (0, "the content\n"), "the run after the answer outside")
    service.good("session", "stop", session)


def test_a_run_cannot_answer_itself(service):
    path = secret(service)
    process = asking(service, "sh", "-c", f"(sleep 1; cat {path}) & python3 -c '{ATTEMPTS}' {service.admin} 1; wait")
    row = next_question(service, path)
    service.good("daemon", "answer", row["id"], "refuse")
    _, out, _ = end(process)
    check("the content" not in out and "result" not in out, f"a run answered: {out!r}")


def test_a_run_cannot_replace_the_daemons_socket(service):
    """Not even with a grant of the directory above it; its neighbours there can be changed."""
    above, level = os.path.dirname(os.path.dirname(service.admin)), ["--level", service.level]
    script = 'mv "$1/corral" "$1/gone"; rm -f "$1/corral/admin.sock"; mkdir "$1/corral"; echo x >"$1/corral/x"; echo x >"$1/twin"'
    names = sorted(os.listdir(os.path.dirname(service.admin)))
    service.run("run", *level, "--write", above, "--", "sh", "-c", script, "sh", above)
    check(os.path.exists(f"{above}/twin"), "the twin: another name in that directory")
    os.unlink(f"{above}/twin")
    check(not os.path.exists(f"{above}/gone"), "the directory was renamed")
    equal(sorted(os.listdir(os.path.dirname(service.admin))), names, "the daemon's files")
    status, _, err = service.run("run", *level, "--write", os.path.dirname(service.admin), "--", "true")
    check(status != 0 and "Corral itself" in err, f"a grant of the directory: {status} {err}")


def test_the_daemon_takes_only_a_socket(service):
    client = service.client()
    reader, writer = os.pipe()
    for fds in ([], [reader], [reader, writer]):
        try:
            client.call("ask.hold", fds=fds, run="222222222222")
            check(False, f"{len(fds)} descriptors of a pipe were accepted")
        except Refused as problem:
            equal(problem.code, PARAMS, f"{len(fds)} descriptors")
    os.close(reader)
    os.close(writer)
    client.close()


def test_lines_that_are_no_questions_end_the_channel(service):
    client = service.client()
    ours, theirs = socket.socketpair()
    client.call("ask.hold", fds=[theirs.fileno()], run="222222222222")
    theirs.close()
    ours.settimeout(HUNG)
    ours.sendall(b"x" * 200000 + b"\n")
    try:
        equal(ours.recv(1), b"", "the channel after nonsense")
    except ConnectionError:
        pass  # with bytes that nobody read
    equal(questions(service), [], "questions")
    client.close()
    ours.close()


def test_another_user_cannot_ask(service):
    if os.geteuid() != 0 or service.uid == 0:
        return
    os.chmod(f"{service.place}/run", 0o755)  # the directory of Corral beneath is private
    try:
        Client(service.admin, 65534).close()
        check(False, "another user connected")
    except OSError:
        pass
    finally:
        os.chmod(f"{service.place}/run", 0o700)


def test_the_end_of_the_daemon_refuses(service):
    path = secret(service)
    process = asking(service, "cat", path)
    next_question(service, path)
    service.stop()
    status, out, _ = end(process)
    check(status != 0 and out == "", f"without a daemon: {out!r}")
    status, _, err = end(asking(service, "true"))
    check(status != 0 and "there is neither: nothing listens" in err, f"no daemon: {err!r}")
    service.start()
