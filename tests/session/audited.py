# SPDX-License-Identifier: Apache-2.0
"""The audit log of a session: refused requests, and the file tools."""
import json

from scopes import CALLS, Client, code_of, socket_of
from service import check, equal, wait_until

SECRET = "AKIA" + "Q3EGRIWZ5XKJ7PLM"  # of the form of an access key, and of nobody


def records(service, session, kind):
    out = service.good("audit", "list", "--json", "--kind", kind, "--session", session)
    return [json.loads(line) for line in out.splitlines()]


def test_a_refused_request_is_in_the_audit_log(service):
    """Of a process inside, and of a client with a wrong token outside; an allowed one is not."""
    session = service.create()
    calls = [["daemon.shutdown", {}], ["session.create", {}], ["session.show", {}]]
    service.good("session", "exec", session, "--", "/usr/bin/python3", "-c", CALLS, json.dumps(calls))
    outside = Client(socket_of(service, session), service.uid)
    equal(code_of(outside, "session.authenticate", {"token": "wrong"}), -32005, "a wrong token")
    outside.close()
    check(wait_until(lambda: len(records(service, session, "deny.rpc")) >= 3), "no record")
    found = {row["method"]: row for row in records(service, session, "deny.rpc")}
    equal(sorted(found), ["daemon.shutdown", "session.authenticate", "session.create"], "the methods")
    check("-32001" in found["session.create"]["why"] and "-32005" in found["session.authenticate"]["why"], f"{found}")
    equal({row["verdict"] for row in found.values()}, {"denied"}, "the verdict")
    check("daemon.shutdown" in service.good("audit", "list", "--kind", "deny", "--session", session), "the list for people")
    service.good("session", "stop", session)
    service.good("audit", "verify")


def test_a_client_in_a_loop_does_not_fill_the_audit_log(service):
    """500 refusals are two records: the first, and one with the number of the others at the end of the session."""
    session = service.create()
    service.good("session", "exec", session, "--", "/usr/bin/python3", "-c", CALLS, json.dumps([["daemon.shutdown", {}]] * 500))
    service.good("session", "stop", session)
    equal([row["count"] for row in records(service, session, "deny.rpc")], [1, 499], "the counts")


def test_what_the_file_tools_find_and_send_is_in_the_audit_log(service):
    session = service.create()
    client = service.client()
    check(code_of(client, "file.write", {"session": session, "path": "new.txt", "content": f"key {SECRET}\n"}) != 0, "written")
    with open(f"{service.workspace}/old.txt", "w", encoding="utf-8") as file:
        file.write(f"key {SECRET} {SECRET}\n")
    with open(f"{service.workspace}/plain.txt", "w", encoding="utf-8") as file:
        file.write("nothing\n")
    shown = client.call("file.read", session=session, path="old.txt")
    check(SECRET not in json.dumps(shown), "the secret was read")
    refused = code_of(client, "file.send", {"session": session, "path": "old.txt"})
    check(refused != 0, "a file with a secret was sent")
    client.call("file.send", session=session, path="plain.txt")
    client.call("file.read", session=session, path="plain.txt")
    client.close()
    leaks = [(row["path"], row["verdict"], row["stream"], row["count"]) for row in records(service, session, "leak")]
    equal(leaks, [("new.txt", "blocked", "file", 1), ("old.txt", "redacted", "file", 2), ("old.txt", "blocked", "file", 2)], "leaks")
    equal([(row["path"], row["bytes"], row["verdict"]) for row in records(service, session, "file.sent")],
          [("plain.txt", 8, "allowed")], "files that were sent")
    check(SECRET not in service.good("audit", "list", "--json"), "the secret is in the log")
    service.good("session", "stop", session)
    service.good("audit", "verify")
