// SPDX-License-Identifier: Apache-2.0
// bash-tool: the object for `createBashTool({ sandbox })`.

import { call } from "./call.js";

/** @import { Sandbox } from "bash-tool" */
/** @import { Commands } from "../../types/index.d.ts" */

/**
 * @param {Commands} commands
 * @returns {Sandbox}
 */
export function corralSandbox(commands) {
  return {
    async executeCommand(command) {
      const { stdout, stderr, exitCode } = await call(commands, command);
      return { stdout, stderr, exitCode };
    },
    readFile: (path) => commands.readText(path),
    async writeFiles(files) {
      for (const file of files) await commands.writeFile(file.path, file.content);
    },
  };
}
