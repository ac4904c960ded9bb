// SPDX-License-Identifier: Apache-2.0
// The official SDK, generation 1, as a client of `corral mcp`: node sdk_1.mjs CORRAL WORKSPACE
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { run } from "./sdk_checks.mjs";

const [corral, workspace] = process.argv.slice(2);
await run("sdk 1", workspace, ["2025-11-25"], async () => {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: corral, args: ["mcp", "-w", workspace], stderr: "ignore" }));
  client.call = (params, options) => client.callTool(params, undefined, options);
  return client;
});
