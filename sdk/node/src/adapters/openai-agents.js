// SPDX-License-Identifier: Apache-2.0
// OpenAI Agents: a shell for `shellTool({ shell })`, and a client for `SandboxAgent`.

import { applyDiff } from "@openai/agents";
import { Manifest, normalizeSandboxClientCreateArgs } from "@openai/agents/sandbox";
import { FileError, UsageError } from "../errors.js";
import { Sandbox } from "../sandbox.js";
import { call } from "./call.js";

/** @import { Editor, Shell } from "@openai/agents" */
/** @import { Entry, ExecCommandArgs, SandboxClient, SandboxClientCreateArgs } from "@openai/agents/sandbox" */
/** @import { SandboxExecResult, SandboxSession, SandboxSessionState } from "@openai/agents/sandbox" */
/** @import { Commands, Options } from "../../types/index.d.ts" */

const BYTES_PER_TOKEN = 4;
const TYPES = /** @type {const} */ ({ file: "file", directory: "dir", symlink: "other", other: "other" });

/** @param {string} text @param {number | undefined} most */
function cut(text, most) {
  return most === undefined || text.length <= most ? text : `${text.slice(0, most)}\n[cut: ${text.length - most} more characters]`;
}

/**
 * @param {Commands} commands
 * @returns {Shell}
 */
export function corralShell(commands) {
  return {
    async run({ commands: list, timeoutMs, maxOutputLength }) {
      const output = [];
      for (const command of list) {
        const done = await call(commands, command, { timeout: timeoutMs ?? undefined });
        output.push({
          stdout: cut(done.stdout, maxOutputLength ?? undefined),
          stderr: cut(done.stderr, maxOutputLength ?? undefined),
          outcome: done.timedOut
            ? { type: /** @type {const} */ ("timeout") }
            : { type: /** @type {const} */ ("exit"), exitCode: done.exitCode },
        });
      }
      return maxOutputLength == null ? { output } : { output, maxOutputLength };
    },
  };
}

/** @param {string | undefined} runAs */
function refuseUser(runAs) {
  if (runAs !== undefined) throw new UsageError("runAs is not supported: commands run as the user of this process");
}

/**
 * @param {Commands} commands
 * @param {string} root
 * @returns {Editor}
 */
function editorOf(commands, root) {
  /** @param {string} path */
  const place = (path) => (path.startsWith("/") ? path : `${root}/${path}`);
  return {
    async createFile({ path, diff }) {
      await commands.writeFile(place(path), applyDiff("", diff, "create"));
      return { status: "completed" };
    },
    async updateFile(operation) {
      const { path, diff } = operation, moved = "moveTo" in operation ? operation.moveTo : undefined;
      const text = applyDiff(await commands.readText(place(path)), diff);
      await commands.writeFile(place(typeof moved === "string" ? moved : path), text);
      if (typeof moved === "string" && moved !== path) await commands.removeFile(place(path));
      return { status: "completed" };
    },
    async deleteFile({ path }) {
      await commands.removeFile(place(path));
      return { status: "completed" };
    },
  };
}

/**
 * Writes the files of a manifest; other kinds of entries are an error.
 * @param {Commands} commands
 * @param {string} path
 * @param {Entry} entry
 */
async function materialize(commands, path, entry) {
  if (entry.type === "file") {
    await commands.writeFile(path, entry.content);
  } else if (entry.type === "dir") {
    await commands.makeDirectory(path);
    for (const [name, child] of Object.entries(entry.children ?? {})) await materialize(commands, `${path}/${name}`, child);
  } else {
    throw new UsageError(`the manifest entry ${path} has the type ${entry.type}; file and dir are supported`);
  }
}

/** @implements {SandboxSession} */
export class CorralSandboxSession {
  #commands;

  /**
   * @param {Commands} commands
   * @param {SandboxSessionState} state
   */
  constructor(commands, state) {
    this.#commands = commands;
    this.state = state;
  }

