// SPDX-License-Identifier: Apache-2.0
// One process of `corral` for one command.
//
// Descriptor 3 of that process is a socket: Corral writes the result to it, and the run ends when this program shuts it
// down or ends, also by SIGKILL.  Descriptor 4 carries the policy, if there is one.

import { spawn as startProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { AbortError, BinaryNotFoundError, SetupError, UsageError, failureOf } from "./errors.js";

/** @import { Result, SpawnedProcess } from "../types/index.d.ts" */
/** @import { ChildProcess } from "node:child_process" */
/** @import { Socket } from "node:net" */

const CANCELLED = "cancelled by the caller"; // the message of `corral session exec`

/**
 * @param {Readable | null} stream
 * @returns {Promise<Buffer>}
 */
export async function collect(stream) {
  const chunks = [];
  if (stream !== null) for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** An EPIPE is the reader's end: the exit status tells the rest.
 * @param {Writable} stream */
function ignoreErrors(stream) {
  stream.on("error", () => {});
}

/**
 * @param {unknown} error
 * @param {string} binary
 */
function notStarted(error, binary) {
  const code = /** @type {NodeJS.ErrnoException} */ (error).code;
  return code === "ENOENT" || code === "EACCES"
    ? new BinaryNotFoundError(`cannot start ${binary}: ${code}`, { remedy: "install Corral, or pass the option binary", cause: error })
    : new SetupError(`cannot start ${binary}: ${code}`, { cause: error });
}

/**
 * @param {string} binary
 * @param {string[]} words
 * @param {{ stdin: boolean, output: boolean, document: string | null, cwd?: string }} how
 */
function start(binary, words, how) {
  const stdin = how.stdin ? "pipe" : "ignore";
  const output = how.output ? "pipe" : "ignore";
  const policy = how.document === null ? "ignore" : "pipe";
  return startProcess(binary, words, { stdio: [stdin, output, "pipe", "pipe", policy], cwd: how.cwd });
}

/**
 * @param {Readable | null} stream
 * @returns {ReadableStream<Uint8Array> | undefined}
 */
function webReadable(stream) {
  return stream === null ? undefined : /** @type {ReadableStream<Uint8Array>} */ (Readable.toWeb(stream));
}

/**
 * @param {Writable | null} stream
 * @returns {WritableStream<Uint8Array> | undefined}
 */
function webWritable(stream) {
  return stream === null ? undefined : /** @type {WritableStream<Uint8Array>} */ (Writable.toWeb(stream));
}

/** @implements {SpawnedProcess} */
export class Run {
  /** @type {ChildProcess} */ #child;
  /** @type {Socket} */ #channel;
  /** @type {{ stdout?: ReadableStream<Uint8Array>, stderr?: ReadableStream<Uint8Array>, stdin?: WritableStream<Uint8Array> }} */
  #web = {};
  #exited = false;

  /**
   * @param {string} binary
   * @param {string[]} words
   * @param {{ stdin: boolean, captured: boolean, document?: string | null, signal?: AbortSignal, cwd?: string }} how
   */
  constructor(binary, words, how) {
    how.signal?.throwIfAborted();
    const [verb, ...rest] = words;
    const document = how.document ?? null;
    this.#child = start(binary, [verb, ...(document === null ? [] : ["--policy=fd:4"]), ...rest],
      { stdin: how.stdin, output: !how.captured, document, cwd: how.cwd });
    /** @type {Writable | null} */
    this.stdin = this.#child.stdin ?? null; // undefined without free descriptors
    /** @type {Readable | null} */
    this.stdout = this.#child.stdout ?? null;
    /** @type {Readable | null} */
    this.stderr = this.#child.stderr ?? null;
    this.#channel = /** @type {Socket} */ (this.#child.stdio?.[3]);
    if (this.stdin !== null) ignoreErrors(this.stdin);
    /** @type {Promise<Result>} */
    this.result = this.#finish(binary, how.captured, how.signal);
    this.result.catch(() => {}); // the caller may never look
    if (document !== null && this.#child.pid !== undefined) {
      const policy = /** @type {Socket} */ (this.#child.stdio[4]);
      ignoreErrors(policy);
      policy.end(document);
    }
  }

  /** The process id of the supervisor, which is `corral`; undefined if it could not be started. */
  get pid() {
    return this.#child.pid;
  }

  /**
   * @param {string} binary
   * @param {boolean} captured
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<Result>}
   */
  async #finish(binary, captured, signal) {
    const abort = () => this.kill();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const ended = new Promise((resolve, reject) => {
        this.#child.once("error", reject);
        this.#child.once("exit", (code, number) => resolve(code ?? number));
      });
      if (this.#child.pid === undefined) await ended; // rejects
      this.#channel.on("error", () => {});
      // Without a reader of its stderr Corral's own messages, such as usage errors, are kept here.
      const [code, text, said] = await Promise.all([
        ended, collect(this.#channel), captured ? collect(this.stderr) : Buffer.alloc(0),
      ]);
      this.#exited = true;
      return this.#judge(code, text.toString(), said.toString(), signal);
    } catch (error) {
      this.#exited = true;
      if (/** @type {NodeJS.ErrnoException} */ (error).syscall?.startsWith("spawn")) throw notStarted(error, binary);
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * @param {number | string} code
   * @param {string} text
   * @param {string} said
   * @param {AbortSignal | undefined} signal
   * @returns {Result}
   */
  #judge(code, text, said, signal) {
    /** @type {Result | null} */
    const result = text === "" ? null : JSON.parse(text);
    if (signal?.aborted && (result === null || result.reason === "cancelled" || result.error != null)) {
      throw new AbortError("the run was aborted", { cause: signal.reason, result });
    }
    if (result === null) {
      const message = said.trim() || `corral ended with ${code} and no result`;
      throw code === 2 ? new UsageError(message) : new SetupError(message);
    }
    if (result.error?.message === CANCELLED) throw new AbortError("the command was killed", { result });
    const failure = failureOf(result);
    if (failure !== null) throw failure;
    return result;
  }

  /** Ends the command and all of its processes: SIGTERM, the grace period, SIGKILL. */
  kill() {
    if (!this.#exited && this.#child.pid !== undefined) this.#channel.end();
  }

  /** stdout as a web stream; use either this or `stdout`. */
  get stdoutWeb() {
    return (this.#web.stdout ??= webReadable(this.stdout));
  }

  get stderrWeb() {
    return (this.#web.stderr ??= webReadable(this.stderr));
  }

  get stdinWeb() {
    return (this.#web.stdin ??= webWritable(this.stdin));
  }

  async [Symbol.asyncDispose]() {
    this.kill();
    this.stdout?.resume();
    this.stderr?.resume();
    await this.result.catch(() => {});
  }
}

/**
 * Runs `corral` for its stdout: the verbs that are about no command.
 * @param {{ binary: string, cwd?: string }} place
 * @param {string[]} words
 * @returns {Promise<any>}
 */
async function ask({ binary, cwd }, words) {
  const child = start(binary, words, { stdin: false, output: true, document: null, cwd });
  const ended = new Promise((resolve, reject) => {
    child.once("error", (error) => reject(notStarted(error, binary)));
    child.once("exit", (code, number) => resolve(code ?? number));
  });
  if (child.pid === undefined) await ended; // rejects
  const [code, out, said] = await Promise.all([ended, collect(child.stdout), collect(child.stderr)]);
  if (code !== 0) {
    const message = said.toString().trim() || `corral ended with ${code}`;
    throw code === 2 ? new UsageError(message) : new SetupError(message);
  }
  return JSON.parse(out.toString());
}

/**
 * The same with a policy in a file that only this user can read: the daemon reads it, and then it is removed.
 * @param {{ binary: string, cwd?: string }} place
 * @param {string[]} words
 * @param {string | null} document
 */
export async function askWithPolicy(place, words, document) {
  if (document === null) return ask(place, words);
  const directory = await mkdtemp(join(tmpdir(), "corral-"));
  try {
    await writeFile(join(directory, "policy.json"), document, { mode: 0o600 });
    return await ask(place, [...words, `--policy=${join(directory, "policy.json")}`]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
