#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""say [OPTION…] HOST PORT: sends standard input to a host in an uncommon way, and prints what comes back.

    --ask NAME         looks this name up first
    --tls NAME         inside TLS with this server name; "-" for none
    --pieces N         the first 4096 bytes in pieces of N, each in a packet of its own
    --records N        the TLS hello in records of N bytes
    --hello NAME       a hello of our own with this server name, as any bytes, and no more
    --grow N           that hello has N bytes of padding
    --twice NAME       that hello has a second server name
    --second NAME      that hello has a second extension with this server name
    --retry NAME       that hello has no key; when the server asks for one, the next has this server name
    --inside TEXT, --behind TEXT   that hello has an extension with these bytes, or they follow it
    --ech              that hello offers an encrypted one
    --proxy WORD       CONNECT WORD at HOST PORT first
    --socks5 WORD, --socks4 WORD   NAME:PORT in which \\0 may stand, the same by SOCKS
    --again A P        after that, the same socket is connected to address A, port P
    --ping             an ICMP echo to HOST instead; "answered" when it comes back
    --listeners        to every port of HOST from PORT on at which this namespace has a listener
    --gap S            waits between the lines of standard input that are only "--"
    --listen S         sends nothing and waits so long for the other side
    --query NAME, --type N, --by udp|tcp     a DNS question to HOST instead; --pieces as above
    --before NAME      by TCP a question for this name goes ahead of it, in the same segment
    --also NAME        the message has a second question, for this name
    --edns N           and offers to take N bytes, with as many of padding

Exit status 0 when anything came back.
"""
import argparse
import codecs
import os
import socket
import ssl
import struct
import sys
import time


def options():
    parser = argparse.ArgumentParser()
    for name in ("--ask", "--tls", "--hello", "--twice", "--second", "--retry", "--inside", "--behind", "--before", "--also", "--proxy", "--socks5", "--socks4", "--query"):
        parser.add_argument(name)
    for name in ("--pieces", "--records", "--grow", "--edns"):
        parser.add_argument(name, type=int, default=0)
    parser.add_argument("--type", type=int, default=1)
    parser.add_argument("--by", default="udp")
    parser.add_argument("--again", nargs=2)
    parser.add_argument("--gap", type=float, default=0.3)
    parser.add_argument("--listen", type=float)
    parser.add_argument("--ech", action="store_true")
    parser.add_argument("--listeners", action="store_true")
    parser.add_argument("--ping", action="store_true")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    return parser.parse_args()


def send(sock, data, pieces):
    """All of it, the beginning in small packets."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    small = data[:4096] if pieces else b""
    for at in range(0, len(small), pieces or 1):
        sock.sendall(small[at:at + pieces])
        time.sleep(0.001)
    sock.sendall(data[len(small):])


def in_records(data, size):
    """A TLS record cut into smaller ones, each with a head of its own."""
    head, body = data[:3], data[5:5 + struct.unpack(">H", data[3:5])[0]]
    cut = b"".join(head + struct.pack(">H", len(body[at:at + size])) + body[at:at + size]
                   for at in range(0, len(body), size))
    return cut + data[5 + len(body):]


def extension(kind, body):
    return struct.pack(">HH", kind, len(body)) + body


def server_name(names):
    entries = b"".join(b"\0" + struct.pack(">H", len(name)) + name for name in names)
    return extension(0, struct.pack(">H", len(entries)) + entries)


def raw(text):
    return codecs.decode(text, "unicode_escape").encode("latin-1")


def own_hello(asked, names, key=True):
    """A hello of TLS 1.3 and 1.2 that no library would write."""
    share = b"\0\x24\0\x1d\0\x20" + os.urandom(32) if key else b"\0\0"
    parts = [extension(0x0a0a, b""), server_name([raw(name) for name in names if name]), extension(43, b"\4\3\4\3\3"),
             extension(10, b"\0\2\0\x1d"), extension(13, b"\0\4\4\3\4\1"), extension(51, share)]
    if asked.inside or asked.behind:
        parts = parts[1:2]  # no byte of it ends a line
    if asked.second:
        parts.append(server_name([raw(asked.second)]))
    if asked.inside:
        parts.append(extension(0x0b0b, raw(asked.inside)))
    if asked.ech:
        parts.append(extension(0xfe0d, b"\0\0\1\0\1\7" + struct.pack(">H", 32) + os.urandom(32) + struct.pack(">H", 64) +
                               os.urandom(64)))
    if asked.grow:
        parts.insert(0, extension(21, bytes(asked.grow)))
    body = b"\3\3" + bytes(32) + b"\x20" + bytes(32) + b"\0\4\x13\1\xc0\x2b" + b"\1\0"
    body += struct.pack(">H", sum(map(len, parts))) + b"".join(parts)
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    size = asked.records or 16000
    return b"".join(b"\x16\3\1" + struct.pack(">H", len(message[at:at + size])) + message[at:at + size]
                    for at in range(0, len(message), size))


class Tls:
    """TLS over a socket, with our own hand on the hello."""

    def __init__(self, sock, asked):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.sock, self.incoming, self.outgoing = sock, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=None if asked.tls == "-" else asked.tls)
        first = True
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                data = self.outgoing.read()
                if first and asked.records:
                    data = in_records(data, asked.records)
                send(sock, data, asked.pieces if first else 0)
                first = False
                self.more()
        self.flush()

    def flush(self):
        self.sock.sendall(self.outgoing.read())

    def more(self):
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionError("the other side ended it")
        self.incoming.write(data)

    def sendall(self, data):
        self.tls.write(data)
        self.flush()

    def recv(self, size):
        while True:
            try:
                return self.tls.read(size)
            except ssl.SSLWantReadError:
                self.more()


