// SPDX-License-Identifier: Apache-2.0
// Requests to the daemon: JSON-RPC 2.0, one object a line, one connection for each request.

import { lstat, stat } from "node:fs/promises";
import { connect } from "node:net";
import { AbortError, DaemonError, RefusedError, SetupError, UsageError } from "./errors.js";

const START = "start it: corral daemon &";

/** The path of the admin socket, found as Corral does. */
async function socketPath() {
  const given = process.env.XDG_RUNTIME_DIR, user = process.geteuid?.() ?? 0;
  if (given?.startsWith("/")) return `${given}/corral/admin.sock`;
  const login = `/run/user/${user}`;
  if (await stat(login).then((found) => found.isDirectory(), () => false)) return `${login}/corral/admin.sock`;
  if (user === 0) return "/run/corral/admin.sock";
  throw new DaemonError(`XDG_RUNTIME_DIR is not set, and ${login} does not exist`, { remedy: "export XDG_RUNTIME_DIR" });
}

/** @type {Record<number, typeof SetupError | typeof UsageError | typeof RefusedError>} enum corral_error_kind */
const KINDS = { 1: UsageError, 2: RefusedError, 4: SetupError, 5: SetupError, 14: RefusedError };

/** @param {any} error */
function failure(error) {
  const data = error.data ?? {};
  const Kind = data.kind === "failed" ? (KINDS[data.error] ?? SetupError) : DaemonError;
  return new Kind(error.message, { remedy: data.remedy, layer: data.layer });
}

/** @param {unknown} cause */
function unreachable(cause) {
  return new DaemonError(`cannot connect to the daemon: ${/** @type {NodeJS.ErrnoException} */ (cause).code}`, { remedy: START, cause });
}

/**
 * The first line that the daemon sends.
 * @param {import("node:net").Socket} socket
 * @returns {Promise<string>}
 */
async function lineOf(socket) {
  const chunks = [];
  for await (const chunk of socket) {
    chunks.push(chunk);
    if (chunk.includes(0x0a)) return Buffer.concat(chunks).toString();
  }
  throw new DaemonError("the daemon closed the connection", { remedy: "corral daemon status" });
}

/**
 * Sends one request.  If the signal is aborted the connection is closed, and the daemon kills the command.
 * @param {string} method
 * @param {Record<string, unknown>} params
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function request(method, params, signal) {
  signal?.throwIfAborted();
  const path = await socketPath();
  const place = await lstat(path).catch((error) => { throw unreachable(error); });
  if (place.uid !== process.geteuid?.()) throw new DaemonError(`${path} belongs to another user`, { remedy: "check XDG_RUNTIME_DIR" });
  const socket = connect(path);
  const abort = () => { socket.destroy(); };
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await new Promise((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", (error) => reject(unreachable(error)));
      socket.once("close", resolve);
    });
    socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
    const answer = JSON.parse(await lineOf(socket));
    if (answer.error !== undefined) throw failure(answer.error);
    return answer.result;
  } catch (error) {
    if (signal?.aborted) throw new AbortError("the command was aborted", { cause: signal.reason });
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
    socket.destroy();
  }
}
