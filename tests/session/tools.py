# SPDX-License-Identifier: Apache-2.0
"""Tools in a session: file.* for JSON-RPC clients, and MCP on the session's socket."""
import json
import os

from scopes import FORBIDDEN, NO_TOKEN, PARAMS, Client, Refused, code_of, socket_of, with_token
from service import acting_as, check, equal, wait_until

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
META = "io.modelcontextprotocol/"

# Sends lines of stdin to the session's socket, and prints its answers, each as it comes.
INSIDE = """
import os, socket, sys, threading
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["CORRAL_SESSION_SOCKET"])
lines = sys.argv[1].split("\\n")
s.sendall("".join(line + "\\n" for line in lines).encode())
f = s.makefile()
for _ in range(int(sys.argv[2])):
    print(f.readline().strip(), flush=True)
"""


class Mcp:
    """An MCP client on a connection of Client: other ids than those of the daemon's methods."""

    def __init__(self, client, revision="2025-11-25"):
        self.client, self.last, self.notes, self.kept = client, 1000, [], {}
        if revision:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            equal(self.request("initialize", params)["result"]["protocolVersion"], revision, "the revision")

    def begin(self, method, params=None):
        self.last += 1
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, **({} if params is None else {"params": params})}
        self.client.send_raw(json.dumps(message).encode() + b"\n")
        return self.last

    def notify(self, method, params):
        self.client.send_raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def answer(self, number):
        while number not in self.kept:
            message = self.client.line()
            check(message is not None, "the daemon closed the connection")
            if message.get("id") is None:
                self.notes.append(message)
            else:
                self.kept[message["id"]] = message
        return self.kept.pop(number)

    def request(self, method, params=None):
        return self.answer(self.begin(method, params))

    def begin_tool(self, name, arguments, **meta):
        return self.begin("tools/call", {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})})

    def tool(self, name, **arguments):
        answer = self.answer(self.begin_tool(name, arguments))
        check("result" in answer, f"{name}: {answer}")
        return answer["result"]


def test_file_tools_for_clients_with_a_token(service):
    made = service.made()
    client = with_token(service, made["id"], made["token"])
    ws = f"{service.place}/ws"
    equal(client.call("file.write", path="t/a.txt", content="one\n"), {"bytes": 4}, "write")
    with open(f"{ws}/t/a.txt", encoding="utf-8") as file:
        equal(file.read(), "one\n", "on the host")
    equal(client.call("file.edit", path="t/a.txt", old_text="one", new_text="two"), {"replacements": 1}, "edit")
    equal(client.call("file.read", path="t/a.txt")["content"], "two\n", "read")
    equal([row["name"] for row in client.call("file.list", path="t")["entries"]], ["a.txt"], "list")
    client.call("file.make_directory", path="t/d")
    client.call("file.move", **{"from": "t/a.txt", "to": "t/d/b.txt"})
    equal(client.call("file.send", path="t/d/b.txt")["size"], 4, "send")
    client.call("file.delete", path="t", recursive=True)
    check(not os.path.exists(f"{ws}/t"), "delete")
    # Refusals have words, and the session's boundary.
    told = 0
    for method, params in (("file.write", {"path": "/etc/passwd", "content": "x"}), ("file.read", {"path": f"{service.place}/home/.ssh/id"}),
                           ("file.write", {"path": ".git/hooks/x", "content": "x"}), ("file.delete", {"path": "/usr/bin/env"})):
        try:
            client.call(method, **params)
            check(False, f"{method} {params} was allowed")
        except Refused as refused:
            check(len(refused.message) > 20, refused.message)
            if "Refused by the sandbox" in refused.message:
                check("`corral session create`" in refused.message and "corral mcp" not in refused.message, refused.message)
                told += 1
    check(told >= 2, f"refusals with a remedy for a session: {told}")
    check(not os.path.exists(f"{ws}/.git"), "a refused file left its directory")
    equal(code_of(client, "file.read", {"file": "x"}), PARAMS, "wrong params")
    equal(code_of(client, "file.read", {"path": "x", "session": "y"}), PARAMS, "another session's name")
    service.good("session", "stop", made["id"])


