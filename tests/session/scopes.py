# SPDX-License-Identifier: Apache-2.0
"""Every method, by every kind of client, in every state; and tokens.

The table is written from the requirements, not from the daemon's: a session may execute, report and
read its own status, and nothing else.
"""
import contextlib
import json
import os
import re
import resource
import signal
import time

from service import Client, Refused, check, equal, wait_until

FORBIDDEN, NO_SESSION, STATE, LIMIT, NO_TOKEN = -32001, -32002, -32003, -32004, -32005
NO_METHOD, PARAMS = -32601, -32602

# method: (params, who may send it)
METHODS = {
    "ping": ({}, {"admin", "inside", "token", "none"}),
    "daemon.status": ({}, {"admin"}),
    "daemon.metrics": ({}, {"admin"}),
    "daemon.reload": ({}, {"admin"}),
    "session.list": ({}, {"admin"}),
    "session.agents": ({}, {"admin"}),
    "session.show": ({}, {"admin", "inside", "token"}),
    "session.exec": ({"argv": ["true"]}, {"admin", "inside", "token"}),
    "session.attach": ({}, {"admin"}),
    "file.write": ({"path": "scope.txt", "content": "x"}, {"admin", "inside", "token"}),
    "file.edit": ({"path": "scope.txt", "old_text": "x", "new_text": "x"}, {"admin", "inside", "token"}),
    "file.read": ({"path": "scope.txt"}, {"admin", "inside", "token"}),
    "file.send": ({"path": "scope.txt"}, {"admin", "inside", "token"}),
    "file.list": ({}, {"admin", "inside", "token"}),
    "file.make_directory": ({"path": "scope.d"}, {"admin", "inside", "token"}),
    "file.move": ({"from": "scope.txt", "to": "scope.txt2", "overwrite": True}, {"admin", "inside", "token"}),
    "file.delete": ({"path": "nothing-here"}, {"admin", "inside", "token"}),
    "session.activity": ({}, {"admin"}),
    "session.token": ({}, {"admin"}),
    "session.create": ({"cwd": "/nowhere"}, {"admin"}),
    "pool.hold": ({"key": "0" * 32, "count": 1}, {"admin"}),
    "ui.overview": ({}, {"admin"}),
    "ui.view": ({"view": "sessions"}, {"admin"}),
    "ui.answer": ({"question": "1", "answer": "allow"}, {"admin"}),
    "ui.apply": ({"id": "222222222222"}, {"admin"}),
    "ui.discard": ({"id": "222222222222"}, {"admin"}),
    "ui.follow": ({}, {"admin"}),
    "ask.hold": ({"run": "222222222222"}, {"admin"}),
    "page.open": ({}, {"admin"}),
    "session.authenticate": ({}, {"none"}),
    "activity.report": ({"kind": "k", "text": "t"}, {"inside", "token"}),
    # Last: they change the state, so only those that may not are tried while others need it.
    "session.revoke": ({}, set()),
    "session.stop": ({}, set()),
    "daemon.shutdown": ({}, set()),
}
OF_SESSION = {"session.attach", "file.write", "file.edit", "file.read", "file.send", "file.list", "file.make_directory", "file.move",
              "file.delete", "session.show", "session.exec", "session.activity", "session.token", "session.revoke", "session.stop"}
ENDED = {"session.show", "session.activity"}  # possible after the end

CALLS = """
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["CORRAL_SESSION_SOCKET"])
f = s.makefile()
for number, (method, params) in enumerate(json.loads(sys.argv[1])):
    s.sendall(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\\n")
    print(f.readline().strip())
"""


def socket_of(service, session):
    return f"{service.place}/run/corral/s/{session}.sock"


def with_token(service, session, token):
    client = Client(socket_of(service, session), service.uid)
    client.call("session.authenticate", token=token)
    return client


def code_of(client, method, params):
    try:
        client.call(method, **params)
        return 0
    except Refused as refused:
        return refused.code


def expected(who, method):
    """0 or FAILED for a client that may send it, else the refusal."""
    if who in METHODS[method][1]:
        return {"session.create": {-32000}, "file.move": {0, -32000}, "file.delete": {-32000}, "ui.answer": {NO_SESSION},
                "ui.apply": {PARAMS}, "ui.discard": {PARAMS}, "ask.hold": {PARAMS}, "session.attach": {PARAMS},
                "session.authenticate": {PARAMS}}.get(method, {0})  # PARAMS: the method itself refused them
    return {NO_TOKEN} if who == "none" else {FORBIDDEN}


