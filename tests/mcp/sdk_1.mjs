// SPDX-License-Identifier: Apache-2.0
// The official SDK, generation 1, as a client of `corral mcp`: node sdk_1.mjs TARGET WORKSPACE (sdk_checks.mjs has TARGET)
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { run, target } from "./sdk_checks.mjs";

const { workspace, label, transport } = target(StdioClientTransport, StreamableHTTPClientTransport);
await run(`sdk 1${label}`, workspace, ["2025-11-25"], async () => {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport());
  client.call = (params, options) => client.callTool(params, undefined, options);
  return client;
});