def test_names_where_commands_are_listed(service):
    """make_directory, move and delete are no commands, except where only the session has the path."""
    made = service.made("--profile", "campaign")
    client = with_token(service, made["id"], made["token"])
    ws = f"{service.place}/ws"
    client.call("file.make_directory", path="n/deep")
    client.call("file.write", path="n/a.txt", content="one\n")
    client.call("file.move", **{"from": "n/a.txt", "to": "n/deep/b.txt"})
    check(os.path.exists(f"{ws}/n/deep/b.txt"), "move")
    with open(f"{ws}/n/.envrc", "w", encoding="utf-8") as file:
        file.write("kept")
    for method, params, words in (("file.delete", {"path": "n", "recursive": True}, "nothing was deleted"),
                                  ("file.make_directory", {"path": ".git/hooks"}, "protected by"),
                                  ("file.make_directory", {"path": "/usr/x"}, "fs.tools")):
        try:
            client.call(method, **params)
            check(False, f"{method} {params} was allowed")
        except Refused as refused:
            check(words in refused.message, refused.message)
    check(os.path.exists(f"{ws}/n/deep/b.txt") and not os.path.exists(f"{ws}/.git"), "a refusal changed something")
    os.unlink(f"{ws}/n/.envrc")
    client.call("file.delete", path="n", recursive=True)
    check(not os.path.exists(f"{ws}/n"), "delete")
    service.good("session", "stop", made["id"])


def test_tools_of_a_role(service):
    made = service.made("--tools", "read_file,why")
    client = with_token(service, made["id"], made["token"])
    for method, params in (("file.write", {"path": "x", "content": "y"}), ("session.exec", {"argv": ["true"]})):
        equal(code_of(client, method, params), FORBIDDEN, method)
    mcp = Mcp(client)
    equal([tool["name"] for tool in mcp.request("tools/list")["result"]["tools"]], ["read_file", "why"], "the list")
    equal(mcp.request("tools/call", {"name": "shell", "arguments": {"command": "true"}})["error"]["code"], -32602, "another tool")
    # The administrator is not a role of the session.
    equal(service.good("session", "exec", made["id"], "echo", "hi"), "hi\n", "admin")
    status, _, err = service.run("session", "create", "--tools", "nosuch")
    check(status != 0 and "nosuch" in err, f"an unknown tool: {status} {err}")
    service.good("session", "stop", made["id"])


def test_an_installed_tool_is_checked_before_each_command(service):
    """`corral tool install`: a change between two commands of a session refuses the second, in each way, until it is undone."""
    program = f"{service.workspace}/program"
    with acting_as(service.uid), open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho tool $*\n")
    service.good("tool", "install", "lint", program)
    host = f"{service.place}/home/.local/state/corral/tools/lint/bin/lint"
    session, other = service.create("--tool", "lint"), service.create()
    with open(host, "rb") as file:
        right = file.read()

    def write(content):
        os.chmod(host, 0o755)
        with open(host, "wb") as file:
            file.write(content)
    try:
        for _ in range(2):
            equal(service.good("session", "exec", session, "--", "lint", "a"), "tool a\n", "a tool that is as it was installed")
            write(right + b"echo appended\n")
            for words in (["lint"], ["true"], ["sh", "-c", "lint"]):
                for way in ([], ["--timeout", "60s"], ["--json"]):
                    status, out, err = service.run("session", "exec", *way, session, "--", *words)
                    said = out + err
                    check("the tool lint is not the program that was installed: its hash differs" in said and "appended" not in out
                          and (status == 126 or way == ["--json"]), f"{way} {words}: {status} {said}")
            client = service.client()
            try:
                client.call("session.exec", session=session, argv=["lint"])
                check(False, "a request on the admin socket was not refused")
            except Refused as refused:
                check("hash differs" in refused.message, refused.message)
            client.close()
            equal(service.good("session", "exec", other, "--", "echo", "fine"), "fine\n", "a session without the tool")
            write(right)
    finally:
        service.good("tool", "rm", "lint")
        os.unlink(program)
    status, _, err = service.run("session", "exec", session, "--", "true")
    check(status == 126 and "is not installed" in err, f"a tool that was removed: {status} {err}")
    for one in (session, other):
        service.good("session", "stop", one)


