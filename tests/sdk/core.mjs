// SPDX-License-Identifier: Apache-2.0
// The npm package itself: node core.mjs [--sessions]
import { deepStrictEqual, ok } from "node:assert";
import { spawn as startProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { AbortError, BinaryNotFoundError, DaemonError, FileError, RefusedError, Sandbox, Session, SetupError, UsageError, explain, run, spawn } from "@corral/sandbox";
import { corralSandbox } from "@corral/sandbox/bash-tool";
import { binary, connections, equal, fails, finish, mark, marked, test, until, workspace } from "./harness.mjs";

const at = { binary, workspace };
const sandbox = new Sandbox(at);
const key = `${process.env.HOME}/.ssh/id_rsa`;
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const FACE = "\u{1f600} ñ 中";

await test("run: the result of a shell string and of a list", async () => {
  const result = await run("echo out; echo err >&2; exit 3", at);
  deepStrictEqual([result.reason, result.exit_code, result.stdout, result.stderr], ["exit", 3, "out\n", "err\n"]);
  equal(result.level, process.env.LEVEL);
  ok(result.guarantees.some(({ name, state }) => name === "fs.write" && state === "enforced"));
  equal((await run(["printf", "%s|", "$HOME", "a b", "; id", ""], at)).stdout, "$HOME|a b|; id||");
  equal((await run(["--version"], at).catch((error) => error.constructor)), SetupError);
});

await test("run: unicode in arguments, variables, input, names and output", async () => {
  const result = await run(["sh", "-c", 'cat; printf %s "$1$NAME"; touch -- "$1"', "sh", FACE], { ...at, input: FACE, env: { NAME: FACE } });
  equal(result.stdout, FACE + FACE + FACE);
  ok(readdirSync(workspace).includes(FACE));
  deepStrictEqual((await sandbox.listDirectory(".")).filter(({ name }) => name === FACE).map(({ type }) => type), ["file"]);
});

await test("run: binary output, and output that is not UTF-8 as text", async () => {
  const result = await run(["cat"], { ...at, input: ALL_BYTES, encoding: "buffer" });
  ok(ALL_BYTES.equals(result.stdout));
  equal((await run(["printf", "a\\377b"], at)).stdout, "a�b");
});

await test("run: a text is cut as Corral cuts it, bytes are complete", async () => {
  const script = "head -c 5000000 /dev/zero | tr '\\0' x; head -c 5000000 /dev/zero | tr '\\0' y >&2";
  const cut = await run(script, { ...at, maxOutput: 100_000 });
  ok(cut.stdout.length <= 100_200 && cut.truncated.stdout >= 4_899_000, `${cut.stdout.length} ${cut.truncated.stdout}`);
  const whole = await run(script, { ...at, encoding: "buffer" });
  deepStrictEqual([whole.stdout.length, whole.stderr.length, whole.stdout.at(-1), whole.stderr.at(-1)], [5e6, 5e6, 0x78, 0x79]);
});

await test("a credential of HOME is refused, and the result records it", async () => {
  equal(readFileSync(key, "utf8"), "PRIVATE\n", "the control outside");
  const result = await run(["cat", key], { ...at, denials: "all" });
  ok(result.exit_code !== 0 && !result.stdout.includes("PRIVATE"), result.stdout);
  const denial = result.denials.find(({ path }) => path === key);
  deepStrictEqual([denial?.access, denial?.allow_with], ["read", null]);
  ok(explain(result).includes(key));
  writeFileSync(`${workspace}/own`, "PUBLIC\n");
  equal((await run(["cat", "own"], at)).stdout, "PUBLIC\n", "the twin inside");
});

await test("a write to a protected file is refused, and the host's file is as it was", async () => {
  writeFileSync(`${workspace}/guarded`, "kept");
  const result = await run("echo changed >guarded", { ...at, protect: "guarded" });
  ok(result.exit_code !== 0);
  equal(readFileSync(`${workspace}/guarded`, "utf8"), "kept");
  equal(result.denials[0]?.path, `${workspace}/guarded`);
  deepStrictEqual((await run("echo changed >guarded", at)).denials, []);
  equal(readFileSync(`${workspace}/guarded`, "utf8"), "changed\n");
});

await test("a host that is not allowed is refused, and the server sees nothing", async () => {
  const port = process.env.PORT, script = ["curl", "-s", "-m", "10", `http://127.0.0.1:${port}/`];
  const before = connections();
  equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "served\n", "the control outside");
  await until(() => connections() === before + 1, "the control's connection");
  const result = await run(script, at);
  ok(result.exit_code !== 0 && result.stdout === "");
  equal(connections(), before + 1);
  deepStrictEqual(result.denials.map(({ op, allow_with }) => `${op} ${allow_with}`), [`connect --host-port ${port}`]);
  equal((await run(script, { ...at, hostPort: Number(port) })).stdout, "served\n", "the twin inside");
});

