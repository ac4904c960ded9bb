#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""pending.py FAMILY HOST PORT SECONDS [OWN]: a call that does not block; prints what becomes of it.

FAMILY is 4, 6 or mapped (IPv4 by a socket of IPv6).  With OWN the socket has that port, and a first one that had
it before has called HOST at OWN's neighbour and given up.
"""
import errno
import select
import socket
import sys
import time

FAMILY, HOST, PORT, SECONDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
KIND = socket.AF_INET if FAMILY == "4" else socket.AF_INET6


def find():
    kind = socket.AF_INET6 if FAMILY == "6" else socket.AF_INET
    address = socket.getaddrinfo(HOST, PORT, kind, socket.SOCK_STREAM)[0][4][0]
    return f"::ffff:{address}" if FAMILY == "mapped" else address


def begin(own, port):
    sock = socket.socket(KIND)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if own:
        sock.bind(("", own))
    start = time.monotonic()
    result = sock.connect_ex((ADDRESS, port))
    if time.monotonic() - start > 0.5:
        print("it blocked")
    return sock, errno.errorcode.get(result, str(result))


ADDRESS = find()
OWN = int(sys.argv[5]) if len(sys.argv) > 5 else 0
if OWN:
    first, said = begin(OWN, PORT + 1)
    print("first", said)
    first.close()
    time.sleep(0.1)
SOCK, SAID = begin(OWN, PORT)
POLL = select.epoll()
POLL.register(SOCK, select.EPOLLIN | select.EPOLLOUT)
print(SAID, "ready" if POLL.poll(0.2) else "waits")
EVENTS = POLL.poll(SECONDS)
ERROR = SOCK.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
if not EVENTS:
    print("still waits")
elif ERROR:
    print(errno.errorcode[ERROR], EVENTS[0][1])
else:
    SOCK.settimeout(5)
    try:
        print("connected", SOCK.getpeername()[0] == ADDRESS, SOCK.getpeername()[1] == PORT)
        SOCK.sendall(b"there and back\n")
        print(SOCK.recv(100))
    except OSError as problem:
        print(errno.errorcode[problem.errno or errno.ETIMEDOUT])
