// SPDX-License-Identifier: Apache-2.0
// AI SDK: the object for `experimental_sandbox` of generateText and others.

import { FileError } from "../errors.js";
import { call, statusOf } from "./call.js";

/** @import { Experimental_SandboxSession } from "ai" */
/** @import { Commands } from "../../types/index.d.ts" */

/** @param {{ workingDirectory?: string, env?: Record<string, string>, abortSignal?: AbortSignal }} options */
function callOptions({ workingDirectory, env, abortSignal }) {
  return { cwd: workingDirectory, env, signal: abortSignal };
}

/**
 * null for a file that does not exist.
 * @template T
 * @param {Promise<T>} promise
 */
function orNull(promise) {
  return promise.catch((error) => {
    if (error instanceof FileError && error.code === "ENOENT") return null;
    throw error;
  });
}

/**
 * @param {string} text
 * @param {number | undefined} first
 * @param {number | undefined} last
 */
function lines(text, first = 1, last = Infinity) {
  return first === 1 && last === Infinity ? text : text.split(/(?<=\n)/).slice(first - 1, last).join("");
}

/** @param {string} text @param {string} encoding */
function encode(text, encoding) {
  if (!Buffer.isEncoding(encoding)) throw new TypeError(`unknown encoding ${encoding}`);
  return Buffer.from(text, encoding);
}

/** @param {Commands} commands */
function files(commands) {
  /** @type {Omit<Experimental_SandboxSession, "description" | "run" | "spawn">} */
  const operations = {
    async readFile({ path, abortSignal }) {
      const bytes = await orNull(commands.readFile(path, { signal: abortSignal }));
      return bytes === null ? null : new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)]).stream();
    },
    readBinaryFile: ({ path, abortSignal }) => orNull(commands.readFile(path, { signal: abortSignal })),
    async readTextFile({ path, encoding = "utf-8", startLine, endLine, abortSignal }) {
      const bytes = await orNull(commands.readFile(path, { signal: abortSignal }));
      return bytes === null ? null : lines(new TextDecoder(encoding).decode(bytes), startLine, endLine);
    },
    writeFile: ({ path, content, abortSignal }) =>
      commands.writeFile(path, /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (content)), { signal: abortSignal }),
    writeBinaryFile: ({ path, content, abortSignal }) => commands.writeFile(path, content, { signal: abortSignal }),
    writeTextFile: ({ path, content, encoding = "utf-8", abortSignal }) =>
      commands.writeFile(path, encode(content, encoding), { signal: abortSignal }),
    async stat({ path, abortSignal }) {
      const found = await orNull(commands.stat(path, { signal: abortSignal }));
      return found === null ? null : { type: found.type === "symlink" ? "other" : found.type, size: found.size };
    },
    async listDirectory({ path, abortSignal }) {
      const entries = await orNull(commands.listDirectory(path, { signal: abortSignal }));
      return entries === null ? null : entries.map(({ name, type }) => ({ name, type }));
    },
    deleteFile: ({ path, abortSignal }) =>
      commands.removeFile(path, { signal: abortSignal }).then(() => true, (error) => {
        if (error instanceof FileError && error.code === "ENOENT") return false;
        throw error;
      }),
  };
  return operations;
}

/**
 * @param {Commands} commands
 * @param {{ description?: string }} [options]
 * @returns {Experimental_SandboxSession}
 */
export function corralSandbox(commands, options = {}) {
  /** @param {import("ai").Experimental_SandboxSession extends { spawn: infer S } ? any : never} how */
  async function spawn(how) {
    const process = commands.spawn(how.command, { ...callOptions(how), stdin: how.stdin === true });
    return {
      pid: process.pid,
      stdout: process.stdoutWeb,
      stderr: process.stderrWeb,
      ...(how.stdin === true ? { stdin: process.stdinWeb } : {}),
      wait: () => process.result.then((result) => ({ exitCode: statusOf(result) }), (error) => {
        throw how.abortSignal?.aborted ? how.abortSignal.reason : error;
      }),
      kill: async () => process.kill(),
    };
  }
  return {
    description: options.description ?? "Commands run in a Corral sandbox: files outside of the workspace are read-only or hidden, "
      + "and hosts are refused unless the user allowed them. Lines that begin with \"corral:\" explain a refusal.",
    ...files(commands),
    spawn: /** @type {Experimental_SandboxSession["spawn"]} */ (spawn),
    async run(how) {
      const { stdout, stderr, exitCode } = await call(commands, how.command, callOptions(how));
      return { stdout, stderr, exitCode };
    },
  };
}
