# SPDX-License-Identifier: Apache-2.0
"""Hostile and clumsy clients: a clear error, bounded memory, and a daemon that lives."""
import json
import os
import resource
import socket

from service import PATIENCE, Client, acting_as, check, equal, wait_until

GROWTH_MAX = 64 * 1024 * 1024


def resident(service):
    with open(f"/proc/{service.process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def descriptors(service):
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


def serves(service):
    equal(service.client().call("ping")["version"][:1], "0", "the daemon's answer")


def error_of(client):
    answer = client.line()
    return None if answer is None else answer["error"]["message"]


def test_malformed_lines_get_an_error(service):
    for line, part in ((b"hello\n", "invalid JSON"), (b'{"jsonrpc":"2.0"\n', "invalid JSON"), (b"[]\n", ""), (b"7\n", ""),
                       (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', ""), (b'{"id":1,"method":"ping"}\n', ""),
                       (b'{"jsonrpc":"2.0","id":1,"method":7}\n', ""), (b"\xff\xfe\n", "invalid JSON"), (b"\0\n", "invalid JSON"),
                       (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n', "duplicate"),
                       (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}\n', ""),
                       (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}\n', "object"),
                       (b"[" * 100000 + b"\n", "nested deeper"), (b'{"a":' * 50000 + b"\n", "nested deeper")):
        client = service.client()
        client.send_raw(line)
        message = error_of(client)
        check(message is not None and part in message, f"{line[:40]!r}: {message!r}")
        equal(client.call("ping")["version"][:1], "0", f"the connection after {line[:40]!r}")
        client.close()
    client = service.client()
    client.send_raw(b"nonsense\n" * 1000)
    answers = 0
    while client.line() is not None:
        answers += 1
    check(answers <= 16, f"{answers} answers to malformed lines")
    serves(service)


def test_a_line_of_100_mb_is_refused_in_bounded_memory(service):
    before = resident(service)
    client = service.client()
    client.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"')
    for _ in range(100):
        client.send_raw(b"a" * 1024 * 1024)
    client.send_raw(b'"}\n')
    check("longer than" in (error_of(client) or ""), "no error for a long line")
    check(resident(service) - before < GROWTH_MAX, f"the daemon grew by {resident(service) - before} bytes")
    equal(client.call("ping")["version"][:1], "0", "the connection afterwards")


def test_many_connections_are_refused_in_bounded_memory(service):
    before, soft = resident(service), resource.getrlimit(resource.RLIMIT_NOFILE)
    session = service.create()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft[1], soft[1]))
        most = min(10000, soft[1] - 200)
        clients, refused = [], 0
        for _ in range(most):
            client = socket.socket(socket.AF_UNIX)
            clients.append(client)
            with acting_as(service.uid):
                client.connect(service.admin)  # waits while the queue is full
            client.settimeout(PATIENCE)
        for client in clients[-50:]:
            refused += b"too many connections" in client.recv(4096)
        equal(refused, 50, "connections that were refused with an error")
        check(resident(service) - before < GROWTH_MAX, f"the daemon grew by {resident(service) - before} bytes")
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, soft)
    check(wait_until(lambda: descriptors(service) < 40), f"{descriptors(service)} descriptors are left")
    equal(service.good("session", "exec", session, "echo", "fine"), "fine\n", "a command afterwards")
    service.good("session", "stop", session)


def test_a_result_that_is_too_large_is_an_error(service):
    session = service.create("--set", "limits.output=64MiB")
    status, out, err = service.run("session", "exec", session, "--json", "--", "sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x")
    check(status != 0 and "larger than" in err, f"{status} {out[:100]!r} {err!r}")
    equal(service.good("session", "exec", session, "echo", "fine"), "fine\n", "a command afterwards")
    service.good("session", "stop", session)


def test_clients_are_refused_when_descriptors_run_out(service):
    service.stop()
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, soft[1]))
    try:
        process, service.account = service.account, {**service.account, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
        service.start()
    finally:
        service.account = process
        resource.setrlimit(resource.RLIMIT_NOFILE, soft)
    clients = [service.client() for _ in range(80)]
    check("no free descriptor" in (error_of(clients[-1]) or ""), "no error without descriptors")
    for client in clients:
        client.close()
    wait_until(lambda: descriptors(service) < 20)
    serves(service)
    service.stop()
    service.start()


def test_one_session_cannot_take_the_connections_of_others(service):
    first, second = service.made(), service.made()
    path = f"{service.place}/run/corral/s/{first['id']}.sock"
    clients = [Client(path, service.uid) for _ in range(40)]
    check("too many connections" in (error_of(clients[-1]) or ""), "no bound of a session's connections")
    serves(service)
    client = Client(f"{service.place}/run/corral/s/{second['id']}.sock", service.uid)
    client.call("session.authenticate", token=second["token"])
    for one in clients:
        one.close()
    for made in (first, second):
        service.good("session", "stop", made["id"])


def test_a_client_that_does_not_read_is_disconnected_alone(service):
    session = service.create("--set", "limits.output=1MiB")
    before = resident(service)
    client = service.client()
    for _ in range(64):
        client.send("session.exec", session=session, argv=["sh", "-c", "head -c 900000 /dev/zero | tr '\\0' x"])
    serves(service)
    check(wait_until(lambda: resident(service) - before < GROWTH_MAX * 2), "the daemon keeps the output of a client that does not read")
    client.close()
    serves(service)
    service.good("session", "stop", session)


def test_pending_commands_of_a_connection_are_limited(service):
    session = service.create("--serial")
    client = service.client()
    for _ in range(80):
        client.send("session.exec", session=session, argv=["sleep", "600"])
    message = client.line()
    check(message and "pending commands" in message["error"]["message"], f"the answer: {message}")
    serves(service)
    client.close()
    service.good("session", "stop", session)


def test_slow_clients_do_not_stop_the_others(service):
    slow = [service.client() for _ in range(20)]
    for client in slow:
        client.send_raw(b'{"jsonrpc":"2.0",')
    serves(service)
    for client in slow[:10]:
        client.send_raw(b'"id":5,"method":"ping"}\n')
        equal(client.line()["id"], 5, "a line in two parts")
    for client in slow:
        client.close()
    serves(service)


def test_descriptors_of_a_request_are_closed(service):
    client = service.client()
    before = descriptors(service)
    with open("/dev/null", "rb") as null:
        for _ in range(200):
            client.call("ping", fds=[null.fileno()] * 3)
    check(descriptors(service) <= before + 8, f"{descriptors(service) - before} descriptors are left")
    client.close()


def test_a_batch_and_a_notification_get_the_answers_of_json_rpc(service):
    client = service.client()
    client.send_raw(b'{"jsonrpc":"2.0","method":"ping"}\n')  # no answer
    client.send_raw(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).encode() + b"\n")
    check("error" in client.line(), "a batch was accepted")
    equal(client.call("ping")["version"][:1], "0", "the next request")
