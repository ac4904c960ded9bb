// SPDX-License-Identifier: Apache-2.0
// What both generations of the SDK check: each line is one of TAP, without a number.
import { existsSync, readFileSync, rmSync } from "node:fs";

// The server of argv: `CORRAL WORKSPACE` over stdio, `CORRAL WORKSPACE session ID` over the socket of a session,
// `http://… WORKSPACE TOKEN-FILE` over HTTP.
export function target(Stdio, Http) {
  const [server, workspace, more, session] = process.argv.slice(2);
  if (server.startsWith("http://")) {
    const headers = { Authorization: `Bearer ${readFileSync(more, "utf8").trim()}` };
    return { workspace, label: ", http", transport: () => new Http(new URL(server), { requestInit: { headers } }) };
  }
  const args = more === "session" ? ["mcp", "--session", session] : ["mcp", "-w", workspace];
  const transport = () => new Stdio({ command: server, args, stderr: "ignore", env: process.env });
  return { workspace, label: more === "session" ? ", session" : "", transport };
}

function say(name, good, note = "") {
  console.log(`${good ? "ok" : "not ok"} - ${name}${good ? "" : ` # ${JSON.stringify(note)}`}`);
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// The SDK validates each structured result against the output schema of its tool, and throws.
const calls = [
  ["shell", { command: "echo hi; exit 3" }, (r) => r.structuredContent.exit_code === 3 && r.structuredContent.stdout === "hi\n"],
  ["exec", { program: "printf", args: ["%s", "a b"], env: { A: "b" } }, (r) => r.structuredContent.stdout === "a b"],
  ["write_file", { path: "d/f.txt", content: "one\n" }, (r) => r.structuredContent.bytes === 4],
  ["edit_file", { path: "d/f.txt", old_text: "one", new_text: "two" }, (r) => r.structuredContent.replacements === 1],
  ["read_file", { path: "d/f.txt" }, (r) => r.structuredContent.content === "two\n"],
  ["list_directory", { path: "d" }, (r) => r.structuredContent.entries[0].name === "f.txt"],
  ["make_directory", { path: "e" }, (r) => r.structuredContent.done],
  ["move", { from: "d/f.txt", to: "e/g.txt" }, (r) => r.structuredContent.done],
  ["send_file", { path: "e/g.txt" }, (r) => r.content[1].resource.text === "two\n"],
  ["delete", { path: "e", recursive: true }, (r) => r.structuredContent.done],
  ["sandbox_status", {}, (r) => typeof r.structuredContent.level === "string"],
  ["explain", {}, (r) => r.structuredContent.text.length > 100],
  ["why", { path: "/etc/passwd", access: "write" }, (r) => r.structuredContent.allowed === false],
  ["read_file", { path: "/nosuch/file" }, (r) => r.isError === true],
  ["shell", { comand: "x" }, (r) => r.isError === true],
];

export async function run(name, workspace, revisions, connect) {
  let client;
  try {
    client = await connect();
    const agreed = client.getNegotiatedProtocolVersion?.() ?? revisions[0];
    say(`${name}: the revision`, revisions.includes(agreed), agreed);
    const { tools } = await client.listTools();
    say(`${name}: the list of tools`, tools.length === 13 && tools.every((t) => t.outputSchema && t.annotations), tools);
    for (const [tool, args, good] of calls) {
      const result = await client.call({ name: tool, arguments: args });
      say(`${name}: ${tool} ${Object.keys(args).join(" ")}`, good(result), result);
    }
    const notes = [];
    await client.call({ name: "shell", arguments: { command: "echo a; sleep 0.5; echo b; sleep 0.5" } }, { onprogress: (p) => notes.push(p) });
    say(`${name}: progress`, notes.map((p) => p.message).join("") === "a\nb\n", notes);
    const abort = new AbortController();
    const call = client.call({ name: "shell", arguments: { command: "echo > began; while :; do date +%s%N > beat; sleep 0.05; done" } },
      { signal: abort.signal }).then(() => false, () => true);
    while (!existsSync(`${workspace}/beat`)) await wait(50);
    abort.abort();
    const thrown = await call;
    await wait(3000);
    const before = readFileSync(`${workspace}/beat`, "utf8");
    await wait(300);
    say(`${name}: cancellation ends the command`, thrown && readFileSync(`${workspace}/beat`, "utf8") === before);
    rmSync(`${workspace}/beat`);
    const many = await Promise.all(Array.from({ length: 50 }, (_, i) => client.call({ name: "shell", arguments: { command: `echo ${i}` } })));
    say(`${name}: 50 calls at once`, many.every((r, i) => r.structuredContent.stdout === `${i}\n`));
  } catch (error) {
    say(`${name}: without an error`, false, String(error.stack ?? error));
  }
  await client?.close();
}
