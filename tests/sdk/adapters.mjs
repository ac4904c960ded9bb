// SPDX-License-Identifier: Apache-2.0
// The adapters, with the real packages.  A scripted model stands in for the provider where the package runs one.
import { deepStrictEqual, ok } from "node:assert";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createWorkspaceTools, Workspace } from "@mastra/core/workspace";
import { Agent, Runner, shellTool } from "@openai/agents";
import { SandboxAgent } from "@openai/agents/sandbox";
import { ScriptedModel, assistantMessage, functionCall, modelResponse } from "@openai/agents/testing";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createBashTool } from "bash-tool";
import { isSandboxBackend } from "deepagents";
import { z } from "zod";
import { Sandbox, UsageError } from "@corral/sandbox";
import { corralSandbox as forAi } from "@corral/sandbox/ai-sdk";
import { corralSandbox as forBash } from "@corral/sandbox/bash-tool";
import { CorralBackend } from "@corral/sandbox/deepagents";
import { CorralSandbox } from "@corral/sandbox/mastra";
import { CorralSandboxClient, corralShell } from "@corral/sandbox/openai-agents";
import { binary, equal, fails, finish, mark, marked, test, until, workspace } from "./harness.mjs";

process.env.OPENAI_AGENTS_DISABLE_TRACING = "1";
const key = `${process.env.HOME}/.ssh/id_rsa`;
equal(readFileSync(key, "utf8"), "PRIVATE\n", "the control outside");
mkdirSync(`${workspace}/kept`, { recursive: true });
writeFileSync(`${workspace}/kept/file`, "kept\n");
const options = { binary, workspace, protect: ["kept"], denials: "all", grace: 100 };
const sandbox = new Sandbox(options);
const ATTACK = `cat ${key}; echo changed >kept/file; echo written >made`;

/** The attack failed, a similar act succeeded, and the text for the model says what was refused. */
function verdict(text, file) {
  ok(!text.includes("PRIVATE"), text);
  ok(text.includes("corral: refused:") && text.includes("kept/file"), text);
  equal(readFileSync(`${workspace}/kept/file`, "utf8"), "kept\n");
  equal(readFileSync(`${workspace}/${file ?? "made"}`, "utf8"), "written\n");
}

await test("@openai/agents: shellTool in a run of the real runner", async () => {
  const model = new ScriptedModel([
    modelResponse([{ type: "shell_call", callId: "1", status: "completed", action: { commands: [ATTACK, "exit 3"], timeoutMs: 60_000 } }]),
    modelResponse([{ type: "shell_call", callId: "2", status: "completed", action: { commands: [`sleep ${mark()}`], timeoutMs: 700 } }]),
    modelResponse([assistantMessage("done")]),
  ]);
  const agent = new Agent({ name: "a", model, tools: [shellTool({ shell: corralShell(sandbox) })] });
  const result = await new Runner({ tracingDisabled: true }).run(agent, "go");
  equal(result.finalOutput, "done");
  const outputs = result.newItems.map((item) => item.rawItem).filter((item) => item.type === "shell_call_output").map(({ output }) => output);
  verdict(JSON.stringify(outputs[0]));
  deepStrictEqual(outputs[0][1].outcome, { type: "exit", exitCode: 3 });
  deepStrictEqual(outputs[1][0].outcome, { type: "timeout" });
});

await test("@openai/agents: a SandboxAgent with CorralSandboxClient", async () => {
  const model = new ScriptedModel([
    modelResponse([functionCall("exec_command", { cmd: `pwd; cat greeting; ${ATTACK}2`, login: false }, { callId: "1" })]),
    modelResponse([assistantMessage("done")]),
  ]);
  const agent = new SandboxAgent({ name: "a", model, instructions: "work", defaultManifest: { entries: { greeting: { type: "file", content: "hello\n" } } } });
  const client = new CorralSandboxClient(options);
  const result = await new Runner({ tracingDisabled: true, sandbox: { client } }).run(agent, "go");
  equal(result.finalOutput, "done");
  const text = JSON.stringify(result.newItems.map((item) => item.rawItem).filter((item) => item.type === "function_call_result"));
  ok(text.includes("/workspace\\nhello\\n"), text);
  verdict(text, "made2");
});

