// SPDX-License-Identifier: Apache-2.0
// Mastra: a sandbox for `new Workspace({ sandbox })`.

import { randomUUID } from "node:crypto";
import { MastraSandbox, SandboxTimeoutError, validateSandboxFileMode } from "@mastra/core/workspace";
import { call, stream } from "./call.js";

/** @import { CommandResult, ExecuteCommandOptions, ProviderStatus, SandboxFileInput } from "@mastra/core/workspace" */
/** @import { Commands } from "../../types/index.d.ts" */

/** @param {NodeJS.ProcessEnv | undefined} env */
function variables(env) {
  return Object.fromEntries(Object.entries(env ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

export class CorralSandbox extends MastraSandbox {
  #commands;

  /**
   * @param {Commands} commands
   * @param {{ id?: string, instructions?: string }} [options]
   */
  constructor(commands, options = {}) {
    super({ name: "CorralSandbox" });
    this.#commands = commands;
    /** @type {string} */
    this.id = options.id ?? `corral-${randomUUID()}`;
    this.name = "Corral";
    this.provider = "corral";
    /** @type {ProviderStatus} */
    this.status = "pending";
    this.instructions = options.instructions
      ?? "Files outside of the workspace are read-only or hidden, and hosts are refused unless the user allowed them.";
  }

  /** @override */
  async start() {
    // A run has its own sandbox, and a session began before: there is nothing to start.
  }

  /** @override */
  getInstructions() {
    return this.instructions;
  }

  /** @override */
  getInfo() {
    return { id: this.id, name: this.name, provider: this.provider, status: this.status, createdAt: this.created };
  }

  created = new Date();

  /**
   * With arguments no shell is started: the command is the program.
   * @override
   * @param {string} command
   * @param {string[]} [args]
   * @param {ExecuteCommandOptions} [options]
   * @returns {Promise<CommandResult>}
   */
  async executeCommand(command, args = [], options = {}) {
    await this.ensureRunning();
    const words = args.length === 0 ? command : [command, ...args];
    const how = {
      cwd: options.cwd, env: { ...variables(this.getEnv()), ...variables(options.env) },
      timeout: options.timeout, signal: options.abortSignal,
    };
    const done = options.onStdout === undefined && options.onStderr === undefined
      ? await call(this.#commands, words, how)
      : await stream(this.#commands, words, how, { stdout: options.onStdout, stderr: options.onStderr });
    if (done.timedOut && options.timeout !== undefined) throw new SandboxTimeoutError(options.timeout, "command");
    return {
      command, args, success: done.exitCode === 0, exitCode: done.exitCode, stdout: done.stdout, stderr: done.stderr,
      executionTimeMs: done.result?.duration_ms ?? 0, timedOut: done.timedOut, killed: done.result?.signal != null,
      stdoutDroppedBytes: done.result?.truncated.stdout ?? 0, stderrDroppedBytes: done.result?.truncated.stderr ?? 0,
    };
  }

  /**
   * @override
   * @param {SandboxFileInput[]} files
   * @param {{ abortSignal?: AbortSignal }} [options]
   */
  async writeFiles(files, options = {}) {
    for (const { path, content, mode } of files) {
      if (mode !== undefined) validateSandboxFileMode(mode);
      await this.#commands.writeFile(path, content, { signal: options.abortSignal });
      if (mode === undefined) continue;
      const { exitCode, stderr } = await call(this.#commands, ["chmod", "--", mode.toString(8), path], { signal: options.abortSignal });
      if (exitCode !== 0) throw new Error(stderr);
    }
  }
}
