# SPDX-License-Identifier: Apache-2.0
"""Proxies without rules, on the lab's machine: what a control needs to show that an attempt could succeed.

HTTP (CONNECT and absolute form) and SOCKS 4, 4a, 5, at the ports where Corral's own listen inside.
They understand every spelling that some resolver or some proxy ever understood, and forward
what they get as they get it.
"""
import re
import socket
import struct
import threading
import urllib.parse

from origins import Request, Stream, pump

HTTP, SOCKS = 3128, 1080


def spelled(host):
    """As the most obliging reader takes it: cut at NUL, decoded, trimmed."""
    text = urllib.parse.unquote(host.partition("\0")[0]).rpartition("@")[2].strip(" \t[]\\/").split("%")[0]
    text = re.split(r"[\s/\\]", text)[0].rstrip(".") if re.search(r"[\s/\\]|\.$", text) else text
    six = re.fullmatch(r"::(?:ffff:)?(\d+\.\d+\.\d+\.\d+)", text)
    return six.group(1) if six else text


def dial(host, port):
    return socket.create_connection((spelled(host), port), 5)


def join(peer, stream, other):
    with other:
        if stream.data:
            other.sendall(stream.data)
        back = threading.Thread(target=pump, args=(other, peer), daemon=True)
        back.start()
        pump(peer, other)
        back.join()


def http(peer, _where):
    stream = Stream(peer)
    head = stream.until(rb"\r?\n\r?\n")
    if head is None:
        return
    request = Request(head)
    if request.method == "CONNECT":
        host, _, port = request.target.rpartition(":")
        other = dial(host, int(port))
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    else:
        rest = request.target.partition("://")[2] or request.hosts[-1]
        host, port = re.fullmatch(r"(\[[^]]*\]|[^:/]*)(?::(\d+))?(?:/.*)?", rest, re.DOTALL).groups()
        other = dial(host or request.hosts[-1], int(port or 80))
        stream.data = head + stream.data
    join(peer, stream, other)


def cstring(stream):
    text = stream.until(rb"\0")
    if text is None:
        raise ValueError("no end")
    return text[:-1].decode("latin-1")


def socks4(stream):
    _, port, number = struct.unpack(">BH4s", stream.take(7))
    cstring(stream)  # the user
    named = number[:3] == b"\0\0\0" and number[3]
    return cstring(stream) if named else socket.inet_ntoa(number), port, b"\0Z" + bytes(6)


def socks5(peer, stream):
    stream.take(stream.take(1)[0])
    peer.sendall(b"\5\0")
    _, _, _, kind = stream.take(4)
    if kind == 1:
        host = socket.inet_ntoa(stream.take(4))
    elif kind == 4:
        host = socket.inet_ntop(socket.AF_INET6, stream.take(16))
    else:
        host = stream.take(stream.take(1)[0]).decode("latin-1")
    return host, struct.unpack(">H", stream.take(2))[0], b"\5\0\0\1" + bytes(6)


def socks(peer, _where):
    stream = Stream(peer)
    version = stream.take(1)
    host, port, answer = socks5(peer, stream) if version == b"\5" else socks4(stream)
    other = dial(host, port)
    peer.sendall(answer)
    join(peer, stream, other)


def start(origins):
    origins.listen(HTTP, http)
    origins.listen(SOCKS, socks)
