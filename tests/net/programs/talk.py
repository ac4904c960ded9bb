#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""talk.py HABIT HOST PORT: a client for the servers with one habit each; prints what it saw."""
import socket
import sys
import time

HABIT, HOST, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
SIZE = 32 << 20


def rest(sock):
    data = []
    while True:
        part = sock.recv(1 << 16)
        if not part:
            return b"".join(data)
        data.append(part)


def smtp(sock):
    """The server speaks first."""
    greeting = sock.recv(100)
    sock.sendall(b"HELO lab\r\n")
    answer = sock.recv(100)
    sock.sendall(b"QUIT\r\n")
    return greeting + answer + rest(sock)


def echo(sock):
    sock.sendall(b"there and back\n")
    return sock.recv(100)


def down(sock):
    sock.sendall(b"%d\n" % SIZE)
    return b"%d" % len(rest(sock))


def up(sock):
    """All, then the end of this half, then the answer."""
    block = b"x" * (1 << 16)
    for _ in range(SIZE // len(block)):
        sock.sendall(block)
    sock.shutdown(socket.SHUT_WR)
    return rest(sock)


def half(sock):
    """The server's half ends first; ours goes on."""
    said = rest(sock)
    time.sleep(0.2)
    sock.sendall(b"still here")
    return said


def reset(sock):
    sock.sendall(b"x\n")
    try:
        return rest(sock) or b"the end"
    except ConnectionResetError:
        return b"reset"


def refused(sock):
    sock.sendall(b"x")
    return b"connected, and then " + rest(sock)


def named(sock):
    """What the program is told of its peer."""
    return repr(sock.getpeername()[:2]).encode()


def stall(sock):
    """Nobody reads: the buffers fill, and the writer waits."""
    sock.settimeout(2)
    sent = 0
    try:
        while sent < 1 << 30:
            sent += sock.send(b"x" * (1 << 20))
    except TimeoutError:
        return b"waits"
    return b"took everything"


try:
    with socket.create_connection((HOST, PORT), 10) as peer:
        sys.stdout.buffer.write(globals()[HABIT](peer))
except ConnectionRefusedError:
    print("refused")
    sys.exit(0 if HABIT == "refused" else 1)
