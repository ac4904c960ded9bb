// SPDX-License-Identifier: Apache-2.0
import type { Experimental_SandboxSession } from "ai";
import type { Commands } from "./index.d.ts";

/** The object for `experimental_sandbox`. */
export function corralSandbox(commands: Commands, options?: { description?: string }): Experimental_SandboxSession;