await test("abort ends grandchildren too", async () => {
  const sign = mark(), controller = new AbortController();
  const running = run(`trap '' TERM; (setsid sleep ${sign} &); sleep ${sign}`, { ...at, signal: controller.signal, grace: 100 });
  await until(() => marked(sign).length >= 2, "the processes run");
  controller.abort(new Error("enough"));
  const error = await fails(running, AbortError);
  deepStrictEqual([error.name, error.cause.message, error.result?.reason], ["AbortError", "enough", "cancelled"]);
  deepStrictEqual(marked(sign), []);
  await fails(run("true", { ...at, signal: AbortSignal.abort(new Error("before")) }), Error, /before/);
});

await test("a time-out is a result, and ends everything", async () => {
  const sign = mark();
  const result = await run(`setsid sleep ${sign} & echo begun; wait`, { ...at, timeout: 1500, grace: 100 });
  deepStrictEqual([result.reason, result.exit_code, result.stdout], ["timeout", null, "begun\n"]);
  deepStrictEqual(marked(sign), []);
});

await test("the death of the caller ends the run", async () => {
  const sign = mark();
  const source = `import { run } from "@corral/sandbox"; await run("sleep ${sign}", { binary: process.argv[1], workspace: process.argv[2], grace: 100 });`;
  const child = startProcess(process.execPath, ["--input-type=module", "-e", source, binary, workspace], { stdio: "ignore", cwd: new URL(".", import.meta.url).pathname });
  await until(() => marked(sign).length >= 3, "the command runs");
  child.kill("SIGKILL");
  await until(() => marked(sign).length === 0, "everything has ended");
});

await test("fifty at once", async () => {
  const results = await Promise.all(Array.from({ length: 50 }, (_, i) => run(["sh", "-c", 'echo "$1"; exit "$1"', "sh", `${i}`], at)));
  deepStrictEqual(results.map(({ exit_code, stdout }) => `${exit_code} ${stdout}`), results.map((_, i) => `${i} ${i}\n`));
  equal(new Set(results.map(({ id }) => id)).size, 50);
});

await test("spawn: streams of both kinds, stdin, kill", async () => {
  const echo = spawn("read line; echo \"got $line\"; cat >&2; exit 4", { ...at, stdin: true });
  echo.stdin.write("one\n");
  const [first] = await once(echo.stdout, "data");
  equal(first.toString(), "got one\n");
  echo.stdin.end("rest");
  let text = "";
  for await (const chunk of echo.stderr) text += chunk;
  const result = await echo.result;
  deepStrictEqual([text, result.exit_code, result.stdout], ["rest", 4, null]);
  const web = spawn(["sh", "-c", "tr a b"], { ...at, stdin: true });
  const writer = web.stdinWeb.getWriter();
  await writer.write(Buffer.from("banana"));
  await writer.close();
  equal(await new Response(web.stdoutWeb).text(), "bbnbnb");
  const sign = mark(), endless = spawn(`echo begun; setsid sleep ${sign}`, { ...at, grace: 100 });
  endless.stdout.resume();
  await until(() => marked(sign).length > 0, "the command runs");
  await endless[Symbol.asyncDispose]();
  deepStrictEqual([(await endless.result).reason, marked(sign)], ["cancelled", []]);
});

