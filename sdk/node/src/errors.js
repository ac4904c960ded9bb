// SPDX-License-Identifier: Apache-2.0
// The errors of this package.  A command that ran and failed is no error: it is a result.

/** @import { Result } from "../types/index.d.ts" */

export class CorralError extends Error {
  /**
   * @param {string} message
   * @param {{ remedy?: string | null, layer?: string | null, result?: Result | null, cause?: unknown }} [more]
   */
  constructor(message, more = {}) {
    super(more.remedy ? `${message} (remedy: ${more.remedy})` : message, { cause: more.cause });
    this.name = new.target.name;
    /** @type {string | null} the command or option that solves it */
    this.remedy = more.remedy ?? null;
    /** @type {string | null} the part of Corral that failed */
    this.layer = more.layer ?? null;
    /** @type {Result | null} */
    this.result = more.result ?? null;
  }
}

/** The program `corral` is not in PATH, or not at the given path. */
export class BinaryNotFoundError extends CorralError {}

/** An option or argument is wrong; nothing ran. */
export class UsageError extends CorralError {}

/** A rule forbids the command, or its arguments contain a secret; nothing ran. */
export class RefusedError extends CorralError {}

/** The sandbox could not be set up, or the program does not exist in it; nothing ran. */
export class SetupError extends CorralError {}

/** The daemon does not run, or does not know the session. */
export class DaemonError extends CorralError {}

/** The abort signal ended the run; every process of it is gone. */
export class AbortError extends CorralError {}

/** A file operation in the sandbox failed. */
export class FileError extends CorralError {
  /**
   * @param {string} code
   * @param {string} path
   * @param {string} text
   */
  constructor(code, path, text) {
    super(`${code}: ${path}: ${text}`);
    /** @type {string} "ENOENT", "EISDIR", "ENOTDIR", "EACCES" or "EIO" */
    this.code = code;
    /** @type {string} */
    this.path = path;
  }
}

/**
 * The error of a result whose command did not run, or null.
 * @param {Result} result
 */
export function failureOf(result) {
  const error = result.error;
  if (error == null) return null;
  const Kind = result.reason === "setup" ? SetupError : RefusedError;
  return new Kind(error.message, { remedy: error.remedy, layer: error.layer, result });
}
