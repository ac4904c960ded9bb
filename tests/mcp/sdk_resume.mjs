// SPDX-License-Identifier: Apache-2.0
// The official SDK resumes a stream whose connection is lost: node sdk_resume.mjs http://… WORKSPACE TOKEN-FILE
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [server, workspace, token] = process.argv.slice(2);
const go = `${workspace}/resume-go`;
const resumed = [];

// The connection of the call is lost after its first event; the command ends only after that.
async function losing(url, init) {
  const last = new Headers(init.headers).get("last-event-id");
  const response = await fetch(url, init);
  if (last !== null) {
    resumed.push(response.status);
  }
  if (!String(init.body).includes("tools/call")) {
    return response;
  }
  const reader = response.body.getReader();
  const first = await reader.read();
  let sent = false;
  const body = new ReadableStream({
    async pull(controller) {
      if (!sent) {
        sent = true;
        controller.enqueue(first.value);
        return;
      }
      await reader.cancel();
      writeFileSync(go, "");
      controller.error(new Error("the connection is lost"));
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status: response.status, headers: response.headers });
}

const headers = { Authorization: `Bearer ${readFileSync(token, "utf8").trim()}` };
const client = new Client({ name: "test", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(server), { requestInit: { headers }, fetch: losing }));
const command = "until [ -e resume-go ]; do sleep 0.02; done; echo resumed";
const result = await client.callTool({ name: "shell", arguments: { command } });
const good = result.structuredContent?.stdout === "resumed\n" && resumed.join() === "200";
console.log(`${good ? "ok" : "not ok"} - sdk 1, http: a lost stream is resumed`);
rmSync(go);
await client.close();
process.exit(good ? 0 : 1);
