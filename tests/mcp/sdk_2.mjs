// SPDX-License-Identifier: Apache-2.0
// The official SDK, generation 2, as a client of `corral mcp`: node sdk_2.mjs CORRAL WORKSPACE
// Once with each way to find the revision: by server/discover, pinned to 2026-07-28, by the handshake.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run } from "./sdk_checks.mjs";

const [corral, workspace] = process.argv.slice(2);
const ways = [
  ["auto", "2026-07-28", { versionNegotiation: { mode: "auto" } }],
  ["pinned", "2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
  ["handshake", "2025-11-25", {}],
];
for (const [name, revision, options] of ways) {
  await run(`sdk 2, ${name}`, workspace, [revision], async () => {
    const client = new Client({ name: "test", version: "1" }, options);
    await client.connect(new StdioClientTransport({ command: corral, args: ["mcp", "-w", workspace], stderr: "ignore" }));
    client.call = (params, more) => client.callTool(params, more);
    return client;
  });
}
