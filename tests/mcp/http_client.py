# SPDX-License-Identifier: Apache-2.0
"""A raw client of `corral mcp --http`: sockets and bytes, nothing checked by a library."""
import json
import re
import socket
import subprocess

from client import META, MODERN
from harness import PATIENCE, Failure, check

ACCEPT = "application/json, text/event-stream"


class Reply:
    """A response; `messages` are the JSON-RPC messages of its body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        kind = headers.get("content-type", "")
        if kind.startswith("text/event-stream"):
            self.messages = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]
        else:
            self.messages = [json.loads(body)] if kind == "application/json" else []

    @property
    def message(self):
        check(self.messages, f"no message: {self.status} {self.body[:300]}")
        return self.messages[-1]

    @property
    def code(self):
        return self.message.get("error", {}).get("code")


class Connection:
    """One TCP connection.  Each read waits for bytes, not for a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.data = b""

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        try:
            got = self.socket.recv(65536)
        except ConnectionResetError:
            got = b""
        self.data += got
        return len(got) > 0

    def take(self, n):
        while len(self.data) < n:
            if not self.more():
                raise Failure(f"the connection ended: {self.data[:300]}")
        got, self.data = self.data[:n], self.data[n:]
        return got

    def line(self):
        while b"\n" not in self.data:
            if not self.more():
                raise Failure(f"the connection ended: {self.data[:300]}")
        return self.take(self.data.index(b"\n") + 1).decode("latin-1").rstrip("\r\n")

    def head(self):
        words = self.line().split(" ", 2)
        check(words[0] == "HTTP/1.1", f"no HTTP response: {words}")
        headers = {}
        while line := self.line():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(words[1]), headers

    def chunk(self):
        """The next chunk of a stream; b"" at its end."""
        data = self.take(int(self.line(), 16))
        self.take(2)
        return data

    def reply(self):
        status, headers = self.head()
        if status == 100:
            return self.reply()
        if "transfer-encoding" in headers:
            body = b""
            while part := self.chunk():
                body += part
        else:
            body = self.take(int(headers["content-length"]))
        return Reply(status, headers, body)

    def ended(self):
        while self.more():
            pass
        return True

    def close(self):
        self.socket.close()


class Server:
    """A running `corral mcp --http`, with the token that it wrote."""

    def __init__(self, box, *words, **more):
        self.box, self.connections, self.last = box, [], 0
        self.process = box.start([box.corral, "mcp", "--http", "0", "--token-file", f"{box.dir}/token", *words],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
        line = self.process.stderr.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        check(found, f"no address: {line}")
        self.port = int(found[1])
        self.process.stderr.readline()
        with open(f"{box.dir}/token", encoding="utf-8") as file:
            self.token = file.read().strip()

    def connect(self):
        self.connections.append(Connection(self.port))
        return self.connections[-1]

    def head(self, method="POST", path="/mcp", length=None, **headers):
        """The bytes of a head; a header None leaves out the default."""
        fields = {"host": f"127.0.0.1:{self.port}", "authorization": f"Bearer {self.token}", "accept": ACCEPT,
                  "content-type": "application/json", "content-length": length,
                  **{name.replace("_", "-"): value for name, value in headers.items()}}
        lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
        return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()

    def begin(self, body=None, method="POST", **headers):
        """Sends a request on a connection of its own."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = self.connect()
        connection.send(self.head(method, length=len(data) if body is not None else None, **headers) + data)
        return connection

    def ask(self, body=None, method="POST", **headers):
        return self.begin(body, method, **headers).reply()

    def request(self, method, params=None):
        self.last += 1
        return {"jsonrpc": "2.0", "id": self.last, "method": method, **({} if params is None else {"params": params})}

    def initialize(self, revision="2025-11-25"):
        """The id of a new session."""
        reply = self.ask(self.request("initialize", {"protocolVersion": revision, "capabilities": {},
                                                     "clientInfo": {"name": "test", "version": "1"}}))
        check(reply.message["result"]["protocolVersion"] == revision, reply.body)
        check(self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"},
                       mcp_session_id=reply.headers["mcp-session-id"]).status == 202, "a notification is accepted")
        return reply.headers["mcp-session-id"]

    def modern(self, method, params=None, **headers):
        """A stateless request with its headers; returns what ask() needs."""
        params = {**(params or {}), "_meta": {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                                              **(params or {}).get("_meta", {})}}
        named = {"mcp_name": params["name"]} if "name" in params else {}
        return self.request(method, params), {"mcp_protocol_version": MODERN, "mcp_method": method, **named, **headers}

    def call(self, name, arguments, **headers):
        body, fields = self.modern("tools/call", {"name": name, "arguments": arguments}, **headers)
        return self.ask(body, **fields)

    def rss(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])

    def lives(self):
        """A control after an attack: the server still works."""
        reply = self.call("shell", {"command": "echo alive"})
        check(reply.status == 200 and reply.message["result"]["structuredContent"]["stdout"] == "alive\n", reply.body)
