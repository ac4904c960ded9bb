// SPDX-License-Identifier: Apache-2.0
import type { Sandbox } from "bash-tool";
import type { Commands } from "./index.d.ts";

/** The object for `createBashTool({ sandbox })`. */
export function corralSandbox(commands: Commands): Sandbox;
