// SPDX-License-Identifier: Apache-2.0
// What a sandbox and a session have in common: run, and files.
//
// A file operation is a command in the sandbox, so it has exactly the access of a command.  The paths are arguments of a
// fixed script, never part of its text.

import { FileError } from "./errors.js";
import { collect } from "./process.js";

/** @import { CallOptions, Command, DirectoryEntry, FileStat, Result, RunOptions, SpawnedProcess } from "../types/index.d.ts" */

/** @type {Record<number, readonly [string, string]>} statuses of the scripts, and what they mean */
const STATUSES = {
  70: ["ENOENT", "there is no such file"],
  71: ["EISDIR", "it is a directory"],
  72: ["EACCES", "the sandbox does not permit it"],
  73: ["ENOTDIR", "it is not a directory"],
};

const EXISTS = '[ -e "$1" ] || [ -L "$1" ] || exit 70; ';
const SCRIPTS = {
  read: `${EXISTS}[ -d "$1" ] && exit 71; [ -r "$1" ] || exit 72; exec cat <"$1"`,
  write: '[ -d "$1" ] && exit 71; case "$1" in */*) mkdir -p -- "${1%/*}/" || exit 72;; esac; command exec 3>"$1" || exit 72; exec cat >&3',
  stat: `${EXISTS}exec stat -L -c '%f %s %Y' -- "$1"`,
  list: `${EXISTS}[ -d "$1" ] || exit 73; cd -- "$1" || exit 72; `
    + `exec find . -mindepth 1 -maxdepth 1 -exec stat -c '//%f %s %Y %n' -- '{}' +`,
  remove: `${EXISTS}[ -d "$1" ] && [ ! -L "$1" ] && exit 71; rm -- "$1" || exit 72`,
  mkdir: 'mkdir -p -- "$1" || exit 72',
};

/** @type {Record<number, "file" | "directory" | "symlink">} S_IFMT of a mode */
const TYPES = { 0o100000: "file", 0o040000: "directory", 0o120000: "symlink" };

/**
 * @param {string} line "MODE SIZE SECONDS", the mode in hexadecimal digits
 * @returns {FileStat}
 */
function statOf(line) {
  const [mode, size, seconds] = line.split(" ");
  const bits = parseInt(mode, 16);
  return { type: TYPES[bits & 0o170000] ?? "other", size: Number(size), mode: bits & 0o7777, modified: new Date(Number(seconds) * 1000) };
}

/** A path that begins with a dash, or is "-", is a path. @param {string} path */
function operand(path) {
  return path.startsWith("-") ? `./${path}` : path;
}

export class Commands {
  /**
   * @param {Command} _command
   * @param {RunOptions} [_options]
   * @returns {SpawnedProcess}
   */
  spawn(_command, _options) {
    throw new Error("a subclass has it");
  }

  /**
   * Runs a command and keeps the bytes of its output.
   * @param {Command} command
   * @param {RunOptions} options
   * @returns {Promise<Result & { stdout: Buffer, stderr: Buffer }>}
   */
  async bytes(command, options) {
    const { input, ...rest } = options;
    const process = this.spawn(command, { ...rest, stdin: input !== undefined });
    if (input !== undefined) feed(process, input);
    const [result, stdout, stderr] = await Promise.all([process.result, collect(process.stdout), collect(process.stderr)]);
    return { ...result, stdout, stderr };
  }

  /**
   * @param {keyof typeof SCRIPTS} script
   * @param {string} path
   * @param {CallOptions & { input?: RunOptions["input"] }} options
   */
  async #file(script, path, { signal, input } = {}) {
    const done = await this.bytes(["/bin/sh", "-c", SCRIPTS[script], "sh", operand(path)], { signal, input });
    if (done.exit_code === 0) return done.stdout;
    const [code, why] = STATUSES[done.exit_code ?? -1] ?? ["EIO", "it failed"];
    throw new FileError(code, path, done.stderr.toString().trim() || why);
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   * @returns {Promise<Uint8Array>}
   */
  async readFile(path, options) {
    return this.#file("read", path, options);
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   */
  async readText(path, options) {
    return (await this.#file("read", path, options)).toString("utf8");
  }

  /**
   * @param {string} path
   * @param {string | Uint8Array | AsyncIterable<Uint8Array>} content
   * @param {CallOptions} [options]
   */
  async writeFile(path, content, options) {
    await this.#file("write", path, { ...options, input: content });
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   */
  async stat(path, options) {
    return statOf((await this.#file("stat", path, options)).toString());
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   */
  async exists(path, options) {
    return this.stat(path, options).then(() => true, (error) => {
      if (error instanceof FileError) return false;
      throw error;
    });
  }

  /**
   * A record begins with "//", which no file name contains.
   * @param {string} path
   * @param {CallOptions} [options]
   * @returns {Promise<DirectoryEntry[]>}
   */
  async listDirectory(path, options) {
    const text = (await this.#file("list", path, options)).toString();
    if (text === "") return [];
    return text.slice(2, -1).split("\n//").map((record) => {
      const end = record.indexOf(" ./");
      return { name: record.slice(end + 3), ...statOf(record.slice(0, end)) };
    });
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   */
  async removeFile(path, options) {
    await this.#file("remove", path, options);
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   */
  async makeDirectory(path, options) {
    await this.#file("mkdir", path, options);
  }
}

/**
 * @param {SpawnedProcess} process
 * @param {NonNullable<RunOptions["input"]>} input
 */
export function feed(process, input) {
  const stdin = /** @type {import("node:stream").Writable} */ (process.stdin);
  if (typeof input === "string" || input instanceof Uint8Array) {
    stdin.end(input);
    return;
  }
  void (async () => {
    try {
      for await (const chunk of input) {
        if (stdin.destroyed) return;
        if (!stdin.write(chunk)) await new Promise((resolve) => { stdin.once("drain", resolve); stdin.once("close", resolve); });
      }
      stdin.end();
    } catch {
      process.kill(); // an input that fails is not the whole input
    }
  })();
}
