// SPDX-License-Identifier: Apache-2.0
// deepagents: a backend whose commands and files are in a sandbox.

import { randomUUID } from "node:crypto";
import { BaseSandbox } from "deepagents";
import { FileError } from "../errors.js";
import { call } from "./call.js";

/** @import { Commands } from "../../types/index.d.ts" */
/** @import { ExecuteResponse, FileDownloadResponse, FileOperationError, FileUploadResponse } from "deepagents" */

/** @type {Record<string, FileOperationError>} */
const CODES = {
  ENOENT: "file_not_found", EISDIR: "is_directory", EACCES: "permission_denied", ENOTDIR: "invalid_path", EIO: "invalid_path",
};

/** @param {unknown} error */
function codeOf(error) {
  if (!(error instanceof FileError)) throw error;
  return CODES[error.code];
}

export class CorralBackend extends BaseSandbox {
  #commands;

  /**
   * @param {Commands} commands
   * @param {string} [id]
   */
  constructor(commands, id = `corral-${randomUUID()}`) {
    super();
    this.#commands = commands;
    /** @type {string} */
    this.id = id;
  }

  /**
   * @override
   * @param {string} command
   * @returns {Promise<ExecuteResponse>}
   */
  async execute(command) {
    const { stdout, stderr, exitCode, truncated } = await call(this.#commands, `exec 2>&1\n${command}`);
    return { output: stdout + stderr, exitCode, truncated };
  }

  /**
   * @override
   * @param {[string, Uint8Array][]} files
   * @returns {Promise<FileUploadResponse[]>}
   */
  async uploadFiles(files) {
    return Promise.all(files.map(async ([path, content]) => ({
      path, error: await this.#commands.writeFile(path, content).then(() => null, codeOf),
    })));
  }

  /**
   * @override
   * @param {string[]} paths
   * @returns {Promise<FileDownloadResponse[]>}
   */
  async downloadFiles(paths) {
    return Promise.all(paths.map((path) => this.#commands.readFile(path).then(
      (content) => ({ path, content, error: null }), (error) => ({ path, content: null, error: codeOf(error) }))));
  }
}
