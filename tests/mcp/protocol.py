# SPDX-License-Identifier: Apache-2.0
"""Revisions, the handshake, the list of tools, batches."""
from client import LEGACY, META, MODERN, Client, modern
from harness import check, equal

TOOLS = ["shell", "exec", "read_file", "write_file", "edit_file", "list_directory", "make_directory", "move", "delete",
         "send_file", "sandbox_status", "explain", "why"]


def names(answer):
    return [tool["name"] for tool in answer["result"]["tools"]]


def register(suite):
    @suite.test("mcp: each revision with a handshake is agreed to, and has its own form of a tool")
    def _(box):
        for revision in LEGACY:
            client = Client(box, revision=revision)
            tool = client.request("tools/list")["result"]["tools"][0]
            equal("annotations" in tool, revision >= "2025-03-26", f"annotations in {revision}")
            equal("outputSchema" in tool and "title" in tool, revision >= "2025-06-18", f"outputSchema in {revision}")
            result = client.tool("shell", command="echo hi")
            equal("structuredContent" in result, revision >= "2025-06-18", f"structuredContent in {revision}")
            check("resultType" not in result, "a member of 2026-07-28")
            equal(client.request("ping"), {"jsonrpc": "2.0", "id": client.last, "result": {}}, "ping")
            equal(client.end(), 0, "the exit status")

    @suite.test("mcp: an unknown revision is answered with the newest that has a handshake")
    def _(box):
        client = Client(box, revision=None)
        for wanted in ("2031-01-01", ):
            answer = client.request("initialize", {"protocolVersion": wanted, "capabilities": {}})
            equal(answer["result"]["protocolVersion"], LEGACY[0], f"for {wanted}")
        again = client.request("initialize", {"protocolVersion": LEGACY[0], "capabilities": {}})
        equal(again["error"]["code"], -32600, "a second initialize")

    @suite.test("mcp: 2026-07-28 needs no handshake, and each result has its members")
    def _(box):
        client = Client(box, revision=None)
        found = client.request("server/discover", modern())["result"]
        equal(found["supportedVersions"], [MODERN, *LEGACY], "the revisions")
        equal((found["resultType"], found["cacheScope"]), ("complete", "private"), "discover")
        check(found["_meta"][META + "serverInfo"]["name"] == "corral" and "sandbox" in found["instructions"], found)
        listed = client.request("tools/list", modern())
        equal(names(listed), TOOLS, "the tools")
        check(listed["result"]["ttlMs"] > 0 and listed["result"]["resultType"] == "complete", "tools/list")
        result = client.request("tools/call", modern({"name": "shell", "arguments": {"command": "exit 3"}}))["result"]
        equal((result["resultType"], result["structuredContent"]["exit_code"]), ("complete", 3), "a call")
        equal(client.request("ping", modern())["error"]["code"], -32601, "ping, which the revision does not have")
        wrong = client.request("tools/list", modern(version="1900-01-01"))["error"]
        equal((wrong["code"], wrong["data"]["requested"]), (-32022, "1900-01-01"), "an unknown revision")
        check(MODERN in wrong["data"]["supported"], wrong)
        lacking = {"_meta": {META + "protocolVersion": MODERN}}
        equal(client.request("tools/list", lacking)["error"]["code"], -32602, "a request without capabilities")

    @suite.test("mcp: a subscription is acknowledged as empty, and ends")
    def _(box):
        client = Client(box, revision=None)
        answer = client.request("subscriptions/listen", modern({"notifications": {"toolsListChanged": True}}))
        equal(answer["result"]["_meta"][META + "subscriptionId"], client.last, "the id in the result")
        note = client.notes[-1]
        equal((note["method"], note["params"]["notifications"]), ("notifications/subscriptions/acknowledged", {}), "the note")

    @suite.test("mcp: both eras on one connection")
    def _(box):
        client = Client(box, revision="2024-11-05")
        check("resultType" in client.request("tools/list", modern())["result"], "a stateless request")
        check("resultType" not in client.request("tools/list")["result"], "a request of the handshake")

    @suite.test("mcp: before the handshake only initialize and ping are answered")
    def _(box):
        client = Client(box, revision=None)
        equal(client.request("ping")["result"], {}, "ping")
        for method in ("tools/list", "tools/call"):
            equal(client.request(method, {"name": "shell", "arguments": {"command": ":>made"}})["error"]["code"], -32602,
                  method)
        check(not box.exists("ws/made"), "a command ran without a revision")

    @suite.test("mcp: --tools chooses the tools, and the others do not exist")
    def _(box):
        client = Client(box, "--tools", "read_file,why")
        equal(names(client.request("tools/list")), ["read_file", "why"], "the list")
        answer = client.request("tools/call", {"name": "shell", "arguments": {"command": ": >made"}})
        equal(answer["error"]["code"], -32602, "a tool that is not offered")
        check(not box.exists("ws/made"), "the tool ran")
        box.corral_("mcp", "--tools", "shell,nosuch").exited(2).said('there is no tool "nosuch"')

    @suite.test("mcp: every input schema is closed, every output schema an object")
    def _(box):
        client = Client(box)
        for tool in client.request("tools/list")["result"]["tools"]:
            equal(tool["inputSchema"]["additionalProperties"], False, tool["name"])
            equal(tool["outputSchema"]["type"], "object", tool["name"])
            equal(set(tool["annotations"]), {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"},
                  tool["name"])

    @suite.test("mcp: a batch is answered by one array in 2025-03-26, and refused in the others")
    def _(box):
        batch = [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"},
                 {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
                  "params": {"name": "shell", "arguments": {"command": "echo hi"}}}, 7]
        client = Client(box, revision="2025-03-26")
        client.send(batch)
        answers = client.next()
        equal(sorted(str(answer["id"]) for answer in answers), ["None", "a", "b"], "the ids")
        client.send([])
        equal(client.next()["error"]["code"], -32600, "an empty batch")
        client.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
        equal(client.request("ping")["result"], {}, "after a batch without requests")
        client = Client(box, revision="2025-06-18")
        client.send(batch)
        equal(client.next()["error"]["code"], -32600, "a batch in 2025-06-18")

    @suite.test("mcp: a wrong policy ends the server before the first message")
    def _(box):
        box.corral_("mcp", "--net", "nosuch", stdin="").exited(2)
        box.corral_("mcp", "--policy", "-", stdin="").exited(2).said("stdin")
        box.corral_("mcp", "word", stdin="").exited(2)

    @suite.test("mcp: corral without corrald beside it fails with the remedy")
    def _(box):
        import shutil
        alone = shutil.copy(box.corral, f"{box.dir}/corral")
        box.execute([alone, "mcp"], stdin="").exited(125).said("corrald", "make install")
