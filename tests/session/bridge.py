# SPDX-License-Identifier: Apache-2.0
"""A bridge: a command that is kept running in the session, with a socket for programs of the host."""
import os
import signal
import socket

from service import HUNG, PATIENCE, acting_as, check, equal, marked, wait_until

SERVE = """
import os, socket, sys
path = os.environ["CORRAL_BRIDGE_PATH"]
if os.path.exists(path):
    os.unlink(path)
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen()
while True:
    c, _ = s.accept()
    data = c.recv(100)
    if data == b"die":
        os._exit(9)
    c.sendall(b"bridge " + data + b" " + sys.argv[1].encode())
    c.close()
"""


def ask(service, path, data):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(PATIENCE)
    try:
        with acting_as(service.uid):
            one.connect(path)
        one.sendall(data)
        return one.recv(100)
    except OSError:
        return None
    finally:
        one.close()


def test_a_bridge_serves_the_host_and_is_started_again(service):
    mark = f"618.{os.getpid()}"
    with open(f"{service.workspace}/serve.py", "w", encoding="utf-8") as file:
        file.write(SERVE)
    session = service.create("--bridge", f"exec /usr/bin/python3 serve.py {mark}")
    path = service.good("session", "exec", session, "-c", "echo $CORRAL_BRIDGE_PATH").strip()
    check(path.startswith(f"{service.place}/run/corral/s/"), f"the path of the socket: {path}")
    answer = f"bridge hello {mark}".encode()
    check(wait_until(lambda: ask(service, path, b"hello") == answer), "the host cannot use the bridge")
    first = marked(mark)
    ask(service, path, b"die")
    check(wait_until(lambda: ask(service, path, b"hello") == answer), "the bridge was not started again")
    check(set(first) != set(marked(mark)), "the bridge did not die")
    check(wait_until(lambda: "ended with status 9" in service.good("session", "activity", session)), "its end was not reported")
    for pid in marked(mark):
        os.kill(pid, signal.SIGKILL)
    check(wait_until(lambda: ask(service, path, b"hello") == answer), "the bridge was not started after SIGKILL")
    equal(service.show(session)["state"], "RUNNING", "the session of a bridge that died")
    other = service.create()
    seen = service.good("session", "exec", other, "-c", f"ls {os.path.dirname(path)} >/dev/null 2>&1 && echo seen || echo hidden")
    equal(seen, "hidden\n", "the bridge of another session")
    service.good("session", "stop", other)
    service.good("session", "stop", session)
    check(wait_until(lambda: not marked(mark)), "the bridge survived its session")
    check(wait_until(lambda: not os.path.exists(os.path.dirname(path))), "the directory of the socket is left")
    os.unlink(f"{service.workspace}/serve.py")


def test_a_bridge_that_keeps_ending_is_given_up(service):
    session = service.create("--bridge", "exit 3")
    check(wait_until(lambda: "given up" in service.good("session", "activity", session), HUNG), "it is started without end")
    equal(service.good("session", "exec", session, "echo", "fine"), "fine\n", "the session")
    service.good("session", "stop", session)
