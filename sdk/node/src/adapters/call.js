// SPDX-License-Identifier: Apache-2.0
// What the adapters share: a command's end as numbers and text that a model can read.

import { RefusedError } from "../errors.js";
import { explain } from "../explain.js";

/** @import { Command, CommandOptions, Commands, Result, RunOptions } from "../../types/index.d.ts" */

const REFUSED = 126, TIMED_OUT = 124, SIGNAL = 128, KILLED = SIGNAL + 9;

/** The exit status as a shell has it. @param {Result} result */
export function statusOf(result) {
  if (result.reason === "timeout" || result.reason === "idle") return TIMED_OUT;
  if (result.exit_code !== null) return result.exit_code;
  return result.signal === null ? KILLED : SIGNAL + result.signal;
}

/**
 * What Corral refused follows the command's stderr.
 * @param {Result} result
 * @param {string} stdout
 * @param {string} stderr
 */
function ended(result, stdout, stderr) {
  return {
    stdout, stderr: stderr + explain(result), exitCode: statusOf(result), result,
    timedOut: result.reason === "timeout" || result.reason === "idle",
    truncated: result.truncated.stdout + result.truncated.stderr > 0,
  };
}

/**
 * A command that a rule forbids is a failed command; other errors, such as a host without a sandbox, are thrown: no model
 * can solve them.
 * @param {unknown} error
 */
function refused(error) {
  if (!(error instanceof RefusedError)) throw error;
  return { stdout: "", stderr: `corral: ${error.message}\n`, exitCode: REFUSED, result: error.result, timedOut: false, truncated: false };
}

/**
 * Runs a command and waits for its end.
 * @param {Commands} commands
 * @param {Command} command
 * @param {RunOptions & CommandOptions} [options]
 */
export async function call(commands, command, options = {}) {
  return commands.run(command, { ...options, encoding: "utf8" }).then((result) => ended(result, result.stdout, result.stderr), refused);
}

/**
 * The same, with the output as it comes.
 * @param {Commands} commands
 * @param {Command} command
 * @param {RunOptions & CommandOptions} options
 * @param {{ stdout?: (text: string) => void, stderr?: (text: string) => void }} tell
 */
export async function stream(commands, command, options, tell) {
  const process = commands.spawn(command, options);
  /** @param {"stdout" | "stderr"} name */
  const read = async (name) => {
    const decoder = new TextDecoder(), parts = [];
    for await (const chunk of process[name] ?? []) {
      parts.push(decoder.decode(chunk, { stream: true }));
      tell[name]?.(parts[parts.length - 1]);
    }
    return parts.join("") + decoder.decode();
  };
  const [stdout, stderr] = await Promise.all([read("stdout"), read("stderr")]);
  return process.result.then((result) => ended(result, stdout, stderr), refused);
}
