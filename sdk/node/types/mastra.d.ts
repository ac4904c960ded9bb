// SPDX-License-Identifier: Apache-2.0
import { MastraSandbox, type CommandResult, type ExecuteCommandOptions, type ProviderStatus } from "@mastra/core/workspace";
import type { Commands } from "./index.d.ts";

/** A sandbox for `new Workspace({ sandbox })`. */
export class CorralSandbox extends MastraSandbox {
  constructor(commands: Commands, options?: { id?: string; instructions?: string });
  id: string;
  name: string;
  provider: string;
  status: ProviderStatus;
  executeCommand(command: string, args?: string[], options?: ExecuteCommandOptions): Promise<CommandResult>;
}
