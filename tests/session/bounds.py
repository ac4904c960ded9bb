# SPDX-License-Identifier: Apache-2.0
"""Hostile and clumsy clients: a clear error, bounded memory, and a daemon that lives."""
import json
import os
import resource
import socket
import threading
import time

from service import HUNG, PATIENCE, Client, Refused, acting_as, check, children, equal, wait_until

GROWTH_MAX = 64 * 1024 * 1024


def memory_of(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def resident(service):
    return memory_of(service.process.pid)


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
    open_before = descriptors(service)
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
    check(wait_until(lambda: descriptors(service) <= open_before), f"{descriptors(service)} descriptors, not {open_before}")
    equal(service.good("session", "exec", session, "echo", "fine"), "fine\n", "a command afterwards")
    service.good("session", "stop", session)


def test_a_result_that_is_too_large_is_an_error(service):
    session = service.create("--set", "limits.output=64MiB")
    status, out, err = service.run("session", "exec", session, "--json", "--", "sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x")
    check(status != 0 and err == "" and "larger than" in json.loads(out)["error"]["message"], f"{status} {out[:100]!r} {err!r}")
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


def test_descriptors_of_pending_commands_are_limited(service):
    """Of all connections of a session together; a command of another session goes on."""
    session, other = service.create("--serial"), service.create()
    clients, refused = [service.client() for _ in range(6)], []
    null = [os.open(os.devnull, os.O_RDWR) for _ in range(3)]
    for client in clients:
        for _ in range(50):
            client.send("session.exec", fds=null, session=session, argv=["sleep", "600"], streams="pass")
    for client in clients[5:]:
        refused.append(client.line())
    check("hold 768 descriptors" in refused[0]["error"]["message"], f"the answer: {refused}")
    equal(service.good("session", "exec", other, "--", "echo", "hello"), "hello\n", "another session")
    for client in clients:
        client.close()
    for fd in null:
        os.close(fd)
    again = service.client()
    check(wait_until(lambda: again_works(again, session)), "the descriptors were not given back")
    again.close()
    service.good("session", "stop", session)
    service.good("session", "stop", other)


def again_works(client, session):
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return client.call("session.exec", fds=[null] * 3, session=session, argv=["true"], streams="pass")["status"] == 0
    except Refused:
        return False
    finally:
        os.close(null)


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


def test_activity_reports_of_a_session_are_limited(service):
    """Each one waits for the disk, and every client waits with it."""
    made = service.made()
    client = Client(f"{service.place}/run/corral/s/{made['id']}.sock", service.uid)
    client.call("session.authenticate", token=made["token"])
    client.send_raw(b"".join(json.dumps({"jsonrpc": "2.0", "id": 1000 + n, "method": "activity.report",
                                         "params": {"kind": "k", "text": "t"}}).encode() + b"\n" for n in range(400)))
    answers = [client.line() for _ in range(400)]
    check("result" in answers[0], f"the first report: {answers[0]}")
    refused = [answer for answer in answers if "reported 100 activities" in answer.get("error", {}).get("message", "")]
    check(len(refused) >= 100, f"{len(refused)} of 400 reports were refused")
    rows = service.client().call("session.activity", session=made["id"])["activity"]
    equal(len([row for row in rows if row["kind"] == "k"]), 400 - len(refused), "activities in the database")
    service.good("session", "stop", made["id"])


def test_a_client_that_sends_without_pause_does_not_stop_the_others(service):
    made = service.made()
    over = threading.Event()

    def send():
        client = Client(f"{service.place}/run/corral/s/{made['id']}.sock", service.uid)
        client.call("session.authenticate", token=made["token"])
        lines = json.dumps({"jsonrpc": "2.0", "method": "session.show"}).encode() + b"\n"
        lines *= 4096
        begun = lines[:7]  # no write ends with a line, so the daemon always has the beginning of one
        client.send_raw(begun)
        while not over.is_set():
            client.send_raw(lines[7:] + begun)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        time.sleep(1)
        began = time.monotonic()
        client = service.client()
        for _ in range(5):
            client.call("ping")
        took = time.monotonic() - began
    finally:
        over.set()
        sender.join()
    check(took < HUNG, f"five requests took {took:.1f} s")
    service.good("session", "stop", made["id"])


def test_cancelled_commands_of_a_serial_session_leave_no_memory(service):
    session = service.create("--serial")
    supervisor = min(children(service.process.pid), key=lambda pid: (parent(pid) != service.process.pid, -pid))
    first = service.client()
    first.send("session.exec", session=session, argv=["sleep", "600"])
    before = memory_of(supervisor)
    for _ in range(20):
        client = service.client()
        for _ in range(60):
            client.send("session.exec", session=session, argv=["true", "x" * 60000])
        client.close()
    serves(service)
    check(wait_until(lambda: memory_of(supervisor) - before < 24 * 1024 * 1024),
          f"the supervisor grew by {(memory_of(supervisor) - before) >> 20} MiB")
    first.close()
    service.good("session", "stop", session)


LINGER = """
import array, os, socket, struct, sys, time
def lingering(seconds):
    listener = socket.create_server(("127.0.0.1", 0))
    sock = socket.create_connection(listener.getsockname())
    peer = listener.accept()[0]
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))
    sock.setblocking(False)
    try:
        while True:
            sock.send(b"x" * 65536)
    except BlockingIOError:
        return sock, peer
if len(sys.argv) == 1:
    sock, peer = lingering(2)
    began = time.monotonic()
    sock.close()
    sys.exit(time.monotonic() - began < 1)
count, connections, kept = int(sys.argv[1]), int(sys.argv[2]), []
for _ in range(connections):
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].connect(os.environ["CORRAL_SESSION_SOCKET"])
pairs = [lingering(600) for _ in range(count)]
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [sock.fileno() for sock, _ in pairs]))]
last = socket.socket(socket.AF_UNIX)
last.connect(os.environ["CORRAL_SESSION_SOCKET"])
try:
    last.sendmsg([b"x\\n"], rights)
except OSError:
    pass
print("sent", flush=True)
for sock, _ in pairs:
    sock.close()
last.close()
time.sleep(600)
"""


def test_a_descriptor_whose_close_waits_does_not_stop_the_daemon(service):
    """SO_LINGER: control outside, where close(2) waits; the verdict is the answer to another client."""
    status, _, err = service.run("-c", LINGER, executable="/usr/bin/python3")
    equal(status, 0, f"control: close(2) of such a socket waits ({err})")
    for count, connections in ((1, 0), (20, 0), (1, 32)):
        session = service.create()
        inside = service.command("session", "exec", session, "--", "/usr/bin/python3", "-c", LINGER, str(count), str(connections))
        equal(inside.stdout.readline(), b"sent\n", f"the command with {count} sockets")
        time.sleep(0.5)
        began = time.monotonic()
        serves(service)
        took = time.monotonic() - began
        service.good("session", "stop", session)
        inside.communicate()
        check(took < PATIENCE, f"{count} sockets, {connections} connections: the daemon answered after {took:.1f} s")
