# SPDX-License-Identifier: Apache-2.0
"""Input that is no message: each costs an error, and nothing else."""
import json
import os
import time

from client import Client
from harness import check, equal, lines_of, wait_until


def peak_kb(pid):
    return int(next(line.split()[1] for line in lines_of(f"/proc/{pid}/status") if line.startswith("VmHWM")))


def lives(client):
    equal(client.request("ping")["result"], {}, "ping afterwards")


LINES = {
    "no JSON": (b"{", -32700),
    "a word": (b"hello", -32700),
    "an empty line": (b"", -32700),
    "two values": (b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}', -32700),
    "a duplicate key": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
    "not UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    "a lone surrogate": (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700),
    "a number too large": (b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', -32700),
    "1e999": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}', -32700),
    "NaN": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700),
    "nested 100,000 deep": (b"[" * 100000 + b"]" * 100000, -32700),
    "nested objects": (b'{"a":' * 1000 + b"1" + b"}" * 1000, -32700),
    "a million values": (b"[" + b"0," * 1000000 + b"0]", -32700),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    "no version": (b'{"id":1,"method":"ping"}', -32600),
    "a null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    "a fraction as id": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    "an object as id": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    "a long id": (b'{"jsonrpc":"2.0","id":"' + b"x" * 10000000 + b'","method":"ping"}', -32600),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    "a method with a NUL": (b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000"}', -32600),
    "params that are text": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32600),
    "neither method nor result": (b'{"jsonrpc":"2.0","id":1}', -32600),
    "result and error": (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', -32600),
    "an unknown method": (b'{"jsonrpc":"2.0","id":1,"method":"tools/nosuch"}', -32601),
    "an array as params": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}', -32602),
    "no name": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602),
    "a tool that is a number": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}', -32602),
    "arguments that are text": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"why","arguments":"x"}}',
                                -32602),
    "a cursor": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602),
}

# Arguments of tools: results that a model can read.
ARGUMENTS = {
    "an unknown argument": ("shell", {"command": ":", "policy": {"net": "full"}}, "`policy`"),
    "a missing argument": ("shell", {}, "`command`"),
    "a wrong type": ("shell", {"command": ["echo"]}, "string"),
    "a NUL in a command": ("shell", {"command": "echo a\0b"}, "NUL"),
    "a NUL in a path": ("read_file", {"path": "a\0/../../etc/shadow"}, "NUL"),
    "a NUL in a list": ("exec", {"program": "echo", "args": ["a\0b"]}, "NUL"),
    "a number in a list": ("exec", {"program": "echo", "args": [1]}, "string"),
    "a variable that is a number": ("exec", {"program": "env", "env": {"A": 1}}, "string"),
    "a negative time-out": ("shell", {"command": ":", "timeout": -1}, "range"),
    "a huge time-out": ("shell", {"command": ":", "timeout": 1e308}, "range"),
    "a negative offset": ("read_file", {"path": "x", "offset": -1}, "range"),
    "a huge length": ("read_file", {"path": "x", "length": 2**62}, "range"),
    "a wrong choice": ("why", {"path": "x", "access": "root"}, "`access`"),
    "__proto__": ("why", {"__proto__": {"path": "x"}}, "__proto__"),
    "an empty path": ("read_file", {"path": ""}, ""),
    "a path of 100,000 bytes": ("read_file", {"path": "a/" * 50000}, ""),
    "base64 that is none": ("write_file", {"path": "x", "content": "!", "encoding": "base64"}, "base64"),
}


def register(suite):
    @suite.test("mcp: a line that is no message is answered with an error, and the next is read")
    def _(box):
        client = Client(box)
        for name, (line, code) in LINES.items():
            client.raw(line + b"\n")
            answer = client.next()
            equal(answer.get("error", {}).get("code"), code, f"{name}: {str(answer)[:300]}; the code")
            check(len(json.dumps(answer)) < 2000, f"{name}: a long answer")
        lives(client)
        equal(client.end(), 0, "the exit status")

    @suite.test("mcp: wrong arguments are a result that names the argument, and nothing runs")
    def _(box):
        client = Client(box)
        for name, (tool, arguments, part) in ARGUMENTS.items():
            answer = client.answer(client.begin_tool(tool, arguments))
            result = answer.get("result", {})
            check(result.get("isError") is True and part in result["content"][0]["text"], f"{name}: {str(answer)[:300]}")
        equal(os.listdir(box.ws), [], "the workspace")
        lives(client)

    @suite.test("mcp: a line of 100 MB is an error, and the memory stays bounded")
    def _(box):
        client = Client(box)
        before = peak_kb(client.process.pid)
        client.raw(b'{"jsonrpc":"2.0","id":1,"method":"')
        for _ in range(100):
            client.raw(b"x" * 1000000)
        client.raw(b'"}\n')
        equal(client.next()["error"]["code"], -32600, "the code")
        grown = peak_kb(client.process.pid) - before
        check(grown < 64 * 1024, f"{grown} KiB more memory")
        lives(client)

    @suite.test("mcp: a message in pieces of one byte, and several in one write")
    def _(box):
        client = Client(box)
        for byte in b'{"jsonrpc":"2.0","id":"slow","method":"ping"}\r\n':
            client.raw(bytes([byte]))
            time.sleep(0.001)
        equal(client.next()["id"], "slow", "the id")
        client.raw(b'{"jsonrpc":"2.0","id":"x","method":"ping"}\n{"jsonrpc":"2.0","id":"y","method":"ping"}\n{"json')
        equal([client.next()["id"], client.next()["id"]], ["x", "y"], "the ids")

    @suite.test("mcp: the end of input in the middle of a line ends the server")
    def _(box):
        client = Client(box)
        client.raw(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"shell","arguments":{"command":":>made"')
        equal(client.end(), 0, "the exit status")
        check(not box.exists("ws/made"), "a cut message ran")

    @suite.test("mcp: a client that does not read its responses gets no more of them, and the memory stays bounded")
    def _(box):
        box.write("ws/big", b"\x01" * 1000000)
        process = box.start([box.corral, "mcp"], stdin=-1)
        process.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n')
        os.set_blocking(process.stdin.fileno(), False)
        line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"big",' \
               b'"length":1048576}}}\n'
        sent, end = 0, time.monotonic() + 4
        while sent < 300 and time.monotonic() < end:
            try:
                process.stdin.write(line % (sent + 1))
                process.stdin.flush()
                sent += 1
            except BlockingIOError:
                time.sleep(0.05)
        time.sleep(1)
        peak = peak_kb(process.pid)
        check(peak < 1024 * 1024, f"{peak} KiB of memory")
        process.kill()

    @suite.test("mcp: a client that is gone ends the server")
    def _(box):
        for keeps_input in (True, False):
            process = box.start([box.corral, "mcp", "--grace", "100ms"], stdin=-1)
            process.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
                                b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":'
                                b'{"command":"echo > began; sleep 600"}}}\n')
            process.stdin.flush()
            check(wait_until(lambda: box.exists("ws/began")), "the command did not begin")
            os.remove(f"{box.ws}/began")
            process.stdout.close()
            if keeps_input:
                process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
                process.stdin.flush()
            else:
                process.stdin.close()
            check(wait_until(lambda: process.poll() is not None), "the server runs")
            check(wait_until(lambda: not box.strays()), "processes are left")
