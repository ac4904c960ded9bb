#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""blocking.py HABIT HOST PORT: a call that blocks, and a signal 0.2 s later; prints what becomes of both.

HABIT is breaks (the signal ends the call), goes-on (the kernel goes on with it), limited (it does not, because of
SO_SNDTIMEO) or leaves (the handler does).
"""
import ctypes
import errno
import signal
import socket
import struct
import sys
import time

HABIT, HOST, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
LIBC = ctypes.CDLL(None, use_errno=True)  # Python's own connect() goes on after every signal
PLACE = struct.pack("=H", socket.AF_INET) + struct.pack(">H", PORT) + \
    socket.inet_aton(socket.getaddrinfo(HOST, PORT, socket.AF_INET)[0][4][0]) + bytes(8)


class Left(Exception):
    """The handler's way out."""


def told(*_):
    print("signal", flush=True)
    if HABIT == "leaves":
        raise Left


def call(sock):
    start = time.monotonic()
    result = LIBC.connect(sock.fileno(), PLACE, len(PLACE))
    error = errno.errorcode[ctypes.get_errno()] if result else "connected"
    print(error, f"after {time.monotonic() - start:.0f} s", flush=True)
    return error


def main():
    sock = socket.socket()
    signal.signal(signal.SIGALRM, told)
    signal.siginterrupt(signal.SIGALRM, HABIT not in ("goes-on", "limited"))
    if HABIT == "limited":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 8, 0))
    signal.setitimer(signal.ITIMER_REAL, 0.2)  # the broker finds it a tenth of a second later
    try:
        if call(sock) == "EINTR":
            call(sock)
        sock.sendall(b"there and back\n")
        print(sock.recv(100))
    except OSError as problem:
        print(errno.errorcode[problem.errno])
    except Left:
        print("left")


main()