await test("@openai/agents: files and the editor of a sandbox session", async () => {
  const session = await new CorralSandboxClient(options).create({ manifest: { root: "/workspace", environment: { FROM: "manifest" } } });
  const editor = session.createEditor();
  await editor.createFile({ type: "create_file", path: "e/new.txt", diff: "+one\n+two" });
  await editor.updateFile({ type: "update_file", path: "e/new.txt", diff: "@@\n one\n-two\n+three" });
  equal(readFileSync(`${workspace}/e/new.txt`, "utf8").trim(), "one\nthree");
  equal(Buffer.from(await session.readFile({ path: "e/new.txt" })).toString().trim(), "one\nthree");
  deepStrictEqual(await session.listDir({ path: "e" }), [{ name: "new.txt", path: "/workspace/e/new.txt", type: "file" }]);
  await editor.deleteFile({ type: "delete_file", path: "e/new.txt" });
  deepStrictEqual([await session.pathExists("e/new.txt"), await session.directoryExists("e")], [false, true]);
  const done = await session.exec({ cmd: "echo $FROM; pwd; exit 4", workdir: "/workspace/e" });
  deepStrictEqual([done.stdout, done.exitCode], ["manifest\n/workspace/e\n", 4]);
  await fails(session.exec({ cmd: "true", tty: true }), UsageError, /tty/);
  await fails(session.exec({ cmd: "true", runAs: "root" }), UsageError, /runAs/);
  await fails(session.materializeEntry({ path: "m", entry: { type: "git_repo", repo: "r" } }), UsageError, /git_repo/);
  await session.close();
});

await test("deepagents: BaseSandbox's own tools over CorralBackend", async () => {
  const backend = new CorralBackend(sandbox);
  ok(isSandboxBackend(backend));
  const done = await backend.execute(`${ATTACK}3; exit 5`);
  verdict(done.output, "made3");
  deepStrictEqual([done.exitCode, done.truncated], [5, false]);
  const file = `${workspace}/deep/über.txt`;
  deepStrictEqual(await backend.uploadFiles([[file, Buffer.from("alpha\nbeta\n")], [`${workspace}/kept/new`, Buffer.from("x")]]),
    [{ path: file, error: null }, { path: `${workspace}/kept/new`, error: "permission_denied" }]);
  ok(!existsSync(`${workspace}/kept/new`));
  ok(JSON.stringify(await backend.read(file)).includes("beta"));
  ok(JSON.stringify(await backend.ls(`${workspace}/deep`)).includes("über.txt"));
  ok(JSON.stringify(await backend.grep("beta", workspace)).includes("über.txt"));
  await backend.edit(file, "beta", "gamma");
  equal(readFileSync(file, "utf8"), "alpha\ngamma\n");
  const [good, hidden, missing] = await backend.downloadFiles([file, key, `${workspace}/none`]);
  deepStrictEqual([Buffer.from(good.content).toString(), hidden.content, missing.error], ["alpha\ngamma\n", null, "file_not_found"]);
});

