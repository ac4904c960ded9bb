// SPDX-License-Identifier: Apache-2.0
// Checked by tsc and never run: the declarations fit the implementation, and a caller's mistakes are type errors.
import * as implementation from "./node_modules/@corral/sandbox/src/index.js";
import * as aiSdk from "./node_modules/@corral/sandbox/src/adapters/ai-sdk.js";
import * as bashTool from "./node_modules/@corral/sandbox/src/adapters/bash-tool.js";
import { corralSandbox as forAi } from "@corral/sandbox/ai-sdk";
import { corralSandbox as forBash } from "@corral/sandbox/bash-tool";
import { CorralBackend } from "@corral/sandbox/deepagents";
import { CorralSandbox } from "@corral/sandbox/mastra";
import { CorralSandboxClient, corralShell } from "@corral/sandbox/openai-agents";
import * as declared from "@corral/sandbox";
import { run, spawn, Sandbox, Session, type Commands, type Result } from "@corral/sandbox";
import { shellTool } from "@openai/agents";
import { SandboxAgent } from "@openai/agents/sandbox";
import { createDeepAgent } from "deepagents";
import { createBashTool } from "bash-tool";
import { generateText } from "ai";
import { Workspace } from "@mastra/core/workspace";

// What is declared exists, with these types.
type Loose<T> = { [K in keyof T]: unknown };
const every: Loose<typeof declared> = implementation;
const spawned: typeof declared.spawn = implementation.spawn;
const explained: typeof declared.explain = implementation.explain;
const sandbox: Pick<declared.Sandbox, "readFile" | "readText" | "writeFile" | "stat" | "exists" | "listDirectory" | "removeFile" | "makeDirectory" | "spawn"> =
  new implementation.Sandbox({});
const session: Pick<declared.Session, "id" | "show" | "stop" | "readFile" | "spawn"> = await implementation.Session.create({});
const errors: declared.CorralError[] = [new implementation.UsageError("u"), new implementation.AbortError("a", { cause: 1 })];
const ai: typeof forAi = aiSdk.corralSandbox;
const bash: typeof forBash = bashTool.corralSandbox;
void [every, spawned, explained, sandbox, session, errors, ai, bash];

// A caller's view.
const text: Result<string> = await run("make", { timeout: 1000, allowHost: ["a.example"], env: { A: "b" } });
const bytes: Uint8Array = (await run(["cat", "x"], { encoding: "buffer" })).stdout;
const level: "full" | "standard" | "minimal" | "none" | null = text.level;
const first: string | undefined = text.denials[0]?.path;
await using process = spawn(["sh"], { stdin: true });
const web: ReadableStream<Uint8Array> | undefined = process.stdoutWeb;
await using kept = await Session.create({ name: "build", serial: true });
const both: Commands[] = [new Sandbox({ net: "none" }), kept];
void [bytes, level, first, web];

// @ts-expect-error an unknown option
await run("true", { netwrok: "none" });
// @ts-expect-error a value that the option does not have
await run("true", { net: "some" });
// @ts-expect-error a session's command takes no policy
await kept.run("true", { allowHost: "a.example" });
// @ts-expect-error a reason that does not exist
text.reason === "finished";

// The packages take the adapters.
const tool = shellTool({ shell: corralShell(both[0]!) });
const client = new CorralSandboxClient({ workspace: "/srv/project" });
const agent = new SandboxAgent({ name: "a", model: "m" });
createDeepAgent({ backend: new CorralBackend(both[0]!) });
await createBashTool({ sandbox: forBash(both[0]!) });
const how: Parameters<typeof generateText>[0]["experimental_sandbox"] = forAi(both[0]!);
new Workspace({ sandbox: new CorralSandbox(both[0]!) });
void [tool, client, agent, how];
