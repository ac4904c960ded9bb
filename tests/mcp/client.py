# SPDX-License-Identifier: Apache-2.0
"""A raw client of `corral mcp`: lines in, lines out, nothing checked by a library."""
import json
import queue
import subprocess
import threading
import time

from harness import PATIENCE, Failure, check, equal

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
META = "io.modelcontextprotocol/"


def modern(params=None, version=MODERN):
    """Parameters with the _meta of a stateless request."""
    meta = {META + "protocolVersion": version, META + "clientCapabilities": {},
            META + "clientInfo": {"name": "test", "version": "1"}}
    return {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), **meta}}


class Client:
    def __init__(self, box, *words, revision="2025-11-25", env=None):
        self.box, self.last, self.notes, self.kept = box, 0, [], {}
        self.process = box.start([box.corral, "mcp", *words], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 **({"env": env} if env else {}))
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if revision:
            answer = self.request("initialize", {"protocolVersion": revision, "capabilities": {},
                                                 "clientInfo": {"name": "test", "version": "1"}})
            equal(answer["result"]["protocolVersion"], revision, "the agreed revision")
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        try:
            for line in self.process.stdout:
                self.lines.put(line)
        except ValueError:  # the test has closed it
            pass
        self.lines.put(None)

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def begin(self, method, params=None):
        """Sends a request and returns its id."""
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, **({} if params is None else {"params": params})})
        return self.last

    def next(self, seconds=PATIENCE):
        """The next line as an object; None after the last."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Failure(f"no line within {seconds} s") from None
        return None if line is None else json.loads(line)

    def answer(self, number, seconds=PATIENCE):
        """The response to this id; notifications and other responses are kept."""
        end = time.monotonic() + seconds
        while number not in self.kept:
            message = self.next(max(0.01, end - time.monotonic()))
            check(message is not None, f"the server ended without an answer to {number}")
            if "id" in message and message["id"] is not None:
                self.kept[message["id"]] = message
            else:
                self.notes.append(message)
        return self.kept.pop(number)

    def request(self, method, params=None, seconds=PATIENCE):
        return self.answer(self.begin(method, params), seconds)

    def begin_tool(self, name, arguments, **meta):
        params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        return self.begin("tools/call", params)

    def tool(self, name, seconds=PATIENCE, **arguments):
        """The result of a call."""
        answer = self.answer(self.begin_tool(name, arguments), seconds)
        check("result" in answer, f"{name}: {answer}")
        return answer["result"]

    def text(self, name, **arguments):
        return self.tool(name, **arguments)["content"][0]["text"]

    def data(self, name, **arguments):
        result = self.tool(name, **arguments)
        check(not result.get("isError"), f"{name}: {result}")
        return result["structuredContent"]

    def refused(self, name, *parts, **arguments):
        """A result that is an error and has these words."""
        result = self.tool(name, **arguments)
        check(result.get("isError") is True, f"{name} {arguments}: not refused: {result}")
        for part in parts:
            check(part in result["content"][0]["text"], f"{name}: {part!r} is not in {result}")
        return result["content"][0]["text"]

    def end(self, seconds=PATIENCE):
        """Closes the input; returns the exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"the server runs {seconds} s after the end of its input") from None
