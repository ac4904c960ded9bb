# SPDX-License-Identifier: Apache-2.0
"""The ways in which programs connect a socket; prints every way that did not work, and why."""
import errno
import select
import signal
import socket
import sys

FOUR = socket.getaddrinfo("allowed.test", 80, socket.AF_INET)[0][4]
SIX = socket.getaddrinfo("allowed.test", 80, socket.AF_INET6)[0][4]
FAST_OPEN_CONNECT = 30
PATIENCE = 60


def get(sock):
    sock.settimeout(PATIENCE)
    sock.sendall(b"GET /x HTTP/1.0\r\nHost: allowed.test\r\n\r\n")
    data = b""
    while True:
        part = sock.recv(4096)
        if not part:
            return data.endswith(b"GET allowed.test /x 0\n")
        data += part


def bound():
    return get(socket.create_connection(FOUR, PATIENCE, ("", 40123))) and \
        get(socket.create_connection(FOUR, PATIENCE, ("127.0.0.1", 40124)))


def bound6():
    return get(socket.create_connection(SIX[:2], PATIENCE, ("", 40125)))


def asked_again():
    """connect(2) until it says that it is done, as some libraries have it."""
    sock = socket.socket()
    sock.setblocking(False)
    answers = {sock.connect_ex(FOUR)}
    select.select([], [sock], [], PATIENCE)
    answers.add(sock.connect_ex(FOUR))
    sock.setblocking(True)
    return answers <= {errno.EINPROGRESS, errno.EALREADY, errno.EISCONN, 0} and get(sock)


def connected_already():
    """Whatever the second answer is, the socket stays with the first host."""
    sock = socket.socket()
    sock.connect(FOUR)
    sock.connect_ex(("11.0.0.66", 80))
    return get(sock)


def mapped():
    sock = socket.socket(socket.AF_INET6)
    sock.connect(("::ffff:" + FOUR[0], 80))
    return sock.getpeername()[:2] == ("::ffff:" + FOUR[0], 80) and get(sock)


def selected():
    sock = socket.socket()
    sock.setblocking(False)
    begun = sock.connect_ex(FOUR)
    ready = select.select([], [sock], [], PATIENCE)[1]
    error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return begun in (0, errno.EINPROGRESS) and ready and error == 0 and sock.getpeername() == FOUR and get(sock)


def refused_at_once():
    sock = socket.socket()
    sock.setblocking(False)
    return sock.connect_ex(("11.0.0.66", 80)) == errno.EACCES


def duplicate():
    sock = socket.socket()
    sock.dup().connect(FOUR)
    return get(sock)


def passed():
    one, other = socket.socketpair()
    sock = socket.socket()
    socket.send_fds(one, [b"x"], [sock.fileno()])
    socket.socket(fileno=socket.recv_fds(other, 1, 1)[1][0]).connect(FOUR)
    return get(sock)


def interrupted():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)  # as those have it that send themselves signals all the time
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        return all(get(socket.create_connection(FOUR, PATIENCE)) for _ in range(50))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def fast_open():
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, FAST_OPEN_CONNECT, 1)
    sock.connect(FOUR)
    return get(sock)


def of_its_own():
    """A server inside stays what it is."""
    server = socket.create_server(("127.0.0.1", 0))
    sock = socket.create_connection(server.getsockname())
    sock.sendall(b"hi")
    return server.accept()[0].recv(9) == b"hi" and sock.getpeername() == server.getsockname()


for way in (bound, bound6, asked_again, connected_already, mapped, selected, refused_at_once, duplicate, passed, interrupted,
            fast_open, of_its_own):
    if way.__name__ in sys.argv[1:]:
        continue
    try:
        problem = "" if way() else "no"
    except OSError as error:
        problem = str(error)
    if problem:
        print(f"{way.__name__}: {problem}")
