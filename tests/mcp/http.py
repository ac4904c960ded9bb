# SPDX-License-Identifier: Apache-2.0
"""MCP over HTTP: sessions, headers, tokens, calls."""
import json
import os
import stat

from client import LEGACY, MODERN, META
from harness import check, contains, equal, wait_until
from http_client import Server
from running import STUBBORN


def calls_gone(box, server):
    """All processes of commands end."""
    return wait_until(lambda: not [pid for pid in box.strays() if pid != server.process.pid])


def stubborn(box, server, **how):
    """A call that ignores signals, and runs."""
    connection = server.begin(**how)
    check(wait_until(lambda: box.exists("ws/began")), "the command did not begin")
    return connection


def call(server, name, arguments, **meta):
    return server.request("tools/call", {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})})


def register(suite):
    @suite.test("http: every revision with sessions: initialize, list, call, delete")
    def _(box):
        server = Server(box)
        for revision in LEGACY:
            session = server.initialize(revision)
            reply = server.ask(server.request("tools/list"), mcp_session_id=session, mcp_protocol_version=revision)
            equal((reply.status, len(reply.message["result"]["tools"])), (200, 13), revision)
            reply = server.ask(call(server, "shell", {"command": "echo hi"}), mcp_session_id=session)
            contains(reply.message["result"]["content"][0]["text"], "hi\n", revision)
            equal(server.ask(method="DELETE", mcp_session_id=session).status, 200, "DELETE")
            equal(server.ask(server.request("tools/list"), mcp_session_id=session).status, 404, "after DELETE")

    @suite.test("http: a session is needed, and two do not share ids or revisions")
    def _(box):
        server = Server(box)
        equal(server.ask(server.request("tools/list")).status, 400, "without a session")
        equal(server.ask(server.request("tools/list"), mcp_session_id="0" * 48).status, 404, "an unknown session")
        one, two = server.initialize("2025-03-26"), server.initialize("2025-11-25")
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        batch = [message, {**message, "id": 2, "method": "ping"}]
        equal(sorted(item["id"] for item in server.ask(batch, mcp_session_id=one).message), [1, 2], "a batch of 2025-03-26")
        reply = server.ask(batch, mcp_session_id=two)
        equal((reply.status, reply.code), (400, -32600), "a batch of 2025-11-25")
        equal(server.ask(message, mcp_session_id=two, mcp_protocol_version="1999-01-01").code, -32022, "an unknown revision")
        reply = server.ask({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {}})
        check("mcp-session-id" not in reply.headers and reply.code == -32602, f"a bad initialize: {reply.headers}")

    @suite.test("http: 2026-07-28 needs no session, and headers that repeat the message")
    def _(box):
        server = Server(box)
        body, fields = server.modern("tools/call", {"name": "shell", "arguments": {"command": "echo hi"}})
        reply = server.ask(body, **fields)
        equal((reply.status, reply.message["result"]["resultType"]), (200, "complete"), "a call")
        check("mcp-session-id" not in reply.headers, reply.headers)
        encoded = "=?base64?c2hlbGw=?="
        equal(server.ask(body, **{**fields, "mcp_name": encoded}).status, 200, "a name in base64")
        for name, value in (("mcp_protocol_version", "2025-11-25"), ("mcp_protocol_version", None), ("mcp_method", None),
                            ("mcp_method", "tools/list"), ("mcp_method", "TOOLS/CALL"), ("mcp_name", None),
                            ("mcp_name", "exec"), ("mcp_name", "=?base64?*?="), ("mcp_name", "=?base64?ZXhlYw==?=")):
            reply = server.ask(body, **{**fields, name: value})
            equal((reply.status, reply.code, reply.message["id"]), (400, -32020, body["id"]), f"{name}: {value}")

    @suite.test("http: 2026-07-28 has a status for each error")
    def _(box):
        server = Server(box)
        body, fields = server.modern("nosuch/method")
        reply = server.ask(body, **fields)
        equal((reply.status, reply.code), (404, -32601), "an unknown method")
        body, fields = server.modern("tools/call", {"name": "nosuch", "arguments": {}})
        reply = server.ask(body, **fields)
        equal((reply.status, reply.code), (200, -32602), "an unknown tool")
        body, fields = server.modern("tools/list")
        body["params"]["_meta"][META + "protocolVersion"] = "2030-01-01"
        reply = server.ask(body, **{**fields, "mcp_protocol_version": "2030-01-01"})
        equal((reply.status, reply.code), (400, -32022), "an unknown revision")
        check(MODERN in reply.message["error"]["data"]["supported"], reply.body)
        reply = server.ask(server.request("tools/list"), mcp_protocol_version=MODERN)
        equal((reply.status, reply.code), (400, -32602), "without _meta")
        for method in ("GET", "DELETE"):
            equal(server.ask(method=method, mcp_protocol_version=MODERN).status, 405, method)

    @suite.test("http: the kinds of content that client and server accept")
    def _(box):
        server = Server(box)
        body, fields = server.modern("tools/list")
        for kind, status in (("application/json; charset=utf-8", 200), ("text/plain", 415), (None, 415)):
            equal(server.ask(body, **{**fields, "content_type": kind}).status, status, f"Content-Type: {kind}")
        for kind, status in ((None, 200), ("*/*", 200), ("text/html", 406), ("application/json", 200)):
            equal(server.ask(body, **{**fields, "accept": kind}).status, status, f"Accept: {kind}")
        reply = server.call("shell", {"command": "echo hi"}, accept="application/json")
        equal(reply.headers["content-type"], "application/json", "a call without event streams")
        equal(server.ask(b"{]", **fields).code, -32700, "not JSON")

    @suite.test("http: output comes as progress while the command runs")
    def _(box):
        server = Server(box)
        session = server.initialize()
        connection = server.begin(call(server, "shell", {"command": "echo one; until [ -e go ]; do sleep 0.02; done; echo two"},
                                       progressToken="tok"), mcp_session_id=session)
        status, headers = connection.head()
        equal((status, headers["content-type"], headers["x-accel-buffering"]), (200, "text/event-stream", "no"), "the head")
        equal(connection.chunk().decode().splitlines()[1:], ["event: message", "data:", ""], "an event with an id alone")
        note = json.loads(connection.chunk().decode().split("data: ", 1)[1])
        equal((note["method"], note["params"]["message"]), ("notifications/progress", "one\n"), "before the end")
        box.write("ws/go", "")
        text = b"".join(iter(connection.chunk, b"")).decode()
        result = json.loads(text.rstrip().rsplit("data: ", 1)[1])["result"]
        equal(result["structuredContent"]["stdout"], "one\ntwo\n", "the result")

    @suite.test("http: a closed connection, a cancellation and DELETE kill the whole tree", root=True)
    def _(box):
        server = Server(box, "--grace", "200ms")
        body, fields = server.modern("tools/call", {"name": "shell", "arguments": {"command": STUBBORN}})
        stubborn(box, server, body=body, **fields).close()
        check(calls_gone(box, server), "after the connection was closed")
        for how in ("cancel", "delete"):
            os.unlink(f"{box.dir}/ws/began")
            session = server.initialize()
            message = call(server, "shell", {"command": STUBBORN})
            connection = stubborn(box, server, body=message, mcp_session_id=session)
            if how == "cancel":
                reply = server.ask({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                    "params": {"requestId": message["id"]}}, mcp_session_id=session)
                equal(reply.status, 202, "the notification")
            else:
                equal(server.ask(method="DELETE", mcp_session_id=session).status, 200, "DELETE")
            equal(connection.reply().messages, [], f"{how}: no response, and the stream ends")
            check(calls_gone(box, server), f"after {how}")
        server.lives()

    @suite.test("http: no client can cancel the call of another session")
    def _(box):
        server = Server(box)
        one, two = server.initialize(), server.initialize()
        message = call(server, "shell", {"command": "echo > began; until [ -e go ]; do sleep 0.02; done; echo done"})
        connection = stubborn(box, server, body=message, mcp_session_id=one)
        for session in (two, None):
            server.ask({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}},
                       mcp_session_id=session)
        box.write("ws/go", "")
        equal(connection.reply().message["result"]["structuredContent"]["stdout"], "done\n", "the call ends by itself")

    @suite.test("http: the GET stream of a session is one, and ends with it")
    def _(box):
        server = Server(box)
        session = server.initialize()
        stream = server.begin(method="GET", mcp_session_id=session)
        equal(stream.head()[1]["content-type"], "text/event-stream", "the stream")
        equal(server.ask(method="GET", mcp_session_id=session).status, 409, "a second one")
        equal(server.ask(method="GET", mcp_session_id=session, accept="application/json").status, 406, "without event streams")
        equal(server.ask(method="DELETE", mcp_session_id=session).status, 200, "DELETE")
        equal(stream.chunk(), b"", "its end")

    @suite.test("http: a client that lost its connection resumes the stream, and no other client can", root=True)
    def _(box):
        server = Server(box)
        for revision in LEGACY:
            one, two = server.initialize(revision), server.initialize(revision)
            for name in ("go", "began"):
                if box.exists(f"ws/{name}"):
                    os.unlink(f"{box.dir}/ws/{name}")
            command = "echo first; echo > began; until [ -e go ]; do sleep 0.02; done; echo done"
            connection = stubborn(box, server, body=call(server, "shell", {"command": command}, progressToken="p"), mcp_session_id=one)
            connection.head()
            text = connection.chunk().decode()
            connection.close()
            if revision == "2024-11-05":
                check("id: " not in text, f"an id in {text}")
                check(calls_gone(box, server), "a revision without ids: the call goes on")
                continue
            last = text.split("id: ", 1)[1].split("\n", 1)[0]
            equal(server.ask(method="GET", mcp_session_id=two, last_event_id=last).status, 404, "an id of another session")
            equal(server.ask(method="GET", last_event_id=last).status, 400, "no session")
            equal(server.ask(method="GET", mcp_session_id=one, last_event_id=last, authorization="Bearer x").status, 401, "a token")
            for bad in ("x", "1", "-", "1-", "1-1x", "9" * 40 + "-1", "1--1", ""):
                equal(server.ask(method="GET", mcp_session_id=one, last_event_id=bad).status, 400, f"the id {bad!r}")
            number, _, event = last.partition("-")
            equal(server.ask(method="GET", mcp_session_id=one, last_event_id=f"{number}-{int(event) + 999}").status, 404, "a later event")
            equal(server.ask(method="GET", mcp_session_id=one, last_event_id=f"{int(number) + 999}-0").status, 404, "another stream")
            again = server.begin(method="GET", mcp_session_id=one, last_event_id=last)
            equal(again.head()[0], 200, "the resumed stream")
            box.write("ws/go", "")
            body = b""
            while part := again.chunk():
                body += part
            result = json.loads(body.decode().rstrip().rsplit("data: ", 1)[1])["result"]
            contains(result["content"][0]["text"], "first\ndone\n", f"{revision}: the result after the resumption")
            # Once more, after the end: the same events, and the stream ends.
            reply = server.ask(method="GET", mcp_session_id=one, last_event_id=last)
            equal(reply.message["result"], result, "the result again")
            equal(server.ask(method="DELETE", mcp_session_id=one).status, 200, "DELETE")
            equal(server.ask(method="GET", mcp_session_id=one, last_event_id=last).status, 404, "after DELETE")
        server.lives()

    @suite.test("http: a call whose client does not come back ends", root=True)
    def _(box):
        server = Server(box, "--grace", "200ms")
        session = server.initialize()
        connection = stubborn(box, server, body=call(server, "shell", {"command": STUBBORN}), mcp_session_id=session)
        connection.head()
        text = connection.chunk().decode()
        check("id: " in text and "data:\n" in text, f"the first event: {text}")
        connection.close()
        check(calls_gone(box, server), "the call goes on without its client")
        server.lives()

    @suite.test("http: --tools is the list over HTTP too")
    def _(box):
        server = Server(box, "--tools", "read_file,why")
        body, fields = server.modern("tools/list")
        equal([tool["name"] for tool in server.ask(body, **fields).message["result"]["tools"]], ["read_file", "why"], "the list")
        equal(server.call("shell", {"command": "echo hi"}).code, -32602, "another tool")

    @suite.test("http: the token is needed, and is nowhere but in its file")
    def _(box):
        server = Server(box)
        mode = os.stat(f"{box.dir}/token").st_mode
        equal(stat.S_IMODE(mode), 0o600, "the mode of the file")
        body, fields = server.modern("tools/list")
        other = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
        for value in (None, "", "Bearer", f"Bearer {other}", f"Bearer {server.token}0", f"Basic {server.token}", server.token,
                      f"Bearer {server.token}\r\nauthorization: Bearer {server.token}"):
            reply = server.ask(body, **{**fields, "authorization": value})
            equal((reply.status, reply.headers["www-authenticate"]), (401, "Bearer"), f"Authorization: {value}")
        equal(server.ask(body, **{**fields, "authorization": f"bearer {server.token}"}).status, 200, "the right one")
        for name in ("cmdline", "environ"):
            with open(f"/proc/{server.process.pid}/{name}", "rb") as file:
                check(server.token.encode() not in file.read(), name)

    @suite.test("http: a token file that others can read is refused, and a good one is used again")
    def _(box):
        first = Server(box)
        again = Server(box)
        equal(again.token, first.token, "the same file")
        os.chmod(f"{box.dir}/token", 0o644)
        done = box.corral_("mcp", "--http", "0", "--token-file", f"{box.dir}/token")
        done.exited(2).said("only you can read", "chmod 600")
        box.write("bad", "x\n", 0o600)
        box.corral_("mcp", "--http", "0", "--token-file", f"{box.dir}/bad").exited(2).said("does not contain a token")
        box.corral_("mcp", "--http", "70000").exited(2).said("is not a port")
        box.corral_("mcp", "--token-file", f"{box.dir}/token").exited(2).said("--token-file is for --http and --session")
        box.corral_("mcp", "--http", str(first.port)).exited(125).said("cannot listen on", "choose another port")

    @suite.test("http: a web page cannot use the server: Host and Origin")
    def _(box):
        server = Server(box)
        body, fields = server.modern("tools/list")
        port = server.port
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.2:{port}", f"localhost.evil:{port}",
                     f"0.0.0.0:{port}", f"[::1]:{port}"):
            equal(server.ask(body, **{**fields, "host": host}).status, 403, f"Host: {host}")
        for origin in ("http://evil.example", f"http://evil.example:{port}", "null", f"https://127.0.0.1:{port}", "http://127.0.0.1",
                       f"http://localhost:{port}.evil", f"http://localhost:{port}/", f"http://evil@localhost:{port}", ""):
            equal(server.ask(body, **{**fields, "origin": origin}).status, 403, f"Origin: {origin}")
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"):
            equal(server.ask(body, **{**fields, "host": host, "origin": f"http://{host.lower()}"}).status, 200, f"Host: {host}")
        reply = server.ask(method="OPTIONS", origin=f"http://localhost:{port}")
        check(reply.status == 405 and "access-control-allow-origin" not in reply.headers, f"OPTIONS: {reply.headers}")

    for net in (("--net", "none"), ("--allow-host", "example.com")):
        @suite.test(f"http: a command in the sandbox cannot reach the server ({' '.join(net)})", root=True)
        def _(box, net=net):
            server = Server(box)
            script = f"exec 3<>/dev/tcp/127.0.0.1/{server.port} && echo reached"
            outside = box.execute(["bash", "-c", script])
            equal(outside.out, "reached\n", "a control outside")
            for level in ("full", "standard"):
                done = box.run("--level", level, *net, "--", "bash", "-c", f"{script} || echo refused; echo ran")
                check("reached" not in done.out and "refused\nran" in done.out, f"{level}: {done!r}")

    @suite.test("http: a command that may use the loopback interface has no token")
    def _(box):
        server = Server(box)
        request = f"POST /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:{server.port}\\r\\nContent-Length: 2\\r\\n\\r\\n{{}}"
        script = f"exec 3<>/dev/tcp/127.0.0.1/{server.port} && printf '{request}' >&3 && head -n 1 <&3; cat {box.dir}/token"
        done = box.run("--net", "full", "--", "bash", "-c", script)
        contains(done.out, "401 Unauthorized", "the server answers")
        check(server.token not in done.out, "the token is not readable")
