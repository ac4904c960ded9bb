# SPDX-License-Identifier: Apache-2.0
"""What no client of MCP sends over HTTP: smuggling, floods, slow and silent clients."""
import json

from harness import check, equal
from http_client import Server

BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
LIMIT_KB = 256 * 1024  # of memory: bodies of 64 MiB at once, parsed, and the policy


def heads(server):
    """{name: (bytes, status)}: each is refused before a route sees it."""
    start = server.head(length=None)[:-2]
    n = len(BODY)
    return {
        "CL and TE": (start + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % n, 400),
        "two CL": (start + b"Content-Length: %d\r\nContent-Length: 0\r\n\r\n" % n + BODY, 400),
        "a list of CL": (start + b"Content-Length: %d, %d\r\n\r\n" % (n, n) + BODY, 400),
        "a signed CL": (start + b"Content-Length: +%d\r\n\r\n" % n + BODY, 400),
        "a hexadecimal CL": (start + b"Content-Length: 0x10\r\n\r\n", 400),
        "TE identity": (start + b"Transfer-Encoding: identity\r\n\r\n", 400),
        "TE twice": (start + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        "TE with a blank": (start + b"Transfer-Encoding : chunked\r\n\r\n", 400),
        "a bad chunk": (start + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        "a chunk without end": (start + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX", 400),
        "a chunk of 2^64": (start + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400),
        "bare LF": (start.replace(b"\r\n", b"\n") + b"\n", 400),
        "a folded line": (start + b"X: a\r\n b\r\n\r\n", 400),
        "NUL": (start + b"X: a\0b\r\n\r\n", 400),
        "two Hosts": (start + b"Host: 127.0.0.1:%d\r\n\r\n" % server.port, 400),
        "no Host": (server.head(host=None), 400),
        "HTTP/0.9": (b"GET /mcp\r\n\r\n", 400),
        "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", 400),
        "a URL as target": (server.head(path=f"http://127.0.0.1:{server.port}/mcp"), 400),
        "CONNECT": (server.head("CONNECT", f"127.0.0.1:{server.port}"), 400),
        "TRACE": (server.head("TRACE"), 405),
        "another path": (server.head(path="/"), 404),
        "a path with %": (server.head(path="/%6dcp"), 404),
        "PUT": (server.head("PUT"), 405),
        "another Expect": (start + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}", 417),
        "many fields": (start + b"A: b\r\n" * 300 + b"\r\n", 431),
        "a long head": (start + b"A: " + b"b" * 70000 + b"\r\n\r\n", 431),
    }


def register(suite):
    @suite.test("http: malformed requests and smuggling are refused, and the connection ends")
    def _(box):
        server = Server(box)
        for name, (data, status) in heads(server).items():
            connection = server.connect()
            try:
                connection.send(data + b"GET /mcp HTTP/1.1\r\n\r\n")
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was refused before its end
            reply = connection.reply()
            equal((reply.status, reply.headers["connection"]), (status, "close"), f"{name}: {reply.body}")
            check(connection.ended() and connection.data == b"", f"{name}: nothing follows: {connection.data}")
        server.lives()

    @suite.test("http: a request in single bytes, in chunks, and two in one segment")
    def _(box):
        server = Server(box)
        session = server.initialize()
        head = server.head(length=len(BODY), mcp_session_id=session)
        connection = server.connect()
        for byte in head + BODY:
            connection.send(bytes([byte]))
        equal(connection.reply().message["result"], {}, "single bytes")
        chunked = server.head(mcp_session_id=session, transfer_encoding="chunked")
        connection.send(chunked + b"a\r\n" + BODY[:10] + b"\r\n1e;x=y\r\n" + BODY[10:] + b"\r\n0\r\nT: v\r\n\r\n")
        equal(connection.reply().message["result"], {}, "chunks")
        second = BODY.replace(b'"id":1', b'"id":2')
        connection.send(head + BODY + head + second + head)
        equal([connection.reply().message["id"], connection.reply().message["id"]], [1, 2], "in one segment, in order")
        connection.send(BODY)
        equal(connection.reply().message["result"], {}, "and the rest of the third")
        connection.send(server.head(length=len(BODY), mcp_session_id=session, expect="100-continue"))
        equal(connection.head()[0], 100, "100-continue")
        connection.send(BODY)
        equal(connection.reply().message["result"], {}, "after it")

    @suite.test("http: bodies of 100 MB are refused in bounded memory, without a token before they come")
    def _(box):
        server = Server(box)
        reply = server.begin(method="POST", content_length=100_000_000, authorization=None).reply()
        equal(reply.status, 401, "without a token")
        equal(server.begin(method="POST", content_length=100_000_000).reply().status, 413, "the length is too large")
        connection = server.begin(method="POST", transfer_encoding="chunked")
        try:
            for _ in range(100):
                connection.send(b"f4240\r\n" + b" " * 1_000_000 + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        equal(connection.reply().status, 413, "chunks without end")
        server.lives()
        check(server.rss() < LIMIT_KB, f"{server.rss()} KB")

    @suite.test("http: many bodies at once, and deep or wide JSON, in bounded memory")
    def _(box):
        server = Server(box)
        waiting = [server.begin(method="POST", content_length=15_000_000) for _ in range(8)]
        for connection in waiting:
            connection.socket.setblocking(False)
            try:
                connection.socket.send(b" " * 1_000_000)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                pass
            connection.socket.setblocking(True)
        refused = [c for c in waiting[4:] if c.reply().status == 503]
        equal(len(refused), 4, "more than 64 MiB together")
        for connection in waiting:
            connection.close()
        for body in (b"[" * 100000, b"[" + b"1," * 2_000_000 + b"1]", b'{"a":' * 5000, b"\xff" * 100):
            equal(server.ask(body).code, -32700, body[:10])
        server.lives()
        check(server.rss() < LIMIT_KB, f"{server.rss()} KB")

    @suite.test("http: connections without a token take no place of a client with one")
    def _(box):
        server = Server(box)
        body, fields = server.modern("tools/list")
        kept = server.begin(body, **fields)
        equal(kept.reply().status, 200, "a client with a token")
        held = [server.connect() for _ in range(200)]
        server.lives()
        # A client whose token was accepted once keeps its connection, silent as it is.
        data = json.dumps(body).encode()
        kept.send(server.head(length=len(data), **fields) + data)
        equal(kept.reply().status, 200, "its next request on the same connection")
        # A head that never ends: the server answers, and closes; the first ones made room for others.
        held[-1].send(b"POST /mcp HTTP/1.1\r\n")
        equal(held[-1].reply().status, 408, "a head that does not come")
        for connection in held:
            connection.close()

    @suite.test("http: a client that does not read delays no other, and its command ends with it")
    def _(box):
        server = Server(box)
        body, fields = server.modern("tools/call", {"name": "shell", "arguments": {
            "command": "head -c 8000000 /dev/zero | tr '\\0' x"}})
        silent = [server.begin(body, **fields) for _ in range(6)]
        server.lives()
        for connection in silent:
            connection.close()
        server.lives()
        check(server.rss() < 2 * LIMIT_KB, f"{server.rss()} KB")

    @suite.test("http: 50 calls at once over 50 connections")
    def _(box):
        server = Server(box)
        begun = []
        for i in range(50):
            body, fields = server.modern("tools/call", {"name": "shell", "arguments": {"command": f"echo {i}"}})
            begun.append(server.begin(body, **fields))
        got = [json.loads(json.dumps(c.reply().message["result"]["structuredContent"]["stdout"])) for c in begun]
        equal(got, [f"{i}\n" for i in range(50)], "the results")
