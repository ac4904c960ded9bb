// SPDX-License-Identifier: Apache-2.0
export { AbortError, BinaryNotFoundError, CorralError, DaemonError, FileError, RefusedError, SetupError, UsageError } from "./errors.js";
export { explain } from "./explain.js";
export { Sandbox, run, spawn } from "./sandbox.js";
export { Session } from "./session.js";