def test_mcp_with_a_token(service):
    made = service.made()
    client = Client(socket_of(service, made["id"]), service.uid)
    equal(code_of(client, "initialize", {"protocolVersion": "2025-11-25"}), NO_TOKEN, "without a token")
    for revision in REVISIONS:
        mcp = Mcp(with_token(service, made["id"], made["token"]), revision)
        equal(len(mcp.request("tools/list")["result"]["tools"]), 13, "tools")
        check("hi\n" in mcp.tool("shell", command="echo hi")["content"][0]["text"], revision)
    data = mcp.tool("exec", program="sh", args=["-c", "echo $A; pwd; exit 3"], env={"A": "b"}, working_dir="/tmp")
    check("b\n/tmp\n" in data["content"][0]["text"], data)
    mcp = Mcp(with_token(service, made["id"], made["token"]))
    mcp.tool("shell", command="echo kept > ${TMPDIR:-/tmp}/kept; sleep 600 & echo $!")
    equal(mcp.tool("shell", command="cat ${TMPDIR:-/tmp}/kept")["structuredContent"]["stdout"], "kept\n", "the same sandbox")
    place = mcp.tool("shell", command="echo ${TMPDIR:-/tmp}")["structuredContent"]["stdout"].strip()
    equal(mcp.tool("make_directory", path=f"{place}/made/deep")["structuredContent"], {"done": True}, "in the session's own /tmp")
    for name in ("sandbox_status", "explain"):
        check(not mcp.tool(name)["isError"], name)
    check(mcp.tool("write_file", path="/etc/x", content="y")["isError"], "a refusal is a result")
    modern = {"_meta": {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": {}}}
    stateless = Mcp(with_token(service, made["id"], made["token"]), None)
    equal(stateless.request("tools/list", modern)["result"]["resultType"], "complete", "2026-07-28")
    batch = Mcp(with_token(service, made["id"], made["token"]), "2025-03-26")
    calls = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "shell", "arguments": {"command": f"echo {i}"}}}
             for i in (1, 2)]
    batch.client.send_raw(json.dumps(calls).encode() + b"\n")
    equal(sorted(item["id"] for item in batch.client.line()), [1, 2], "a batch")
    service.good("session", "stop", made["id"])


def test_mcp_progress_and_cancellation(service):
    made = service.made()
    seconds = 100000 + os.getpid()  # no other process of the host sleeps so long
    gone = f"! pgrep -f '^sleep {seconds // 10}[{seconds % 10}]$'"
    mcp = Mcp(with_token(service, made["id"], made["token"]))
    number = mcp.begin_tool("shell", {"command": f"echo one; sleep {seconds}"}, progressToken="p")
    note = mcp.client.line()
    equal((note["method"], note["params"]["message"]), ("notifications/progress", "one\n"), "output as it comes")
    mcp.notify("notifications/cancelled", {"requestId": number})
    check(wait_until(lambda: mcp.tool("shell", command=gone)["structuredContent"]["exit_code"] == 0), "the tree ends")
    check(number not in mcp.kept, "no response")
    # The end of the connection ends its calls; the session lives.
    mcp.begin_tool("shell", {"command": f"echo > began; sleep {seconds}"})
    check(wait_until(lambda: os.path.exists(f"{service.place}/ws/began")), "the command did not begin")
    mcp.client.close()
    other = Mcp(with_token(service, made["id"], made["token"]))
    check(wait_until(lambda: other.tool("shell", command=gone)["structuredContent"]["exit_code"] == 0), "after the connection")
    # The token ends: so does MCP.
    service.good("session", "revoke", made["id"])
    equal(other.request("tools/list")["error"]["code"], NO_TOKEN, "after a revocation")
    service.good("session", "stop", made["id"])


