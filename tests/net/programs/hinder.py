#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""hinder.py linger SECONDS | hinder.py blocks SECONDS STALLS: makes a socket wait while somebody else works with it.

linger: its last owner waits in close(2), and that may be who answers getpeername(2).
blocks: it is made blocking while it is connected to a host that does not answer, at port STALLS.
Prints the longest time that an ordinary call took meanwhile.
"""
import ctypes
import fcntl
import os
import random
import signal
import socket
import struct
import sys
import threading
import time

LIBC = ctypes.CDLL(None)
END = time.monotonic() + float(sys.argv[2])
GIVES_UP = 3  # seconds


def linger_once(listener):
    sock = socket.create_connection(listener.getsockname())
    peer = listener.accept()[0]
    sock.setblocking(False)
    try:
        while True:
            sock.send(b"x" * 65536)
    except BlockingIOError:
        pass
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 2 * GIVES_UP))
    number, name, size = sock.detach(), ctypes.create_string_buffer(128), ctypes.c_int(128)
    asks = threading.Thread(target=LIBC.getpeername, args=(number, name, ctypes.byref(size)))
    closes = threading.Thread(target=os.close, args=(number,))
    asks.start()
    end = time.perf_counter() + random.random() * 0.0003
    while time.perf_counter() < end:
        pass
    closes.start()
    asks.join(0.5)
    start = time.monotonic()
    with socket.socket() as other:
        LIBC.getpeername(other.fileno(), name, ctypes.byref(size))
    took = time.monotonic() - start
    peer.close()
    closes.join()
    asks.join()
    return took


def child(function):
    pid = os.fork()
    if pid == 0:
        signal.alarm(GIVES_UP)
        function()
        os._exit(0)
    return pid


def change(number):
    while True:
        fcntl.fcntl(number, fcntl.F_SETFL, os.O_RDWR)
        fcntl.fcntl(number, fcntl.F_SETFL, os.O_RDWR | os.O_NONBLOCK)


def blocks_once(port):
    with socket.socket() as sock:
        sock.setblocking(False)
        others = [child(lambda: change(sock.fileno())), child(lambda: sock.connect_ex(("11.0.0.10", port)))]
        time.sleep(0.005)
        start = time.monotonic()
        os.waitpid(child(lambda: socket.create_connection(("11.0.0.10", 7), 5)), 0)
        took = time.monotonic() - start
        for pid in others:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return took


def main():
    worst = 0
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.getaddrinfo("allowed.test", 80)
        while time.monotonic() < END and worst < 1:
            worst = max(worst, linger_once(listener) if sys.argv[1] == "linger" else blocks_once(int(sys.argv[3])))
    print(f"{worst:.2f}")


if __name__ == "__main__":
    main()
