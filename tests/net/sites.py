# SPDX-License-Identifier: Apache-2.0
"""What the HTTP origins have to offer: pages, sizes, redirects, repositories, package registries.

    /…            one line that says which host and path were asked for
    /to?URL       302 to URL
    /bytes/N      N bytes
    /wait/MS      the line, after MS milliseconds
    /plain        the line, whatever protocol was offered
    /git/…        git's smart HTTP, reading and writing
    /npm/…        an npm registry with one package
    /simple/…     a pip index with one package
"""
import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import time
import zipfile


WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455's own


def unmasked(data):
    """A short frame of a web socket's client as a server sends it; anything else as it is."""
    if len(data) < 6 or data[0] != 0x81 or not 0x80 <= data[1] < 0x80 + 126:
        return data
    mask, said = data[2:6], data[6:6 + data[1] - 0x80]
    return bytes([0x81, len(said)]) + bytes(byte ^ mask[at % 4] for at, byte in enumerate(said))


class Exchange:
    """A request and the way back."""

    def __init__(self, peer, stream, request, body, where):
        self.peer, self.stream, self.request, self.body, self.where = peer, stream, request, body, where

    def reply(self, data, status="200 OK", kind="text/plain", more=()):
        head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *more]
        if self.request.version == "HTTP/1.0" and self.request.lasts():
            head.append("Connection: keep-alive")
        text = ("\r\n".join(head) + "\r\n\r\n").encode()
        self.peer.sendall(text if self.request.method == "HEAD" else text + data)
        return True


def npm_package():
    """(archive, what a registry says of it)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, text in (("package/package.json", json.dumps({"name": "sample", "version": "1.0.0", "main": "i.js"})),
                           ("package/i.js", "module.exports = 'sample of the lab'\n")):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    data = made.getvalue()
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    return data, {"name": "sample", "version": "1.0.0", "main": "i.js",
                  "dist": {"integrity": f"sha512-{digest}", "shasum": hashlib.sha1(data).hexdigest()}}


def wheel():
    made = io.BytesIO()
    info = "sample-1.0.dist-info"
    members = {
        "sample.py": 'VALUE = "sample of the lab"\n',
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(made, "w") as package:
        for name, text in members.items():
            package.writestr(name, text)
    return made.getvalue()


class Pages:
    """The routes, by the first part of the path."""

    def __init__(self, folder):
        self.folder = folder
        self.npm_data, self.npm_facts = npm_package()
        self.wheel = wheel()
        self.routes = {"to": self.redirect, "status": self.status, "late": self.late, "bytes": self.size, "wait": self.wait, "git": self.git, "npm": self.npm,
                       "simple": self.pip}

    def answer(self, exchange):
        """False when the connection is over after it."""
        request = exchange.request
        plain = request.path() == "/plain" or request.path().startswith("/status/")
        if request.method == "CONNECT" or ("websocket" in request.field("upgrade").lower() and not plain):
            return self.tunnel(exchange)
        name = request.path().lstrip("/").partition("/")[0].partition("?")[0]
        return self.routes.get(name, self.page)(exchange)

    @staticmethod
    def page(exchange):
        request = exchange.request
        host = (request.hosts or ["-"])[0]
        return exchange.reply(f"{request.method} {host} {request.path()} {len(exchange.body)}\n".encode())

    @staticmethod
    def tunnel(exchange):
        """Whatever is said after it comes back, as from a web socket's or a careless proxy's origin."""
        status = "101 Switching Protocols" if exchange.request.method != "CONNECT" else "200 OK"
        key = exchange.request.field("sec-websocket-key") + WEBSOCKET
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        exchange.peer.sendall(f"HTTP/1.1 {status}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        data = exchange.stream.data or exchange.peer.recv(65536)
        exchange.peer.sendall(unmasked(data))
        return False

    @staticmethod
    def redirect(exchange):
        return exchange.reply(b"", "302 Found", more=(f"Location: {exchange.request.path().partition('?')[2]}",))

    @staticmethod
    def status(exchange):
        """/status/101/NAME:VALUE…: whatever is asked for, as sites for tests have it; nothing is switched."""
        code, *fields = exchange.request.path().split("/")[2:]
        exchange.peer.sendall("\r\n".join([f"HTTP/1.1 {code} As You Like", *fields, "", ""]).encode())
        return True

    @staticmethod
    def late(exchange):
        """/late/MS: a body that comes after a while, and looks like an answer."""
        body = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
        exchange.peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        time.sleep(int(exchange.request.path().split("/")[2]) / 1000)
        exchange.peer.sendall(body)
        return True

    @staticmethod
    def size(exchange):
        left, block = int(exchange.request.path().split("/")[2]), bytes(range(256)) * 256
        exchange.peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n".encode())
        while left > 0:
            exchange.peer.sendall(block[:left])
            left -= len(block)
        return True

    def wait(self, exchange):
        time.sleep(int(exchange.request.path().split("/")[2]) / 1000)
        return self.page(exchange)

    def git(self, exchange):
        request = exchange.request
        path, _, query = request.path().partition("?")
        env = {"GIT_PROJECT_ROOT": f"{self.folder}/repositories", "GIT_HTTP_EXPORT_ALL": "1", "PATH": os.environ["PATH"],
               "PATH_INFO": path[len("/git"):], "QUERY_STRING": query, "REQUEST_METHOD": request.method,
               "CONTENT_TYPE": request.field("content-type"), "CONTENT_LENGTH": str(len(exchange.body)),
               "HTTP_CONTENT_ENCODING": request.field("content-encoding"),
               "GIT_PROTOCOL": request.field("git-protocol"), "REMOTE_USER": "someone", "REMOTE_ADDR": "11.0.0.1",
               "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        done = subprocess.run(["git", "http-backend"], input=exchange.body, env=env, stdout=subprocess.PIPE, check=False)
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = fields.pop("Status", "200 OK")
        kind = fields.pop("Content-Type", "text/plain")
        return exchange.reply(data, status, kind, [f"{name}: {value}" for name, value in fields.items()])

    def npm(self, exchange):
        if exchange.request.path().endswith(".tgz"):
            return exchange.reply(self.npm_data, kind="application/octet-stream")
        scheme = "https" if exchange.where.endswith("443") else "http"
        address = f"{scheme}://{exchange.request.hosts[0]}/npm/sample-1.0.0.tgz"
        facts = dict(self.npm_facts, dist=dict(self.npm_facts["dist"], tarball=address))
        text = json.dumps({"name": "sample", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": facts}})
        return exchange.reply(text.encode(), kind="application/json")

    def pip(self, exchange):
        if exchange.request.path().endswith(".whl"):
            return exchange.reply(self.wheel, kind="application/octet-stream")
        return exchange.reply(b'<!DOCTYPE html><a href="sample-1.0-py3-none-any.whl">sample-1.0-py3-none-any.whl</a>',
                              kind="text/html")
