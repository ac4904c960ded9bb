# SPDX-License-Identifier: Apache-2.0
"""The leak scanner at the gate: requests in plain HTTP, to a server that keeps every byte that reaches it."""
import base64
import json
import shutil
import socket
import threading

from harness import Skip, check, contains, equal
from leaks import LEVELS, TOKEN, github_token

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n"

# Each row: where it is found, and the arguments of curl; T is the token.
CURL = (
    ("http-line", "'http://127.0.0.1:PORT/find?q=T'"),
    ("http-line", "'http://127.0.0.1:PORT/find?q=U'"),
    ("http-header", "-H 'X-Note: T' http://127.0.0.1:PORT/"),
    ("http-header", "-u 'me:T' http://127.0.0.1:PORT/"),
    ("http-body", "-d 'note=T' http://127.0.0.1:PORT/"),
    ("http-body", "-H 'Transfer-Encoding: chunked' -d 'note=T' http://127.0.0.1:PORT/"),
    ("http-body", "-F 'file=@secret' http://127.0.0.1:PORT/"),
    ("http-body", "-T secret http://127.0.0.1:PORT/"),
)

# One connection for each place where the request can be cut; the parts are sent apart.
CUTS = r"""
import socket, sys, time
port, token, chunked = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "chunked"
refused = 0
for cut in range(len(token) + 1):
    s = socket.create_connection(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    parts = [part for part in ("before " + token[:cut], token[cut:] + " after") if part]
    if chunked:
        s.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        parts = ["%x\r\n%s\r\n" % (len(part), part) for part in parts] + ["0\r\n\r\n"]
    else:
        s.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (len(token) + 13))
    try:
        for part in parts:
            s.sendall(part.encode())
            time.sleep(0.003)  # so that the gate reads them apart; the verdict does not depend on it
        refused += b" 403 " in s.recv(99)
    except OSError as error:
        print(error)
    s.close()
print(refused)
"""

# Text in the framing of a body.
FRAMING = r"""
import socket, sys
port, token = int(sys.argv[1]), sys.argv[2]
for rest in ("5;x=%s\r\nhello\r\n0\r\n\r\n" % token, "5\r\nhello\r\n0\r\nX-Note: %s\r\n\r\n" % token):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + rest).encode())
    print(s.recv(99).split()[1].decode())
"""

# Requests that are sent in parts with pauses; the server must not get a part of the token.
PARTS = r"""
import socket, sys, time
port, token = int(sys.argv[1]), sys.argv[2]
chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
tunnel = "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"
for parts in ((chunked, "5;x=" + token[:-1], token[-1] + "\r\n!!!!!\r\n0\r\n\r\n"),
              (chunked, "5\r\n!!!!!\r\n0\r\nX: " + token[:-1], token[-1] + "\r\n\r\n"),
              ("note ", "/" + token[:20], token[20:], " HTTP/1.1\r\nHost: a\r\n\r\n"),
              (tunnel + "GET /" + token + " HTTP/1.1\r\nHost: a\r\n\r\n",)):
    s = socket.create_connection(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for part in parts:
        s.sendall(part.encode())
        time.sleep(0.4)  # longer than UNSURE_MS
    try:
        print(s.recv(99).split()[1].decode())
    except OSError as error:
        print(error)
"""

NODE = ("const r = require('http').request({port: +process.argv[2], method: 'POST'}, a => console.log(a.statusCode));"
        "for (const c of process.argv[3]) r.write(c); r.end();")


class Recorder:
    """Answers each request after its end, or after the client has closed, and keeps all bytes."""

    def __enter__(self):
        self.got = []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            record = bytearray()
            self.got.append(record)
            threading.Thread(target=self.serve, args=(peer, record), daemon=True).start()

    def serve(self, peer, record):
        try:
            while not self.whole(record):
                piece = peer.recv(65536)
                if not piece:
                    break
                record += piece
                if b"100-continue" in record and record.endswith(b"\r\n\r\n"):
                    peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            peer.sendall(ANSWER)
        except OSError:
            pass  # the gate has reset it
        peer.close()

    @staticmethod
    def whole(record):
        head, end, body = bytes(record).partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        if not end:
            return False
        if b"transfer-encoding" in fields:
            return body.endswith(b"0\r\n\r\n") or (b"0\r\nX" in body and body.endswith(b"\r\n\r\n"))
        return len(body) >= int(fields.get(b"content-length", 0))

    def all(self):
        return b"|".join(map(bytes, self.got))


def urlencoded(token):
    return "".join(f"%{ord(c):02x}" for c in token)