/** A model of the AI SDK that calls the tool once. */
function onceCalling(name, input) {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  let calls = 0;
  return new MockLanguageModelV4({
    doGenerate: async () => (calls++ === 0
      ? { content: [{ type: "tool-call", toolCallId: "1", toolName: name, input: JSON.stringify(input) }], finishReason: { unified: "tool-calls" }, usage, warnings: [] }
      : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop" }, usage, warnings: [] }),
  });
}

await test("ai: a tool gets the sandbox from generateText", async () => {
  let seen;
  const shell = tool({
    description: "shell", inputSchema: z.object({ command: z.string() }),
    execute: async ({ command }, { experimental_sandbox }) => (seen = await experimental_sandbox.run({ command, env: { A: "b" } })),
  });
  const result = await generateText({
    model: onceCalling("shell", { command: `echo $A; ${ATTACK}4; exit 6` }), tools: { shell }, prompt: "go", stopWhen: stepCountIs(3),
    experimental_sandbox: forAi(sandbox),
  });
  equal(result.text, "done");
  deepStrictEqual([seen.stdout, seen.exitCode], ["b\n", 6]);
  verdict(seen.stderr, "made4");
});

await test("ai: files, streams and aborts of the sandbox session", async () => {
  const session = forAi(sandbox);
  await session.writeTextFile({ path: "ai/a.txt", content: "1\n2\n3\n" });
  equal(await session.readTextFile({ path: "ai/a.txt", startLine: 2, endLine: 9 }), "2\n3\n");
  equal(await session.readTextFile({ path: "ai/none" }), null);
  await session.writeFile({ path: "ai/b", content: new Blob([Buffer.alloc(300_000, 0xff)]).stream() });
  equal((await new Response(await session.readFile({ path: "ai/b" })).arrayBuffer()).byteLength, 300_000);
  equal((await session.readBinaryFile({ path: "ai/b" }))[0], 0xff);
  deepStrictEqual(await session.stat({ path: "ai/b" }), { type: "file", size: 300_000 });
  deepStrictEqual((await session.listDirectory({ path: "ai" })).sort((a, b) => a.name.localeCompare(b.name)),
    [{ name: "a.txt", type: "file" }, { name: "b", type: "file" }]);
  deepStrictEqual([await session.deleteFile({ path: "ai/b" }), await session.deleteFile({ path: "ai/b" })], [true, false]);
  await fails(Promise.resolve(session.deleteFile({ path: "ai" })), Error, /EISDIR/);
  await fails(Promise.resolve(session.writeTextFile({ path: "kept/x", content: "" })), Error, /kept/);
  const child = await session.spawn({ command: "tr a-z A-Z; exit 7", stdin: true });
  const writer = child.stdin.getWriter();
  await writer.write(Buffer.from("loud"));
  await writer.close();
  deepStrictEqual([await new Response(child.stdout).text(), await child.wait()], ["LOUD", { exitCode: 7 }]);
  const sign = mark(), controller = new AbortController();
  const endless = await session.spawn({ command: `setsid sleep ${sign}`, abortSignal: controller.signal });
  await until(() => marked(sign).length > 0, "the command runs");
  controller.abort(new Error("enough"));
  await fails(Promise.resolve(endless.wait()), Error, /^enough$/);
  deepStrictEqual(marked(sign), []);
});

await test("@mastra/core: the tool of a workspace", async () => {
  const box = new CorralSandbox(sandbox);
  const mastra = new Workspace({ sandbox: box });
  await mastra.init();
  const tools = await createWorkspaceTools(mastra);
  const execute = tools.mastra_workspace_execute_command;
  const said = await execute.execute({ command: `${ATTACK}5` }, { workspace: mastra });
  verdict(typeof said === "string" ? said : JSON.stringify(said), "made5");
  const argv = await box.executeCommand("printf", ["%s|", "$HOME", "a b"], { env: { A: "b" }, cwd: workspace });
  deepStrictEqual([argv.stdout, argv.exitCode, argv.success], ["$HOME|a b|", 0, true]);
  let streamed = "";
  const failed = await box.executeCommand("echo one; exit 8", [], { onStdout: (text) => (streamed += text) });
  deepStrictEqual([failed.exitCode, failed.success, streamed], [8, false, "one\n"]);
  await fails(box.executeCommand(`sleep ${mark()}`, [], { timeout: 700 }), Error, /time/i);
  await box.writeFiles([{ path: "mastra/tool", content: "#!/bin/sh\necho ran\n", mode: 0o755 }]);
  equal((await box.executeCommand("mastra/tool")).stdout, "ran\n");
  await mastra.destroy();
});

await test("bash-tool: its three tools", async () => {
  const { tools } = await createBashTool({ sandbox: forBash(sandbox), destination: workspace, files: { "bt/in.txt": "given\n" }, promptOptions: { toolPrompt: "" } });
  const done = await tools.bash.execute({ command: `cat bt/in.txt; ${ATTACK}6; exit 9` }, {});
  deepStrictEqual([done.stdout, done.exitCode], ["given\n", 9]);
  verdict(done.stderr, "made6");
  await tools.writeFile.execute({ path: "bt/out.txt", content: "out\n" }, {});
  equal((await tools.readFile.execute({ path: "bt/out.txt" }, {})).content, "out\n");
});

finish();
