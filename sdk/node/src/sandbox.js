// SPDX-License-Identifier: Apache-2.0
// One run for each command: `corral run`.

import { Commands, feed } from "./commands.js";
import { OPTIONS, commandWords, placeOf, policyOf, words } from "./options.js";
import { Run, collect } from "./process.js";

/** @import { Command, Options, Result, RunOptions } from "../types/index.d.ts" */

/**
 * @param {Command} command
 * @param {Options & RunOptions} options
 */
function prepare(command, options) {
  const { binary = "corral", workspace, signal, input, stdin, encoding, env, policy, ...rest } = options;
  const given = policyOf(policy, env), place = placeOf(workspace, binary);
  return {
    binary: place.binary, cwd: place.cwd, signal, input, encoding, stdin: stdin ?? input !== undefined, document: given.document,
    words: [...words({ workspace: place.workspace, ...rest }, OPTIONS), ...given.words],
    command: commandWords(command),
  };
}

/**
 * Starts a command whose streams are the caller's.
 * @param {Command} command
 * @param {Options & RunOptions} [options]
 */
export function spawn(command, options = {}) {
  const p = prepare(command, options);
  const run = new Run(p.binary, ["run", "--result-fd=3", ...p.words, ...p.command],
    { stdin: p.stdin, captured: false, document: p.document, signal: p.signal, cwd: p.cwd });
  if (p.input !== undefined) feed(run, p.input);
  return run;
}

/**
 * Runs a command and waits for its result.
 * @param {Command} command
 * @param {Options & RunOptions} [options]
 * @returns {Promise<Result>}
 */
export async function run(command, options = {}) {
  const p = prepare(command, options);
  if (p.encoding === "buffer") {
    const process = spawn(command, { ...options, encoding: undefined });
    const [result, stdout, stderr] = await Promise.all([process.result, collect(process.stdout), collect(process.stderr)]);
    return { ...result, stdout, stderr };
  }
  const process = new Run(p.binary, ["run", "--json", "--result-fd=3", ...(p.stdin ? ["--stdin"] : []), ...p.words, ...p.command],
    { stdin: p.stdin, captured: true, document: p.document, signal: p.signal, cwd: p.cwd });
  if (p.input !== undefined) feed(process, p.input);
  return process.result;
}

/** Options for many runs.  Each command has a sandbox of its own; the workspace is what they share. */
export class Sandbox extends Commands {
  #options;

  /** @param {Options} [options] */
  constructor(options = {}) {
    super();
    prepare("true", options); // a wrong option is an error here, and not at the first command
    this.#options = options;
  }

  /**
   * @param {Options & RunOptions} options
   * @returns {Options & RunOptions}
   */
  #merge(options) {
    return { ...this.#options, ...options, env: { ...this.#options.env, ...options.env } };
  }

  /**
   * @override
   * @param {Command} command
   * @param {Options & RunOptions} [options]
   */
  spawn(command, options = {}) {
    return spawn(command, this.#merge(options));
  }

  /**
   * @param {Command} command
   * @param {Options & RunOptions} [options]
   */
  async run(command, options = {}) {
    return run(command, this.#merge(options));
  }
}