await test("stdin is empty without an input, and an input may be a stream", async () => {
  equal((await run(["cat"], at)).stdout, "");
  const parts = (async function* () { for (let i = 0; i < 100; i++) yield Buffer.alloc(10_000, 0x61); })();
  equal((await run(["wc", "-c"], { ...at, input: parts })).stdout.trim(), "1000000");
  equal((await run(["true"], { ...at, input: Buffer.alloc(10_000_000) })).exit_code, 0, "a command that reads nothing");
});

await test("variables are not in the list of processes", async () => {
  const sign = mark(), secret = `s3cret${sign}`;
  const running = spawn(`sleep 0.2; echo $TOKEN; sleep ${sign}`, { ...at, env: { TOKEN: secret }, grace: 100 });
  const [chunk] = await once(running.stdout, "data");
  equal(chunk.toString(), `${secret}\n`);
  deepStrictEqual(marked(secret), []);
  await running[Symbol.asyncDispose]();
});

await test("errors are typed, and nothing runs", async () => {
  await fails(run("true", { binary: "/no/such/corral" }), BinaryNotFoundError, /binary/);
  await fails(run("touch ran", { ...at, netwrok: "none" }), UsageError, /netwrok/);
  await fails(run("touch ran", { ...at, constructor: 1 }), UsageError, /constructor/);
  await fails(run("touch ran", { ...at, net: "some" }), UsageError, /net/);
  await fails(run("touch ran", { ...at, cow: "yes" }), UsageError, /cow/);
  await fails(run("touch ran", { ...at, timeout: -1 }), UsageError, /timeout/);
  await fails(run(["touch", "ran\0"], at), UsageError, /NUL/);
  await fails(run([], at), UsageError, /empty/);
  await fails(run("touch ran", { ...at, write: "/no/such/directory" }), UsageError, /no\/such/);
  const missing = await fails(run(["no-such-program"], at), SetupError, /no-such-program/);
  equal(missing.result?.reason, "setup");
  const refused = await fails(run(["touch", "ran"], { ...at, policy: { commands: { default: "deny" } } }), RefusedError);
  ok(refused.result?.denials[0]?.command?.includes("touch") && refused.remedy !== null, JSON.stringify(refused.result));
  ok(!existsSync(`${workspace}/ran`));
});

/** @param {import("@corral/sandbox").Commands} commands */
async function files(commands) {
  await commands.writeFile("new/a b/-f", ALL_BYTES);
  ok(ALL_BYTES.equals(await commands.readFile("new/a b/-f")) && ALL_BYTES.equals(readFileSync(`${workspace}/new/a b/-f`)));
  const found = await commands.stat("new/a b/-f");
  deepStrictEqual([found.type, found.size], ["file", 256]);
  await commands.writeFile("new/line\nbreak", "x");
  deepStrictEqual((await commands.listDirectory("new")).map(({ name, type }) => `${type} ${name}`).sort(), ["directory a b", "file line\nbreak"]);
  equal((await fails(commands.readFile("none"), FileError)).code, "ENOENT");
  equal((await fails(commands.readFile("new"), FileError)).code, "EISDIR");
  equal((await fails(commands.writeFile("new", ""), FileError)).code, "EISDIR");
  equal((await fails(commands.listDirectory("new/a b/-f"), FileError)).code, "ENOTDIR");
  await fails(commands.writeFile("/etc/corral-test/x", "x"), FileError);
  await fails(commands.readFile(key), FileError);
  await commands.removeFile("new/line\nbreak");
  await commands.makeDirectory("new/deep/er");
  deepStrictEqual([await commands.exists("new/line\nbreak"), await commands.exists("new/deep/er")], [false, true]);
  equal((await commands.run(["rm", "-r", "new"])).exit_code, 0);
}

