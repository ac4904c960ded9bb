# SPDX-License-Identifier: Apache-2.0
"""Origins that log what reaches them: HTTP, TLS, and TCP servers with one habit each.

Should:   write one line for every request, hello, connection's data and datagram, with
          the address it was sent to, so that a verdict can be read from here; read as leniently
          as the worst origin of the internet does, so that what a strict reader would
          turn down still counts as arrived.
Must not: decide what is allowed; resolve names.
"""
import os
import re
import socket
import ssl
import struct
import threading
import time

import sites
import world

SHOWN = 500  # bytes of what was said that a line shows
QUIET = 20.0  # seconds after which a silent connection is let go


class Log:
    """Lines in a file that several processes append to."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def say(self, kind, where, **facts):
        words = [kind, where] + [f"{name}={value}" for name, value in facts.items()]
        os.write(self.fd, (" ".join(words).replace("\n", "\\n") + "\n").encode("utf-8", "backslashreplace"))


def spell(name):
    """ADDRESS:PORT as a line has it."""
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"


def shown(data):
    return repr(data[:SHOWN])


class Request:
    """One request's head, read leniently."""

    def __init__(self, head):
        text = head.decode("latin-1")
        lines = [line.rstrip("\r") for line in text.lstrip("\r\n").split("\n")]
        words = lines[0].split(" ") + ["", ""]
        self.method, self.target, self.version = words[0], words[1], words[2]
        pairs = [line.partition(":") for line in lines[1:] if ":" in line]
        self.fields = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
        self.hosts = [value for name, value in self.fields if name == "host"]

    def field(self, name):
        return next((value for key, value in self.fields if key == name), "")

    def path(self):
        return re.sub(r"^[a-z]+://[^/]*", "", self.target) or "/"

    def lasts(self):
        if self.version == "HTTP/1.0":
            return "keep-alive" in self.field("connection").lower()
        return self.version == "HTTP/1.1" and "close" not in self.field("connection").lower()


class Stream:
    """A connection with a buffer."""

    def __init__(self, peer):
        self.peer, self.data, self.got = peer, b"", 0

    def more(self):
        part = self.peer.recv(65536)
        self.data += part
        self.got += len(part)
        return part

    def until(self, pattern, most=1 << 20):
        """Up to and with the first match, or None at the end of the stream."""
        while True:
            found = re.search(pattern, self.data)
            if found:
                taken, self.data = self.data[:found.end()], self.data[found.end():]
                return taken
            if len(self.data) > most or not self.more():
                return None

    def take(self, size):
        while len(self.data) < size and self.more():
            pass
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def body(self, request):
        if "chunked" in request.field("transfer-encoding").lower():
            parts = []
            while True:
                line = self.until(rb"\r?\n")
                size = int(line.split(b";")[0] or b"0", 16) if line else 0
                if size == 0:
                    self.until(rb"\r?\n")
                    return b"".join(parts)
                parts.append(self.take(size))
                self.until(rb"\r?\n")
        length = request.field("content-length")
        return self.take(int(length)) if length.isdigit() else b""