def test_mcp_ids_belong_to_their_connection(service):
    """Three connections of one session: a cancellation ends the call of its own connection, and no other with the same id."""
    made = service.made()
    first, second, idle = (Mcp(with_token(service, made["id"], made["token"])) for _ in range(3))
    ws = f"{service.place}/ws"

    def begin(mcp, name):
        """A call that ends when the file NAME.go is there."""
        script = f"echo >{name}.began; while ! [ -e {name}.go ]; do sleep 0.05; done; rm {name}.*; echo {name}"
        number = mcp.begin_tool("shell", {"command": script})
        check(wait_until(lambda: os.path.exists(f"{ws}/{name}.began")), f"{name} did not begin")
        return number

    def finish(mcp, name, number):
        with open(f"{ws}/{name}.go", "w", encoding="utf-8"):
            pass
        equal(mcp.answer(number)["result"]["structuredContent"]["stdout"], f"{name}\n", f"the answer of {name}")

    for turn, (ends, stays) in enumerate(((first, second), (second, first))):
        ends.last = stays.last = 5000 + turn
        numbers = [begin(mcp, f"{name}{turn}") for name, mcp in (("first", first), ("second", second))]
        equal(numbers[0], numbers[1], "the ids")
        gone, kept = ("first", "second") if ends is first else ("second", "first")
        running = f"pgrep -f '{gone}{turn}[.]go' >/dev/null"
        equal(idle.tool("shell", command=running)["structuredContent"]["exit_code"], 0, "control: the call is found")
        idle.notify("notifications/cancelled", {"requestId": numbers[0]})  # it has no call
        equal(idle.request("ping")["result"], {}, "the daemon has read it")
        ends.notify("notifications/cancelled", {"requestId": numbers[0]})
        check(wait_until(lambda r=running: idle.tool("shell", command=f"! {r}")["structuredContent"]["exit_code"] == 0), f"{gone}: the call goes on")
        finish(stays, f"{kept}{turn}", numbers[0])
        ends.last += 10
        equal(ends.tool("shell", command=f"rm -f {gone}{turn}.began; echo next")["structuredContent"]["stdout"], "next\n", "its next call")
        check(numbers[0] not in ends.kept, "a cancelled call was answered")
    service.good("session", "stop", made["id"])


def test_mcp_inside_needs_no_token(service):
    made = service.made()
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "exec", "arguments": {"program": "id"}}}]
    out = service.good("session", "exec", made["id"], "--", "/usr/bin/python3", "-c", INSIDE,
                       "\n".join(json.dumps(line) for line in lines), "2")
    answers = [json.loads(line) for line in out.splitlines()]
    equal([answer["id"] for answer in answers], [1, 2], "the answers")
    equal(answers[1]["result"]["structuredContent"]["exit_code"], 0, "the call")
    service.good("session", "stop", made["id"])


def test_mcp_as_a_command(service):
    """`corral mcp --session`: by the admin socket, by a token in a file, and inside."""
    path = f"{service.place}/home/mcp-token"
    session = service.create("--token-file", path)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "shell", "arguments": {"command": "echo $CORRAL_SESSION_ID"}}}]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    for words in ((), ("--token-file", path)):
        out = service.good("mcp", "--session", session, *words, data=data)
        answers = [json.loads(line) for line in out.splitlines()]
        equal([answer["id"] for answer in answers], [1, 2], f"{words}: the answers, also after the end of stdin")
        equal(answers[1]["result"]["structuredContent"]["stdout"], session + "\n", "in the session")
    for words, part in ((("--session", "nosuch"), "no session"), (("--session", session, "-w", "/tmp"), "policy of its session"),
                        (("--session", session, "--tools", "why"), "not possible"), (("--session", "nosuch", "--token-file", path), "id of the session")):
        status, _, err = service.run("mcp", *words)
        check(status != 0 and part in err, f"{words}: {status} {err}")
    service.good("session", "stop", session)