await test("files have the access of a command", () => files(sandbox));

await test("the adapter of bash-tool by its interface", async () => {
  const adapted = corralSandbox(sandbox);
  await adapted.writeFiles([{ path: "w/one", content: "1\n" }, { path: "w/two", content: Buffer.from("2\n") }]);
  deepStrictEqual(await adapted.executeCommand("cat w/one w/two; exit 3"), { stdout: "1\n2\n", stderr: "", exitCode: 3 });
  equal(await adapted.readFile("w/two"), "2\n");
  const refused = await corralSandbox(new Sandbox({ ...at, protect: "w" })).executeCommand("echo x >w/one");
  ok(refused.exitCode !== 0 && refused.stderr.includes("corral: refused: open"), refused.stderr);
  equal(readFileSync(`${workspace}/w/one`, "utf8"), "1\n");
});

if (process.argv.includes("--sessions")) {
  await test("session: commands share /tmp and processes until it stops", async () => {
    const sign = mark(), session = await Session.create({ ...at, name: "sdk-node", env: { KEPT: FACE } });
    const first = await session.run('echo "$KEPT $MORE" >$TMPDIR/f; pwd; exit 5', { env: { MORE: "m" }, cwd: "/" });
    deepStrictEqual([first.exit_code, first.stdout, first.session], [5, "/\n", session.id]);
    equal((await (await Session.attach("sdk-node", { binary })).run("cat $TMPDIR/f")).stdout, `${FACE} m\n`);
    const piped = await session.run(["cat"], { input: ALL_BYTES, encoding: "buffer" });
    ok(ALL_BYTES.equals(piped.stdout));
    const stream = session.spawn("cat; exit 6", { stdin: true, env: { A: "b" } });
    stream.stdin.end("streamed");
    deepStrictEqual([await new Response(stream.stdoutWeb).text(), (await stream.result).exit_code], ["streamed", 6]);
    equal((await session.run(`sleep ${mark()}`, { timeout: 500 })).reason, "timeout");
    await session.run(`setsid sleep ${sign} >/dev/null 2>&1 &`);
    ok(marked(sign).length > 0);
    await session[Symbol.asyncDispose]();
    await until(() => marked(sign).length === 0, "its processes have ended");
    equal((await session.show()).state, "STOPPED");
    await session[Symbol.asyncDispose]();
    await fails(session.run("true"), DaemonError, /STOPPED/);
  });

  await test("session: files, aborts, errors", async () => {
    const session = await Session.create(at);
    await files(session);
    for (const start of [(how) => session.run(how.script, how.options), (how) => { const s = session.spawn(how.script, how.options); s.stdout.resume(); return s.result; }]) {
      const sign = mark(), controller = new AbortController();
      const running = start({ script: `setsid sleep ${sign} & wait`, options: { signal: controller.signal } });
      await until(() => marked(sign).length > 0, "the command runs");
      controller.abort();
      await fails(running, AbortError);
      await until(() => marked(sign).length === 0, "its processes have ended");
    }
    const many = await Promise.all(Array.from({ length: 20 }, (_, i) => session.run(`exit ${i}`)));
    deepStrictEqual(many.map(({ exit_code }) => exit_code), many.map((_, i) => i));
    await fails(session.run(["no-such-program"]), SetupError, /no-such-program/);
    await fails(session.run("true", { allowHost: "a.example" }), UsageError, /allowHost/);
    await fails(Session.attach("no-such-session"), DaemonError, /no-such-session/);
    await fails(Session.create({ ...at, read: "/no/such/path" }), UsageError, /no\/such\/path/);
    await session.stop();
    const runtime = process.env.XDG_RUNTIME_DIR;
    process.env.XDG_RUNTIME_DIR = workspace;
    await fails(Session.attach("x"), DaemonError, /corral daemon/);
    process.env.XDG_RUNTIME_DIR = runtime;
  });
}
finish();
