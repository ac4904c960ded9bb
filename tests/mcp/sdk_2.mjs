// SPDX-License-Identifier: Apache-2.0
// The official SDK, generation 2, as a client of `corral mcp`: node sdk_2.mjs TARGET WORKSPACE (sdk_checks.mjs has TARGET)
// Once with each way to find the revision: by server/discover, pinned to 2026-07-28, by the handshake.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run, target } from "./sdk_checks.mjs";

const { workspace, label, transport } = target(StdioClientTransport, StreamableHTTPClientTransport);
const ways = [
  ["auto", "2026-07-28", { versionNegotiation: { mode: "auto" } }],
  ["pinned", "2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
  ["handshake", "2025-11-25", {}],
];
for (const [name, revision, options] of ways) {
  await run(`sdk 2${label}, ${name}`, workspace, [revision], async () => {
    const client = new Client({ name: "test", version: "1" }, options);
    await client.connect(transport());
    client.call = (params, more) => client.callTool(params, more);
    return client;
  });
}