def connect_proxy(sock, word):
    there = raw(word)
    sock.sendall(b"CONNECT " + there + b" HTTP/1.1\r\nHost: " + there + b"\r\n\r\n")
    answer = sock.recv(4096)
    if b" 200" not in answer[:20]:
        raise ConnectionError(f"the proxy says {answer[:60]!r}")


def target(word):
    name, _, port = codecs.decode(word, "unicode_escape").rpartition(":")
    return name.encode("latin-1"), struct.pack(">H", int(port))


def connect_socks5(sock, word):
    name, port = target(word)
    sock.sendall(b"\5\1\0")
    sock.recv(2)
    sock.sendall(b"\5\1\0\3" + bytes([len(name)]) + name + port)
    answer = sock.recv(64)
    if answer[:2] != b"\5\0":
        raise ConnectionError(f"the proxy says {answer!r}")


def connect_socks4(sock, word):
    """With an address as it is, with a name as 4a has it."""
    name, port = target(word)
    try:
        sock.sendall(b"\4\1" + port + socket.inet_aton(name.decode()) + b"u\0")
    except OSError:
        sock.sendall(b"\4\1" + port + b"\0\0\0\1" + b"u\0" + name + b"\0")
    answer = sock.recv(8)
    if answer[:2] != b"\0Z":
        raise ConnectionError(f"the proxy says {answer!r}")


def wanted(asked, name):
    labels = raw(name).split(b".")
    return b"".join(bytes([len(label)]) + label for label in labels if label) + b"\0" + struct.pack(">HH", asked.type, 1)


def message_of(asked, names):
    """A message with a question for every name."""
    more = b"\0" + struct.pack(">HHIHHH", 41, asked.edns, 0, asked.edns + 4, 12, asked.edns) + bytes(asked.edns) if asked.edns else b""
    return struct.pack(">HHHHHH", 4711, 0x0100, len(names), 0, 0, 1 if more else 0) + b"".join(wanted(asked, name) for name in names) + more


def question(asked):
    message = message_of(asked, [name for name in (asked.query, asked.also) if name])
    family = socket.AF_INET6 if ":" in asked.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM if asked.by == "udp" else socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        if asked.by == "udp":
            sock.sendto(message, (asked.host, asked.port))
            return sock.recv(4096)
        sock.connect((asked.host, asked.port))
        ahead = message_of(asked, [asked.before]) if asked.before else b""
        send(sock, b"".join(struct.pack(">H", len(part)) + part for part in (ahead, message) if part), asked.pieces)
        return sock.recv(4096)


def listeners():
    """Ports in the state LISTEN, as the namespace's own table has them."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    return sorted({int(row[1].partition(":")[2], 16) for row in rows if row[3] == "0A"})


def tell_listeners(asked):
    data, heard = sys.stdin.buffer.read(), b""
    for port in listeners():
        if port < asked.port:
            continue
        try:
            with socket.create_connection((asked.host, port), 1) as sock:
                sock.settimeout(0.5)
                sock.sendall(data)
                heard += sock.recv(4096)
        except OSError as problem:
            print(f"say: {port}: {problem}")
    return heard


def ping(asked):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as sock:
        sock.settimeout(1)
        sock.sendto(b"\x08\0\0\0\0\1\0\1", (asked.host, 0))
        sock.recv(100)
    return b"answered\n"


def talk(asked, sock):
    for name, connect in (("proxy", connect_proxy), ("socks5", connect_socks5), ("socks4", connect_socks4)):
        if getattr(asked, name):
            connect(sock, getattr(asked, name))
    if asked.again:
        sock.connect((asked.again[0], int(asked.again[1])))
    way = Tls(sock, asked) if asked.tls else sock
    if asked.hello:
        send(sock, own_hello(asked, (asked.hello, asked.twice), key=not asked.retry) + raw(asked.behind or ""), asked.pieces)
        if asked.retry:
            sock.recv(65536)  # the server's question
            send(sock, own_hello(asked, (asked.retry,)), 0)
    elif asked.listen is None:
        parts = sys.stdin.buffer.read().split(b"--\n")
        for number, data in enumerate(parts):
            if number:
                time.sleep(asked.gap)
            if asked.tls:
                way.sendall(data)
            else:
                try:
                    send(sock, data, asked.pieces)
                except BrokenPipeError:
                    break  # it was ended there; what came before that is still to be read
    return way.recv(65536)


def main():
    asked = options()
    if asked.ask:
        socket.getaddrinfo(asked.ask, asked.port)
    try:
        if asked.query:
            got = question(asked)
        elif asked.ping:
            got = ping(asked)
        elif asked.listeners:
            got = tell_listeners(asked)
        else:
            with socket.create_connection((asked.host, asked.port), 5) as sock:
                sock.settimeout(asked.listen or 3)
                got = talk(asked, sock)
    except (OSError, ssl.SSLError) as problem:
        print(f"say: {problem}")
        return 1
    sys.stdout.buffer.write(got)
    return 0 if got else 1


if __name__ == "__main__":
    sys.exit(main())