class Origins:
    """All servers of one namespace."""

    def __init__(self, log, pages, context=None):
        self.log, self.pages, self.context = log, pages, context

    # -- listening --

    def listen(self, port, serve):
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
            sock.bind((address, port))
            sock.listen(1024)
            threading.Thread(target=self.accept, args=(sock, serve), daemon=True).start()

    def accept(self, sock, serve):
        while True:
            try:
                peer, _ = sock.accept()
            except OSError:
                time.sleep(0.05)  # no descriptors left at this moment
                continue
            threading.Thread(target=self.attend, args=(peer, serve), daemon=True).start()

    def attend(self, peer, serve):
        with peer:
            peer.settimeout(QUIET)
            name = peer.getsockname()
            try:
                (self.smtp if name[0] == world.SPEAKS_FIRST else serve)(peer, spell(name))
            except (OSError, ValueError, IndexError, struct.error):
                return  # the other side went away or speaks nonsense, which was logged as far as it came

    def datagrams(self, address, port, serve):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.bind((address, port))

        def loop():
            while True:
                data, peer = sock.recvfrom(65536)
                threading.Thread(target=serve, args=(sock, data, peer, spell((address, port))), daemon=True).start()
        threading.Thread(target=loop, daemon=True).start()

    def packets(self, interface):
        """Those that no server is told of: with a way of their own, or to a loopback beyond the cable."""
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        sock.bind((interface, 0))

        def loop():
            while True:
                data = sock.recv(65536)
                four = data[0] >> 4 == 4 and (data[0] & 15 > 5 or data[16] == 127)
                six = data[0] >> 4 == 6 and (data[6] == 43 or data[24:40] == bytes(15) + b"\1")
                if four or six:
                    self.log.say("packet", interface, raw=shown(data))
        threading.Thread(target=loop, daemon=True).start()

    # -- HTTP --

    def http(self, peer, where, sni="-"):
        stream = Stream(peer)
        while True:
            head = stream.until(rb"[^\r\n]\r?\n\r?\n")  # lines before a request are nothing to the lenient
            if head is None:
                if stream.data:
                    self.log.say("rest", where, sni=sni, raw=shown(stream.data))
                return
            request = Request(head)
            # The worst server takes no body off the wire for some of what it serves.
            body = b"" if request.path().startswith("/ignore") else stream.body(request)
            self.log.say("http", where, sni=sni, host=",".join(request.hosts) or "-", method=request.method,
                         target=request.target, bytes=len(body), raw=shown(head + body + stream.data))
            if request.method == "PRI":
                return
            lasts = self.pages.answer(sites.Exchange(peer, stream, request, body, where))
            if not (lasts and request.lasts()):
                return

    def https(self, peer, where):
        # As it came, because a library's own reader turns the worst of them down unread.
        self.log.say("hello", where, raw=shown(peer.recv(4096, socket.MSG_PEEK)))
        seen = []

        def hello(_sock, name, _context):
            seen.append(name or "-")
            self.log.say("tls", where, sni=name or "-")
        context = self.context()
        context.sni_callback = hello
        with context.wrap_socket(peer, server_side=True) as wrapped:
            self.http(wrapped, where, sni=seen[0] if seen else "-")

    # -- habits --

    def smtp(self, peer, where):
        """Speaks first."""
        peer.sendall(b"220 mail.test ready\r\n")
        stream = Stream(peer)
        while True:
            line = stream.until(rb"\n")
            if line is None:
                return
            self.log.say("smtp", where, raw=shown(line))
            verb = line.upper().strip()[:8]
            answers = {b"QUIT": b"221 bye", b"STARTTLS": b"220 go on", b"EHLO": b"250-mail.test\r\n250 STARTTLS"}
            peer.sendall(answers.get(verb.split(b" ")[0], b"250 " + line.strip()) + b"\r\n")
            if verb == b"QUIT":
                return
            if verb == b"STARTTLS":
                peer = self.context().wrap_socket(peer, server_side=True)
                stream = Stream(peer)

    def mysql(self, peer, where):
        """Speaks first, too; whoever logs in is welcome, and every command succeeds."""
        fixed = b"\x0a8.0.0-lab\0" + bytes(4) + b"saltsalt\0" + struct.pack("<HBHH", 0xf7ff, 33, 2, 0x0008) + b"\x15" + bytes(10)
        packet, number = fixed + b"saltsaltsalt\0mysql_native_password\0", 0
        stream = Stream(peer)
        while True:
            peer.sendall(struct.pack("<I", len(packet))[:3] + bytes([number]) + packet)
            head = stream.take(4)
            if len(head) < 4:
                return
            said, number = stream.take(int.from_bytes(head[:3], "little")), head[3] + 1
            self.log.say("mysql", where, raw=shown(said))
            packet = b"\0\0\0\2\0\0\0"  # all is well

    def echo(self, peer, where):
        first = True
        while True:
            data = peer.recv(65536)
            if first:
                self.log.say("echo", where, raw=shown(data))
            first = False
            if not data:
                return
            peer.sendall(data)

    def discard(self, peer, where):
        got, first = 0, b""
        while True:
            data = peer.recv(1 << 20)
            if not data:
                break
            first, got = first or data, got + len(data)
        self.log.say("discard", where, bytes=got, raw=shown(first))

    def bulk(self, peer, where):
        """A line with a number; so many bytes back."""
        line = Stream(peer).until(rb"\n") or b"0"
        self.log.say("bulk", where, raw=shown(line))
        left, block = int(line.split()[0]), bytes(range(256)) * 256
        while left > 0:
            peer.sendall(block[:left])
            left -= len(block)

    def reset(self, peer, where):
        data = peer.recv(4096)
        self.log.say("reset", where, raw=shown(data))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def half_close(self, peer, where):
        """Says all it has to say, ends its side, and then listens."""
        peer.sendall(b"said\n")
        peer.shutdown(socket.SHUT_WR)
        data = b""
        while True:
            part = peer.recv(65536)
            if not part:
                break
            data += part
        self.log.say("half", where, bytes=len(data), raw=shown(data))

    def stall(self, peer, where):
        """Takes the connection and never reads."""
        self.log.say("stall", where)
        time.sleep(QUIET * 3)
        peer.close()

    def count(self, peer, where):
        """Answers after the other side has ended its half: how many bytes came."""
        got = 0
        while True:
            part = peer.recv(1 << 16)
            if not part:
                break
            got += len(part)
        self.log.say("count", where, bytes=got)
        peer.sendall(b"%d\n" % got)

    def relay(self, backend):
        """A service that keeps no log of its own, behind one that does."""
        def serve(peer, where):
            family = socket.AF_UNIX if isinstance(backend, str) else socket.AF_INET
            behind = socket.socket(family, socket.SOCK_STREAM)
            with behind:
                behind.connect(backend)
                self.log.say("relay", where)
                other = threading.Thread(target=pump, args=(behind, peer), daemon=True)
                other.start()
                first = pump(peer, behind)
                other.join()
                self.log.say("relayed", where, raw=shown(first))
        return serve

    def sink(self, _sock, data, _peer, where):
        self.log.say("udp", where, raw=shown(data))


def pump(source, target):
    """Copies one direction to its end; the first part of it."""
    first = b""
    try:
        source.settimeout(None)
        while True:
            data = source.recv(1 << 16)
            if not data:
                break
            first = first or data
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return first  # one of the two is gone
    return first


def tls_context(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/origin.pem", f"{folder}/origin.key")
    context.set_alpn_protocols(["http/1.1"])
    return context


def start(origins):
    """Everything that a whole internet has."""
    for ports, serve in ((world.HTTP, origins.http), (world.HTTPS, origins.https)):
        for port in ports:
            origins.listen(port, serve)
    for port, serve in ((world.SMTP, origins.smtp), (world.ECHO, origins.echo), (world.DISCARD, origins.discard),
                        (world.BULK, origins.bulk), (world.MYSQL, origins.mysql), (world.RESETS, origins.reset), (world.HALF_CLOSES, origins.half_close),
                        (world.STALLS, origins.stall), (world.COUNTS, origins.count)):
        origins.listen(port, serve)
    for address in (*world.PUBLIC4[1:], *world.PUBLIC6[1:]):
        for port in world.DATAGRAMS:
            origins.datagrams(address, port, origins.sink)
