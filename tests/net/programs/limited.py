#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""limited.py CALLS HOST PORT: blocking connect(2) with SO_SNDTIMEO, CALLS times; prints each result and its time-out,
then the state of the socket and the bytes that a server sends back.
"""
import ctypes
import errno
import select
import socket
import struct
import sys
import time

CALLS, HOST, PORT = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
LIMIT = 0.3
LIBC = ctypes.CDLL(None, use_errno=True)  # Python's own connect() waits on after EINPROGRESS
PLACE = struct.pack("=H", socket.AF_INET) + struct.pack(">H", PORT) + \
    socket.inet_aton(socket.getaddrinfo(HOST, PORT, socket.AF_INET)[0][4][0]) + bytes(8)


def call(sock):
    start = time.monotonic()
    result = LIBC.connect(sock.fileno(), PLACE, len(PLACE))
    took = time.monotonic() - start
    print(errno.errorcode[ctypes.get_errno()] if result else "connected", "in time" if LIMIT <= took < 1 else f"after {took:.1f} s")


def main():
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 0, int(LIMIT * 1000000)))
    for _ in range(CALLS):
        call(sock)
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    if not poll.poll(3000):
        print("still waits")
        return
    error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    print(errno.errorcode[error] if error else "connected")
    try:
        sock.sendall(b"there and back\n")
        print(sock.recv(100))
    except OSError as problem:
        print(errno.errorcode[problem.errno])


main()
