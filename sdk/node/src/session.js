// SPDX-License-Identifier: Apache-2.0
// A session of the daemon: one sandbox for many commands.
//
// The session is created by the program, because its options are those of a run.  Captured commands go over the daemon's
// socket; commands with streams go through `corral session exec`, because Node cannot send descriptors over a socket.

import { Commands, feed } from "./commands.js";
import { request } from "./daemon.js";
import { UsageError } from "./errors.js";
import { OPTIONS, SESSION_OPTIONS, commandWords, placeOf, policyOf, text, words } from "./options.js";
import { Run, askWithPolicy } from "./process.js";

/** @import { Command, Result, RunOptions, SessionCommandOptions, SessionInfo, SessionOptions } from "../types/index.d.ts" */

/** @type {typeof OPTIONS} */
const COMMAND_OPTIONS = { cwd: OPTIONS.cwd, timeout: OPTIONS.timeout };

/** @param {Command} command */
function argvOf(command) {
  const [first, ...rest] = commandWords(command);
  return first === "-c" ? ["/bin/sh", "-c", ...rest] : rest;
}

/** @param {SessionCommandOptions} options */
function check(options) {
  const { signal, input, stdin, encoding, env, ...rest } = options;
  const given = words(rest, COMMAND_OPTIONS);
  const variables = Object.entries(env ?? {}).map(([name, value]) => {
    if (name === "" || name.includes("=")) throw new UsageError(`option env: ${JSON.stringify(name)} is not a name`);
    return `${name}=${text(`env.${name}`, value)}`;
  });
  return { signal, input, stdin: stdin ?? input !== undefined, given, variables };
}

export class Session extends Commands {
  #binary;
  #id;

  /**
   * Use Session.create or Session.attach.
   * @param {string} id
   * @param {string} binary
   */
  constructor(id, binary) {
    super();
    this.#id = id;
    this.#binary = binary;
  }

  /** @param {SessionOptions} [options] */
  static async create(options = {}) {
    const { binary = "corral", workspace, env, policy, ...rest } = options;
    const given = policyOf(policy, env), place = placeOf(workspace, binary);
    const line = words({ workspace: place.workspace, ...rest }, { ...OPTIONS, ...SESSION_OPTIONS });
    const made = await askWithPolicy(place, ["session", "create", "--json", ...line, ...given.words], given.document);
    return new Session(made.id, place.binary);
  }

  /**
   * @param {string} session an id or a name
   * @param {{ binary?: string }} [options]
   */
  static async attach(session, options = {}) {
    const shown = await request("session.show", { session });
    return new Session(shown.id, options.binary ?? "corral");
  }

  get id() {
    return this.#id;
  }

  /**
   * @param {Command} command
   * @param {SessionCommandOptions} [options]
   * @returns {Promise<Result>}
   */
  async run(command, options = {}) {
    const { encoding } = options;
    const { signal, stdin } = check(options);
    if (encoding === "buffer" || stdin) {
      const done = await this.bytes(command, { ...options, encoding: undefined });
      return encoding === "buffer" ? done : { ...done, stdout: done.stdout.toString(), stderr: done.stderr.toString() };
    }
    const answer = await request("session.exec", {
      session: this.#id, argv: argvOf(command), streams: "capture",
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.timeout === undefined ? {} : { timeout_ms: milliseconds(options.timeout) }),
      ...(options.env === undefined ? {} : { environment: options.env }),
    }, signal);
    return answer.result;
  }

  /**
   * @override
   * @param {Command} command
   * @param {SessionCommandOptions} [options]
   */
  spawn(command, options = {}) {
    const { signal, input, stdin, given, variables } = check(options);
    const env = variables.map(variable => `--env=${variable}`);
    const run = new Run(this.#binary, ["session", "exec", "--result-fd=3", ...given, ...env, this.#id, "--", ...argvOf(command)],
      { stdin, captured: false, signal });
    if (input !== undefined) feed(run, input);
    return run;
  }

  /** @returns {Promise<SessionInfo>} */
  async show() {
    return request("session.show", { session: this.#id });
  }

  /** Ends every process of the session. */
  async stop() {
    await request("session.stop", { session: this.#id });
  }

  /** Stops the session, unless it has ended already. */
  async [Symbol.asyncDispose]() {
    const { state } = await this.show();
    if (state !== "STOPPED" && state !== "FAILED") await this.stop();
  }
}

/** @param {string | number} time */
function milliseconds(time) {
  if (typeof time === "number" && Number.isInteger(time) && time > 0) return time;
  throw new UsageError("option timeout: in a session, a number of milliseconds expected");
}