def fill(words, port, token):
    return words.replace("PORT", str(port)).replace("T'", f"{token}'").replace("U'", f"{urlencoded(token)}'")


def traces(token):
    """Parts of the token that must not arrive, in the ways in which the rows send it."""
    yield token[:8].encode()
    yield urlencoded(token)[:24].encode()
    yield base64.b64encode(f"me:{token}".encode())[:16]


def send(box, server, words, *options):
    return box.json("--host-port", str(server.port), "--scan-args", "off", "--scan-output", "off", *options, "-c", f"curl -s {words}")


def parts(test, level):
    @test(f"a secret in a plain HTTP request does not reach the server, at level {level}", root=True)
    def _(box):
        box.write("ws/secret", f"first\n{TOKEN}\nlast\n")
        for where, words in CURL:
            with Recorder() as server:
                filled = fill(words, server.port, TOKEN)
                result = send(box, server, filled, "--level", level, "--scan-net", "block")
                contains(result["stdout"], "corral: ", f"{words}: the answer")
                contains(result["stdout"], "the request contains a secret", f"{words}: the answer")
                check(not any(trace in server.all() for trace in traces(TOKEN)), f"{words}: the server got {server.all()!r}")
                equal([(leak["stream"], leak["action"], leak["host"]) for leak in result["leaks"]],
                      [(where, "blocked", "127.0.0.1")], f"{words}")
                check(TOKEN[:12] not in json.dumps(result), f"{words}: the result has the value")
                denied = [entry for entry in result["network"] if entry["verdict"] == "denied"]
                equal([entry["op"] for entry in denied], ["request"], f"{words}: {denied}")
            with Recorder() as server:
                filled = fill(words, server.port, TOKEN)
                result = send(box, server, filled, "--level", level)
                equal((result["stdout"], result["leaks"]), ("ok\n", []), f"{words}: the control without the scanner")
                check(any(trace in server.all() for trace in traces(TOKEN)), f"{words}: the control sent {server.all()!r}")
            if "secret" not in words and "-u" not in words:  # basic authentication is a kind of its own
                with Recorder() as server:
                    result = send(box, server, fill(words, server.port, "plain-text"), "--level", level, "--scan-net", "block")
                    equal((result["stdout"], result["leaks"]), ("ok\n", []), f"{words}: the twin without a secret")

    @test(f"a secret in a request is found wherever it is cut, at level {level}")
    def _(box):
        box.write("ws/cuts.py", CUTS)
        for how in ("length", "chunked"):
            with Recorder() as server:
                result = box.json("--level", level, "--host-port", str(server.port), "--scan-args", "off", "--scan-output", "off",
                                  "--scan-net", "block", "--", "/usr/bin/python3", "cuts.py", str(server.port), TOKEN, how)
                equal(result["stdout"], f"{len(TOKEN) + 1}\n", f"{how}: {result['stderr']}")
                check(TOKEN[:4].encode() not in server.all(), f"{how}: the server got {server.all()!r}")
                equal([leak["count"] for leak in result["leaks"]], [len(TOKEN) + 1], f"{how}")


