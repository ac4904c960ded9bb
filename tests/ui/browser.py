# SPDX-License-Identifier: Apache-2.0
"""A client of the page, byte by byte: what a browser sends, and what it would not send."""
import json
import re
import socket
import sys
import urllib.parse

sys.dont_write_bytecode = True

from service import PATIENCE, check, equal  # noqa: E402  run.py has set the path


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if len(lines[0].split()) > 1 else 0
        self.fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            check(name.lower() not in self.fields, f"the field {name} occurs twice")
            self.fields[name.lower()] = value.strip()

    @property
    def text(self):
        return self.body.decode()


class Browser:
    """One visitor, with or without a cookie."""

    def __init__(self, service):
        self.service, self.cookie, self.form = service, None, None
        url = service.good("ui", "--print").strip()
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.token = urllib.parse.parse_qs(parts.query)["t"][0]

    @property
    def origin(self):
        return f"http://{self.host}:{self.port}"

    def raw(self, data, whole=True):
        """The answer to these bytes; the connection is closed by the server."""
        with socket.create_connection((self.host, self.port), PATIENCE) as s:
            s.sendall(data)
            answer = b""
            while whole or b"\r\n\r\n" not in answer:
                try:
                    more = s.recv(65536)
                except ConnectionResetError:
                    break
                if not more:
                    break
                answer += more
        return Answer(answer)

    def head(self, method, path, fields, body=b""):
        all_fields = {"Host": f"{self.host}:{self.port}", "Connection": "close"}
        if self.cookie:
            all_fields["Cookie"] = f"corral={self.cookie}"
        if body:
            all_fields["Content-Type"] = "application/x-www-form-urlencoded"
            all_fields["Content-Length"] = str(len(body))
        all_fields |= fields
        lines = [f"{method} {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in all_fields.items() if value is not None]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def get(self, path, **fields):
        return self.raw(self.head("GET", path, {name.replace("_", "-"): value for name, value in fields.items()}))

    def post(self, path, values, **fields):
        body = urllib.parse.urlencode(values).encode()
        return self.raw(self.head("POST", path, {name.replace("_", "-"): value for name, value in fields.items()}, body))

    def enter(self):
        """Exchanges the token for a cookie, as the form of the page does."""
        answer = self.post("/open", {"t": self.token}, Origin=self.origin)
        equal((answer.status, answer.fields.get("location")), (303, "/"), f"POST /open: {answer.body[:200]!r}")
        self.set_cookie = answer.fields["set-cookie"]
        self.cookie = re.match(r"corral=([^;]+)", self.set_cookie).group(1)
        self.form = re.search(r'name=form value="([0-9a-f]{32})"', self.get("/").text).group(1)
        return self

    def api(self, name):
        answer = self.get(f"/api/{name}")
        equal(answer.status, 200, f"/api/{name}: {answer.body[:300]!r}")
        equal(answer.fields["content-type"], "application/json", "its type")
        return json.loads(answer.body)