  /**
   * Runs the command to its end: no process is left to poll, and there is no terminal.
   * @param {ExecCommandArgs} args
   * @returns {Promise<SandboxExecResult>}
   */
  async exec({ cmd, workdir, shell = "/bin/sh", login = false, tty = false, maxOutputTokens, runAs }) {
    refuseUser(runAs);
    if (tty) throw new UsageError("tty is not supported: run the command without a terminal");
    const done = await call(this.#commands, [shell, login ? "-lc" : "-c", cmd], { cwd: workdir, env: this.state.environment });
    const most = maxOutputTokens === undefined ? undefined : maxOutputTokens * BYTES_PER_TOKEN;
    return {
      output: cut(done.stdout + done.stderr, most), stdout: cut(done.stdout, most), stderr: cut(done.stderr, most),
      exitCode: done.exitCode, wallTimeSeconds: (done.result?.duration_ms ?? 0) / 1000,
    };
  }

  /** @param {ExecCommandArgs} args */
  async execCommand(args) {
    const { output, exitCode, wallTimeSeconds } = await this.exec(args);
    return `Wall time: ${wallTimeSeconds} seconds\nProcess exited with code ${exitCode}\nOutput:\n${output}`;
  }

  supportsPty() {
    return false;
  }

  /** @param {{ path: string, runAs?: string, maxBytes?: number }} args */
  async readFile({ path, runAs, maxBytes }) {
    refuseUser(runAs);
    const bytes = await this.#commands.readFile(this.#place(path));
    if (maxBytes !== undefined && bytes.length > maxBytes) throw new FileError("EIO", path, `it has more than ${maxBytes} bytes`);
    return bytes;
  }

  /** @param {{ path: string, runAs?: string }} args */
  async listDir({ path, runAs }) {
    refuseUser(runAs);
    const base = this.#place(path);
    return (await this.#commands.listDirectory(base)).map(({ name, type }) => ({ name, path: `${base}/${name}`, type: TYPES[type] }));
  }

  /** @param {string} path @param {string} [runAs] */
  async pathExists(path, runAs) {
    refuseUser(runAs);
    return this.#commands.exists(this.#place(path));
  }

  /** @param {string} path @param {string} [runAs] */
  async directoryExists(path, runAs) {
    refuseUser(runAs);
    return this.#commands.stat(this.#place(path)).then(({ type }) => type === "directory", (error) => {
      if (error instanceof FileError) return false;
      throw error;
    });
  }

  /** @param {string} [runAs] */
  createEditor(runAs) {
    refuseUser(runAs);
    return editorOf(this.#commands, this.state.manifest.root);
  }

  /** @param {{ path: string, entry: Entry, runAs?: string }} args */
  async materializeEntry({ path, entry, runAs }) {
    refuseUser(runAs);
    await materialize(this.#commands, this.#place(path), entry);
  }

  /** @param {Manifest} manifest @param {string} [runAs] */
  async applyManifest(manifest, runAs) {
    refuseUser(runAs);
    for (const [path, entry] of Object.entries(manifest.entries)) await materialize(this.#commands, this.#place(path), entry);
  }

  async running() {
    return true;
  }

  async close() {
    // Each command has a sandbox of its own: none is left.
  }

  /** @param {string} path */
  #place(path) {
    return path.startsWith("/") ? path : `${this.state.manifest.root}/${path}`;
  }
}

/**
 * A client whose sandboxes show `workspace` at the root of the manifest.
 * @implements {SandboxClient<Record<string, unknown>, SandboxSessionState>}
 */
export class CorralSandboxClient {
  #options;
  backendId = "corral";
  supportsDefaultOptions = false; // else the runtime asks for snapshots
  // The options are the caller's authority, not a part of a stored state.
  serializedSessionStateRequiresFreshCreation = true;

  /** @param {Options & { workspace: string }} options */
  constructor(options) {
    this.#options = options;
    new Sandbox(options); // a wrong option is an error here
  }

  /**
   * @param {SandboxClientCreateArgs | Manifest} [args]
   * @param {Record<string, unknown>} [more]
   */
  async create(args, more) {
    const { manifest, options, snapshot } = normalizeSandboxClientCreateArgs(args, more);
    if (options !== undefined && Object.keys(options).length > 0) throw new UsageError("pass options to new CorralSandboxClient()");
    if (snapshot !== undefined) throw new UsageError("snapshots are not supported");
    if (manifest.users.length + manifest.groups.length + manifest.extraPathGrants.length > 0) {
      throw new UsageError("users, groups and path grants of a manifest are not supported: use the options read and write");
    }
    const commands = new Sandbox({ ...this.#options, set: { ...this.#options.set, "fs.workspace_at": manifest.root } });
    const state = { manifest, environment: await manifest.resolveEnvironment() };
    const session = new CorralSandboxSession(/** @type {Commands} */ (/** @type {unknown} */ (commands)), state);
    await session.applyManifest(manifest);
    return session;
  }
}