def register(suite):
    test = suite.test
    for level in LEVELS:
        parts(test, level)

    @test("a secret in a chunk extension or a trailer is found")
    def _(box):
        box.write("ws/framing.py", FRAMING)
        for action, answers in (("block", "403\n403\n"), ("warn", "200\n200\n")):
            with Recorder() as server:
                result = box.json("--host-port", str(server.port), "--scan-args", "off", "--scan-output", "off", "--scan-net", action, "--",
                                  "/usr/bin/python3", "framing.py", str(server.port), TOKEN)
                equal(result["stdout"], answers, f"{action}: {result['stderr']}")
                equal([(leak["stream"], leak["count"]) for leak in result["leaks"]], [("http-header", 2)], action)
                equal(TOKEN.encode() in server.all(), action == "warn", f"{action}: {server.all()!r}")

    @test("no part of a secret leaves in an unfinished line, nor a request after CONNECT unread")
    def _(box):
        box.write("ws/parts.py", PARTS)
        with Recorder() as server:
            result = box.json("--host-port", str(server.port), "--scan-args", "off", "--scan-output", "off", "--scan-net", "block", "--",
                              "/usr/bin/python3", "parts.py", str(server.port), TOKEN)
            check(TOKEN[:4].encode() not in server.all(), f"the server got {server.all()!r}")
            equal([leak["count"] for leak in result["leaks"] if leak["stream"] == "http-header"], [2], f"{result['leaks']}")
            equal([leak["count"] for leak in result["leaks"] if leak["stream"] == "http-line"], [2], f"{result['leaks']}")

    @test("scan.net = warn sends the request and records the secret; kill ends the run")
    def _(box):
        with Recorder() as server:
            words = f"-d 'note={TOKEN}' http://127.0.0.1:{server.port}/"
            result = send(box, server, words, "--scan-net", "warn")
            equal((result["stdout"], [leak["action"] for leak in result["leaks"]]), ("ok\n", ["warned"]), "warn")
            contains(server.all().decode(), TOKEN, "the server")
            equal(len(result["leaks"][0]["fingerprint"]), 32, "the fingerprint")
        with Recorder() as server:
            words = f"-d 'note={TOKEN}' http://127.0.0.1:{server.port}/; sleep 60; touch ran"
            done = box.run("--json", "--host-port", str(server.port), "--scan-args", "off", "--scan-net", "kill", "-c", f"curl -s {words}")
            equal((done.status, done.json["reason"]), (126, "leak"), done.out)
            check(TOKEN[:4].encode() not in server.all(), f"kill: the server got {server.all()!r}")
            done = box.run("--host-port", str(server.port), "--scan-args", "off", "--scan-net", "kill", "-c", f"curl -s {words}")
            contains(done.err, "a secret in a request (--scan-net kill)", "the message")
            contains(done.err, "github-token in http-body to 127.0.0.1 (killed)", "the warning")

    @test("the value of a passed secret is found in a request, encoded too, and a large body without one arrives whole")
    def _(box):
        value = "correct horse battery staple 4711"
        box.env["AWS_SECRET_ACCESS_KEY"] = value
        box.write("ws/big", "The quick brown fox jumps over the lazy dog. \n" * 40000)
        with Recorder() as server:
            base = ("--host-port", str(server.port), "--pass-env", "AWS_SECRET_ACCESS_KEY", "--scan-output", "off", "--scan-net", "block", "-c")
            for words in ("-d \"$AWS_SECRET_ACCESS_KEY\"", "-d \"$(printf %s \"x$AWS_SECRET_ACCESS_KEY\" | base64 -w0)\""):
                result = box.json(*base, f"curl -s {words} http://127.0.0.1:{server.port}/")
                equal([leak["kind"] for leak in result["leaks"]], ["AWS_SECRET_ACCESS_KEY"], words)
            check(b"battery" not in server.all(), f"the server got {server.all()!r}")
            result = box.json(*base, f"curl -s -T big http://127.0.0.1:{server.port}/")
            equal((result["stdout"], result["leaks"]), ("ok\n", []), "a large body")
            check(server.all().count(b"quick brown fox") == 40000, "the large body is not whole")

    @test("scan.net reads the requests of node, one byte a chunk")
    def _(box):
        if shutil.which("node") is None:
            raise Skip("node is not installed")
        box.write("ws/post.js", NODE)
        with Recorder() as server:
            for text, status in ((f"a {TOKEN} b", "403"), (f"a {github_token()[::-1]} b", "200")):
                result = box.json("--host-port", str(server.port), "--scan-args", "off", "--scan-output", "off", "--scan-net", "block", "--",
                                  "node", "post.js", str(server.port), text)
                equal(result["stdout"], f"{status}\n", result["stderr"])

    @test("a protocol that is not HTTP passes unread under scan.net")
    def _(box):
        with Recorder() as server:
            done = box.run("--host-port", str(server.port), "--scan-args", "off", "--scan-net", "block", "--", "/usr/bin/python3", "-c",
                           "import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                           "s.sendall(b'{\"hello\": 1}\\n')\ns.shutdown(1)\nprint(s.recv(99).split()[1].decode())", str(server.port))
            equal((done.out, server.all()), ("200\n", b'{"hello": 1}\n'), done.err)

    @test("scan.net needs the gate, and the guarantee leaks names the part of the network that is read")
    def _(box):
        done = box.run("--net", "full", "--scan-net", "block", "--", "true")
        equal(done.status, 2, done.err)
        contains(done.err, "net.mode full", "the reason")
        contains(box.run("--scan-net", "redact", "--", "true").err, "the nearest action is block", "redact")
        for words, text in ((("--host-port", "9", "--scan-net", "block"), "plain HTTP requests; TLS is not read"),
                            (("--host-port", "9"), "requests to the network are not scanned"), ((), None)):
            result = box.json(*words, "--", "true")
            why = next(g.get("why") for g in result["guarantees"] if g["name"] == "leaks")
            check((why is None) if text is None else text in (why or ""), f"{words}: {why}")
