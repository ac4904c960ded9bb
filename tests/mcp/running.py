# SPDX-License-Identifier: Apache-2.0
"""Calls at once, progress, cancellation, and the death of everything with the server."""
import os
import signal
import time

from client import Client, modern
from harness import check, equal, wait_until

STUBBORN = "trap '' TERM HUP INT; setsid sleep 600 & (setsid sleep 600 &); echo ready > began; while :; do sleep 0.05; done"


def inside(box, client):
    return [pid for pid in box.strays() if pid != client.process.pid]


def began(box, client):
    check(wait_until(lambda: box.exists("ws/began")), "the command did not begin")
    check(inside(box, client), "a control: no process of the command")


def register(suite):
    @suite.test("mcp: output comes as progress while the command runs")
    def _(box):
        client = Client(box)
        number = client.begin_tool("shell", {"command": "echo one; sleep 0.3; printf 'tw'; sleep 0.3; echo o >&2; sleep 600"},
                                   progressToken="tok")
        texts, values = "", []
        while "two" not in texts.replace("\n", "").replace("one", ""):
            note = client.next()
            equal((note["method"], note["params"]["progressToken"]), ("notifications/progress", "tok"), "a notification")
            texts += note["params"]["message"]
            values.append(note["params"]["progress"])
        check(values == sorted(set(values)), f"progress grows: {values}")
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        equal(client.request("ping")["result"], {}, "ping")

    @suite.test("mcp: progress has no text in 2024-11-05, and there is none without a token")
    def _(box):
        client = Client(box, revision="2024-11-05")
        client.answer(client.begin_tool("shell", {"command": "echo hi; sleep 0.2"}, progressToken=7))
        equal([set(note["params"]) for note in client.notes], [{"progressToken", "progress"}], "the notifications")
        client.notes.clear()
        client.tool("shell", command="echo hi; sleep 0.2")
        equal(client.notes, [], "without a token")

    @suite.test("mcp: progress has no secret in it")
    def _(box):
        token = "AKIA" + "Q3EGRIWZ5XKJ7PLM"
        box.write("ws/key", f"k = {token}\n")
        client = Client(box)
        client.answer(client.begin_tool("shell", {"command": "head -c 12 key; sleep 0.3; tail -c +13 key; sleep 0.3"},
                                        progressToken=1))
        told = "".join(note["params"]["message"] for note in client.notes)
        check(token not in told and "redacted" in told, told)

    @suite.test("mcp: cancellation kills the whole tree and sends no response", root=True)
    def _(box):
        client = Client(box, "--grace", "200ms")
        number = client.begin_tool("shell", {"command": STUBBORN})
        began(box, client)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "x"}})
        check(wait_until(lambda: not inside(box, client)), "processes are left")
        equal(client.request("ping")["result"], {}, "the server goes on")
        check(number not in client.kept, "a response to a cancelled request")
        equal(client.data("shell", command="echo x")["stdout"], "x\n", "the next call")

    @suite.test("mcp: the cancellation of another id, of an old one, and a malformed one change nothing (MC09)")
    def _(box):
        client = Client(box)
        one = client.begin_tool("shell", {"command": "echo > began; while [ ! -e go ]; do sleep 0.02; done; echo done"})
        began(box, client)
        for params in ({"requestId": 4711}, {"requestId": str(one)}, {"requestId": None}, {}, {"requestId": {}}, {"requestId": 1}):
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        equal(client.request("ping")["result"], {}, "ping")
        box.write("ws/go", "")
        equal(client.answer(one)["result"]["structuredContent"]["stdout"], "done\n", "the call")

    @suite.test("mcp: an id that is in use is refused, and the first call goes on")
    def _(box):
        client = Client(box)
        one = client.begin_tool("shell", {"command": "while [ ! -e go ]; do sleep 0.02; done; echo first"})
        client.send({"jsonrpc": "2.0", "id": one, "method": "tools/call",
                     "params": {"name": "shell", "arguments": {"command": "echo > second"}}})
        equal(client.answer(one)["error"]["code"], -32600, "the second request")
        box.write("ws/go", "")
        equal(client.answer(one)["result"]["structuredContent"]["stdout"], "first\n", "the first")
        check(not box.exists("ws/second"), "the second ran")

    @suite.test("mcp: calls run at once, and their output does not mix (MC10)")
    def _(box):
        client = Client(box)
        numbers = [client.begin_tool("shell", {"command": f": > at.{i}; while [ $(ls at.* | wc -l) -lt 8 ]; do sleep 0.02; done; "
                                                          f"for k in 1 2 3 4 5; do echo {i}; done"}) for i in range(8)]
        for i, number in enumerate(numbers):
            equal(client.answer(number)["result"]["structuredContent"]["stdout"], f"{i}\n" * 5, f"call {i}")

    @suite.test("mcp: 1,000 requests at once are all answered once, and none is lost after a cancellation")
    def _(box):
        client = Client(box)
        numbers = [client.begin_tool("exec", {"program": "true"}) if i % 10 == 0 else
                   client.begin_tool("why", {"path": "x"}) for i in range(1000)]
        cancelled = numbers[-1]
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
        for number in numbers[:-1]:
            check("result" in client.answer(number, 60), f"no result for {number}")
        equal(client.request("ping")["result"], {}, "ping")
        check(cancelled not in client.kept, "the cancelled request was answered")
        equal(client.kept, {}, "further responses")

    @suite.test("mcp: more calls than can wait are refused with words, and the server lives")
    def _(box):
        client = Client(box, "--grace", "100ms")
        line = b""
        for i in range(5000):
            line += (b'{"jsonrpc":"2.0","id":"w%d","method":"tools/call","params":{"name":"shell","arguments":'
                     b'{"command":"sleep 600"}}}\n' % i)
        client.raw(line)
        refused = client.next()
        check("too many" in refused.get("error", {}).get("message", ""), refused)
        for i in range(5000):
            client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": f"w{i}"}})
        equal(client.request("ping", seconds=60)["result"], {}, "ping")
        equal(client.data("shell", command="echo x")["stdout"], "x\n", "a call afterwards")

    @suite.test("mcp: the end of input ends running commands", root=True)
    def _(box):
        client = Client(box, "--grace", "200ms")
        client.begin_tool("shell", {"command": STUBBORN})
        began(box, client)
        equal(client.end(), 0, "the exit status")
        check(wait_until(lambda: not inside(box, client)), "processes are left")

    @suite.test("mcp: calls that end soon are answered after the end of input")
    def _(box):
        client = Client(box)
        number = client.begin_tool("shell", {"command": "echo last"})
        client.process.stdin.close()
        equal(client.answer(number)["result"]["structuredContent"]["stdout"], "last\n", "the answer")

    @suite.test("mcp: SIGTERM, SIGINT and SIGHUP end the server and its commands")
    def _(box):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if box.exists("ws/began"):
                os.remove(f"{box.ws}/began")
            client = Client(box, "--grace", "100ms")
            client.begin_tool("shell", {"command": STUBBORN})
            began(box, client)
            client.process.send_signal(number)
            check(wait_until(lambda: client.process.poll() is not None), f"the server runs after signal {number}")
            check(wait_until(lambda: not inside(box, client)), f"processes are left after signal {number}")

    @suite.test("mcp: kill -9 in the middle leaves no process behind", root=True)
    def _(box):
        for moment in (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3):
            client = Client(box)
            for _ in range(4):
                client.begin_tool("shell", {"command": STUBBORN})
            time.sleep(moment)
            client.process.kill()
            client.process.wait()
            check(wait_until(lambda: not inside(box, client)), f"processes are left after {moment} s")

    @suite.test("mcp: a call of 2026-07-28 is cancelled as well")
    def _(box):
        client = Client(box, "--grace", "100ms", revision=None)
        number = client.begin("tools/call", modern({"name": "shell", "arguments": {"command": STUBBORN}}))
        began(box, client)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        check(wait_until(lambda: not inside(box, client)), "processes are left")
