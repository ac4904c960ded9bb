// SPDX-License-Identifier: Apache-2.0
import type { Shell } from "@openai/agents";
import type { Manifest, SandboxClient, SandboxClientCreateArgs, SandboxSession } from "@openai/agents/sandbox";
import type { Commands, Options } from "./index.d.ts";

/** A shell for `shellTool({ shell })`. */
export function corralShell(commands: Commands): Shell;

/** A client for `SandboxAgent`: its sandboxes show `workspace` at the root of the manifest. Needs level full. */
export class CorralSandboxClient implements SandboxClient {
  constructor(options: Options & { workspace: string });
  readonly backendId: string;
  create(args?: SandboxClientCreateArgs | Manifest, options?: Record<string, unknown>): Promise<SandboxSession>;
}