def test_the_table_has_every_method_of_the_daemon(_service):
    """A new method without a row here would be tried by no test of this file."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(f"{root}/src/session/request.c", encoding="utf-8") as file:
        table = file.read().partition("static const struct request_row rows[] = {\n")[2].partition("\n};")[0]
    rows = re.findall(r'^\t\{"([a-z_.]+)", ', table, re.MULTILINE)
    equal(len(rows), table.count("{"), "rows that were read")
    equal(sorted(rows), sorted(METHODS), "the methods of src/session/request.c")


def test_each_method_in_each_scope(service):
    made = service.made()
    session = made["id"]
    clients = {"admin": service.client(), "none": Client(socket_of(service, session), service.uid),
               "token": with_token(service, session, made["token"])}
    for method, (params, _) in METHODS.items():
        for who, client in clients.items():
            if who == "admin" and method in ("session.revoke", "session.stop", "daemon.shutdown"):
                continue  # test_life has them
            more = {"session": session} if who == "admin" and method in OF_SESSION else {}
            got = code_of(client, method, {**params, **more})
            check(got in expected(who, method), f"{method} by {who}: {got}")
    calls = [[method, params] for method, (params, _) in METHODS.items()]
    out = service.good("session", "exec", session, "--", "/usr/bin/python3", "-c", CALLS, json.dumps(calls))
    for (method, _), line in zip(calls, out.splitlines()):
        got = json.loads(line).get("error", {}).get("code", 0)
        check(got in expected("inside", method), f"{method} inside: {got}")
    equal(len(out.splitlines()), len(calls), "answers inside")
    equal(service.show(session)["state"], "RUNNING", "the state afterwards")
    service.good("session", "stop", session)


def test_each_method_after_the_end(service):
    session = service.create()
    service.good("session", "stop", session)
    client = service.client()
    for method in OF_SESSION:
        got = code_of(client, method, {**METHODS[method][0], "session": session})
        equal(got, 0 if method in ENDED else STATE, f"{method} of a stopped session")
        equal(code_of(client, method, {**METHODS[method][0], "session": "sess_" + "0" * 26}), NO_SESSION, f"{method} of no session")
    check(not os.path.exists(socket_of(service, session)), "the socket of a stopped session is there")


def test_unknown_methods_and_params_are_refused(service):
    client = service.client()
    equal(code_of(client, "session.destroy", {}), NO_METHOD, "an unknown method")
    for params in ({"all": True, "more": 1}, {"all": "yes"}, {"__proto__": {}}):
        equal(code_of(client, "session.list", params), PARAMS, f"params {params}")
    for name in ("../../x", "/etc/passwd", "a\0b", "x" * 100000, "", None, 7, {"a": 1}, "sess_../../../../../../../tmp/abcd"):
        equal(code_of(client, "session.show", {"session": name}), PARAMS, f"a session called {str(name)[:20]!r}")
    for number in (-1, 1e308, 10**18):
        got = code_of(client, "session.create", {"cwd": "/", "timeout_ms": number})
        equal(got, PARAMS, f"timeout_ms {number}")
    equal(code_of(client, "session.exec", {"session": "no-such"}), NO_SESSION, "exec in no session")


def test_tokens_missing_wrong_foreign_expired_and_revoked(service):
    first, second = service.made(), service.made()
    path = socket_of(service, first["id"])
    client = Client(path, service.uid)
    equal(code_of(client, "session.exec", {"argv": ["true"]}), NO_TOKEN, "no token")
    for name, token in (("wrong", "corral_" + "0" * 64), ("no token", "hello"), ("foreign", second["token"])):
        client = Client(path, service.uid)
        equal(code_of(client, "session.authenticate", {"token": token}), NO_TOKEN, name)
        equal(code_of(client, "session.exec", {"argv": ["true"]}), NO_TOKEN, f"exec after a {name} token")
    equal(code_of(Client(path, service.uid), "session.authenticate", {"token": first["token"] + "\0more"}), PARAMS, "a NUL behind the token")
    # Control: the right one.
    equal(code_of(with_token(service, first["id"], first["token"]), "session.exec", {"argv": ["true"]}), 0, "the right token")
    short = service.client().call("session.token", session=first["id"], lifetime_ms=1)["token"]
    client = Client(path, service.uid)
    time.sleep(0.05)
    try:
        client.call("session.authenticate", token=short)
        check(False, "an expired token was accepted")
    except Refused as refused:
        check("expired" in refused.message, refused.message)
    client = with_token(service, first["id"], first["token"])
    service.good("session", "revoke", first["id"])
    equal(code_of(client, "session.show", {}), NO_TOKEN, "a connection whose token was revoked")
    try:
        Client(path, service.uid).call("session.authenticate", token=first["token"])
        check(False, "a revoked token was accepted")
    except Refused as refused:
        check("revoked" in refused.message, refused.message)
    fresh = service.good("session", "token", first["id"]).strip()
    equal(code_of(with_token(service, first["id"], fresh), "session.show", {}), 0, "a new token")
    for made in (first, second):
        service.good("session", "stop", made["id"])


def test_each_token_expires(service):
    """Also one whose request names no time; none is valid for longer than a year, or for ever."""
    made, admin, week = service.made(), service.client(), 7 * 24 * 3600
    try:
        for words, lifetime, params in (((), week, {}), (("1h",), 3600, {"lifetime_ms": 3600 * 1000}), (("90",), 90, {"lifetime_ms": 90 * 1000})):
            for given in (admin.call("session.token", session=made["id"], **params),
                          json.loads(service.good("session", "token", "--json", made["id"], *words))):
                check(abs(given["expires"] / 1000 - time.time() - lifetime) < 60, f"{words}, {params}: {given['expires']}")
        for wrong in (0, -1, 366 * 24 * 3600 * 1000 + 1, 2**63 - 1):
            equal(code_of(admin, "session.token", {"session": made["id"], "lifetime_ms": wrong}), PARAMS, f"lifetime_ms {wrong}")
            equal(code_of(admin, "session.create", {"cwd": service.workspace, "token_lifetime_ms": wrong}), PARAMS, f"token_lifetime_ms {wrong}")
        status, _, err = service.run("session", "token", made["id"], "367d")
        check(status == 2 and "366d" in err, f"367d: {status} {err}")
    finally:
        service.good("session", "stop", made["id"])


def test_a_connection_loses_its_scope_when_its_token_ends(service):
    made = service.made()
    began = False
    for how, lifetime in (("expired", 1500), ("expired", 10000), ("revoked", 60000)):
        if how == "expired" and began:
            continue  # the command began before the token ended
        token = service.client().call("session.token", session=made["id"], lifetime_ms=lifetime)["token"]
        client = with_token(service, made["id"], token)
        mark = f"{service.place}/ws/alive-{how}"
        number = client.send("session.exec", argv=["sh", "-c", f"echo > {mark}; sleep 600"], cwd=f"{service.place}/ws")
        if how == "revoked":
            equal(code_of(client, "session.show", {}), 0, "control, before")
            check(wait_until(lambda m=mark: os.path.exists(m)), "the command did not begin")
            service.good("session", "revoke", made["id"])
        try:
            client.answer(number)
            check(False, f"{how}: the command has a result")
        except Refused as refused:
            equal(refused.code, NO_TOKEN, how)
            check(how in refused.message, refused.message)
        began = os.path.exists(mark)
        equal(code_of(client, "session.show", {}), NO_TOKEN, f"{how}: the next request")
        fresh = service.client().call("session.token", session=made["id"])["token"]
        client.call("session.authenticate", token=fresh)
        argv = ["sh", "-c", "! pgrep -f '^sleep 60[0]'"]
        check(wait_until(lambda c=client, a=argv: c.call("session.exec", argv=a)["status"] == 0), f"{how}: the command still runs")
    check(began, "no command began before its token ended")
    service.good("session", "stop", made["id"])


def kill_daemon(service):
    service.process.send_signal(signal.SIGKILL)
    service.process.wait()


def test_a_token_ends_with_its_session(service):
    """By `session stop`, the end of the daemon, and a daemon that is killed; another session of the name has another token."""
    for how, end in (("stopped", lambda: service.good("session", "stop", "same")), ("restarted", service.stop),
                     ("killed", lambda: kill_daemon(service))):
        token_file = f"{service.place}/home/token-{how}"
        session = service.create("--name", "same", "--token-file", token_file)
        with open(token_file, encoding="utf-8") as file:
            token = file.read().strip()
        client = with_token(service, session, token)
        equal(service.good("session", "exec", session, "--token-file", token_file, "echo", "before"), "before\n", f"{how}: control")
        end()
        if how == "killed":  # its socket is left, and nobody listens
            equal(service.run("session", "exec", session, "--token-file", token_file, "true")[0], 125, "without a daemon")
        equal(client.line(), None, f"{how}: the connection")
        client.close()
        if how != "stopped":
            service.start()
        status, out, err = service.run("session", "exec", session, "--token-file", token_file, "echo", "after")
        check((status, out) == (125, "") and session in err and "is the session alive? corral session list" in err, f"{how}: {status} {out!r} {err!r}")
        fresh = service.made("--name", "same")
        client = Client(socket_of(service, fresh["id"]), service.uid)
        try:
            client.call("session.authenticate", token=token)
            check(False, f"{how}: a session of the same name accepted the token")
        except Refused as refused:
            equal((refused.code, refused.message), (NO_TOKEN, "the token is not one of this session"), f"{how}: a session of the same name")
        client.call("session.authenticate", token=fresh["token"])  # control: its own
        equal(client.call("session.exec", argv=["true"])["status"], 0, f"{how}: the token of the new session")
        client.close()
        service.good("session", "stop", "same")


def test_pending_requests_of_a_session_have_bounded_bytes(service):
    made = service.made("--serial")
    client = with_token(service, made["id"], made["token"])
    client.send("session.exec", argv=["sleep", "600"])  # the others wait for it
    numbers = [client.send("session.exec", argv=["true"], environment={"LONG": "x" * 900_000}) for _ in range(10)]
    try:
        client.answer(numbers[-1])
        check(False, "the last one was not refused")
    except Refused as refused:
        equal(refused.code, LIMIT, "more than 8 MiB together")
        check("pending requests" in refused.message, refused.message)
    equal(code_of(with_token(service, made["id"], made["token"]), "session.show", {}), 0, "another request")
    client.close()
    service.good("session", "stop", made["id"])


def test_wrong_tokens_are_limited_per_session(service):
    first, second = service.made(), service.made()
    codes = []
    for _ in range(14):
        client = Client(socket_of(service, first["id"]), service.uid)
        codes.append(code_of(client, "session.authenticate", {"token": "corral_" + "1" * 64}))
        client.close()
    equal(codes, [NO_TOKEN] * 10 + [LIMIT] * 4, "fourteen wrong tokens")
    equal(code_of(Client(socket_of(service, first["id"]), service.uid), "session.authenticate", {"token": first["token"]}), LIMIT,
          "the right token after too many wrong ones")
    equal(code_of(with_token(service, second["id"], second["token"]), "session.show", {}), 0, "another session")
    # A connection ends after a few.
    client = Client(socket_of(service, second["id"]), service.uid)
    with contextlib.suppress(BrokenPipeError):  # it may end before the last one is sent
        for _ in range(8):
            client.send("session.authenticate", token="x")
    answers = 0
    while client.line() is not None:
        answers += 1
    check(answers <= 5, f"{answers} answers to wrong tokens on one connection")
    for made in (first, second):
        service.good("session", "stop", made["id"])


def test_the_command_line_takes_a_token_from_a_file_or_stdin(service):
    path = f"{service.place}/home/token"
    session = service.create("--token-file", path)
    equal(os.stat(path).st_mode & 0o777, 0o600, "the mode of the token's file")
    equal(service.good("session", "exec", session, "--token-file", path, "echo", "by token"), "by token\n", "with a file")
    with open(path, "rb") as file:
        token = file.read()
    equal(service.good("session", "exec", session, "--token-file", "-", "--json", "echo", data=token)[:1], "{", "by stdin")
    empty = f"{service.place}/home/empty"
    with open(os.open(empty, os.O_CREAT | os.O_WRONLY, 0o600), "wb"):
        os.chown(empty, service.uid, -1)
    status, _, err = service.run("session", "exec", session, "--token-file", empty, "true")
    check(status == 2 and "does not contain a token" in err, f"an empty file: {status} {err}")
    status, _, err = service.run("session", "create", "--token-file", path)
    check(status == 2 and "cannot write the token" in err, f"a file that exists: {status} {err}")
    with open(path, "rb") as file:
        equal(file.read(), token, "the file that exists")
    new = f"{service.place}/home/new"
    status, _, err = service.run("session", "create", "--token-file", new, "--read", "/no/such/path")
    check(status == 2 and not os.path.exists(new), f"the file of a session that cannot start: {status} {err}")

    def no_byte():
        """What a full disk does."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    status, _, err = service.run("session", "create", "--token-file", new, preexec_fn=no_byte)
    check(status == 2 and "cannot write the token" in err and not os.path.exists(new), f"a file that takes no byte: {status} {err}")
    equal([row["id"] for row in service.client().call("session.list")["sessions"]], [session], "sessions after them")
    service.good("session", "revoke", session)
    status, _, err = service.run("session", "exec", session, "--token-file", path, "true")
    check(status == 126 and "revoked" in err, f"a revoked token: {status} {err}")
    for row in service.client().call("session.list")["sessions"]:
        service.good("session", "stop", row["id"])
