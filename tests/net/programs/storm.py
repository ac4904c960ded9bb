#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""storm.py SEED SECONDS STALLS: operations on sockets in an order that nobody planned, the same for the same SEED.

Says "open" with its last sockets as they are and waits for a line; closes all and says "closed N", N of its calls
having been to the port STALLS, where nobody answers; waits for a line again.
"""
import ctypes
import errno
import os
import random
import resource
import signal
import socket
import struct
import sys
import threading
import time

SEED, SECONDS, STALLS = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
CHANCE = random.Random(SEED)
APART = struct.pack("H14x", socket.AF_UNSPEC)
LIBC = ctypes.CDLL(None)
MOST = 120  # sockets at once
STALLED_MOST = 40  # calls that nobody answers: each is the gate's for a minute
GOOD4, GOOD6, DENIED4, DENIED6 = "11.0.0.10", "2a00:11::10", "11.0.0.66", "2a00:11::66"
PORTS = (7, 7, 9, 19, 80, 80, 443, 7001, 7002, 7003, 8080, 53)  # world.py has who is there
LOCAL = (53, 3128, 1080, 8765, 8080, 1)
HEADS = (b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
         b"POST /x HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         b"POST /x HTTP/1.1\r\nHost: allowed.test:8080\r\nContent-Length: 9\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n123",
         b"CONNECT allowed.test:443 HTTP/1.1\r\n\r\n", b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
         b"CONNECT evil.test:443 HTTP/1.1\r\n\r\n", b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
         b"\5\1\0", b"\5\1\0\3\14allowed.test\0\7", b"\5\1\0\3\11evil.test\0\7", b"\4\1\0\7\13\0\0\12x\0", b"\4\1\0\7\13\0\0\102x\0",
         b"\x16\3\1\2\0\1\0\1\xfc\3\3", b"\x16\3\1", b"100000\n", b"x", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 3000)


def question(name):
    labels = b"".join(bytes([len(part)]) + part for part in name.split(b"."))
    return struct.pack(">HHHHHH", CHANCE.randrange(65536), 256, 1, 0, 0, 0) + labels + b"\0\0\1\0\1"


class Storm:
    """All sockets, and what is done to them."""

    def __init__(self):
        self.all, self.stalled = [], 0
        self.acts = [getattr(self, name) for name in dir(self) if name.startswith("do_")]

    def pick(self):
        return CHANCE.choice(self.all) if self.all else self.new()

    def new(self):
        sock = socket.socket(CHANCE.choice((socket.AF_INET, socket.AF_INET, socket.AF_INET6)))
        sock.settimeout(CHANCE.choice((0, 0, 0.02)))
        self.all.append(sock)
        return sock

    def where(self, sock):
        four = sock.family == socket.AF_INET
        kind = CHANCE.random()
        if kind < 0.2:
            return ("127.0.0.1" if four else CHANCE.choice(("::1", "::ffff:127.0.0.1")), CHANCE.choice(LOCAL))
        if kind < 0.3 and self.stalled < STALLED_MOST:
            self.stalled += 1
            return (GOOD4 if four else f"::ffff:{GOOD4}", STALLS)
        host = (DENIED4 if four else DENIED6) if kind < 0.45 else GOOD4 if four else CHANCE.choice((GOOD6, f"::ffff:{GOOD4}"))
        return (host, CHANCE.choice(PORTS))

    def do_connect(self):
        sock = self.new() if CHANCE.random() < 0.8 else self.pick()
        to = self.where(sock)
        if CHANCE.random() < 0.3:  # the kernel's own waiting, which a signal ends
            sock.setblocking(True)
            signal.setitimer(signal.ITIMER_REAL, CHANCE.choice((0.0005, 0.005, 0.03)))
        try:
            sock.connect(to)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sock.settimeout(0)

    def do_connect_bound(self):
        sock = self.new()
        sock.setsockopt(socket.SOL_SOCKET, CHANCE.choice((socket.SO_REUSEADDR, socket.SO_REUSEPORT)), 1)
        sock.bind((CHANCE.choice(("", "127.0.0.1", "127.0.0.2")) if sock.family == socket.AF_INET else "", CHANCE.randrange(5000, 5008)))
        sock.setblocking(False)
        sock.connect(self.where(sock))

    def do_connect_from_threads(self):
        sock = self.new()
        sock.setblocking(False)
        places = [self.where(sock) for _ in range(3)]
        late = CHANCE.random() < 0.5
        threads = [threading.Thread(target=quietly, args=(sock, to)) for to in places]
        threads.append(threading.Thread(target=sock.close if late else lambda: libc_connect(sock.fileno(), APART)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def do_connect_and_fork(self):
        sock = self.new()
        sock.setblocking(False)
        to, says, resets = self.where(sock), CHANCE.choice(HEADS), CHANCE.random() < 0.5
        pid = os.fork()
        if pid == 0:
            try:
                sock.connect_ex(to)
                time.sleep(0.002)
                sock.send(says)
            finally:
                os._exit(0)
        if resets:
            os.kill(pid, signal.SIGKILL)
        sock.connect_ex(to)
        os.waitpid(pid, 0)

    def do_dissolve(self):
        sock = self.pick()
        libc_connect(sock.fileno(), APART)

    def do_say(self):
        data = CHANCE.choice(HEADS)
        cut = CHANCE.randrange(len(data) + 1)
        sock = self.pick()
        sock.send(data[:cut] if CHANCE.random() < 0.4 else data)
        if CHANCE.random() < 0.3:
            sock.send(data[cut:])

    def do_say_urgently(self):
        self.pick().send(CHANCE.choice(HEADS)[:CHANCE.randrange(1, 9)], socket.MSG_OOB)

    def do_say_much(self):
        self.pick().send(b"m" * CHANCE.choice((5000, 300000)))

    def do_hear(self):
        self.pick().recv(CHANCE.choice((1, 100, 65536)), CHANCE.choice((0, 0, socket.MSG_PEEK)))

    def do_ask_by_datagram(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            name = CHANCE.choice((b"allowed.test", b"evil.test", b"n%d.ok.test" % CHANCE.randrange(1000)))
            sock.sendto(question(name)[:CHANCE.choice((500, 500, 20))], ("127.0.0.53", 53))

    def do_ask_by_stream(self):
        sock = self.new()
        sock.settimeout(0.05)
        sock.connect((CHANCE.choice(("127.0.0.53", DENIED4)) if sock.family == socket.AF_INET else "::ffff:127.0.0.53", 53))
        asked = question(b"allowed.test")
        sock.send((struct.pack(">H", len(asked)) + asked) * CHANCE.randrange(1, 4))

    def do_listen(self):
        sock = self.pick()
        if CHANCE.random() < 0.3:
            sock.listen()

    def do_shut(self):
        self.pick().shutdown(CHANCE.randrange(3))

    def do_copy(self):
        self.all.append(self.pick().dup())

    def do_linger(self):
        self.pick().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, CHANCE.choice((0, 0, 1))))

    def do_name_peer(self):
        self.pick().getpeername()

    def do_close(self):
        sock = self.pick()
        self.all.remove(sock)
        sock.close()

    do_close_too = do_close_again = do_close

    def step(self):
        while len(self.all) > MOST:
            self.do_close()
        try:
            CHANCE.choice(self.acts)()
        except (OSError, InterruptedError, ValueError, OverflowError) as problem:
            if getattr(problem, "errno", None) in (errno.EMFILE, errno.ENOMEM):
                raise


def libc_connect(number, address):
    LIBC.connect(number, address, len(address))


def quietly(sock, to):
    try:
        sock.connect_ex(to)
    except OSError:
        pass  # it was closed


def interrupted(_number, _frame):
    raise InterruptedError


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    signal.signal(signal.SIGALRM, interrupted)
    for name in ("allowed.test", "n1.ok.test"):
        socket.getaddrinfo(name, 80)
    storm, end, count = Storm(), time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        storm.step()
        count += 1
    print("open", count, flush=True)
    sys.stdin.readline()
    for sock in storm.all:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)) if sock.fileno() >= 0 else None
        sock.close()
    print("closed", storm.stalled, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
