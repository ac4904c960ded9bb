// SPDX-License-Identifier: Apache-2.0
// The table of options: one row each, to the option of `corral run` and `corral session create`.
//
// A value never goes through a shell.  An option without a row is an error, and so is a value of another type.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./errors.js";

/** @typedef {"text" | "flag" | "off" | "list" | "time" | "size" | "number" | "map"} Kind */

/** @type {Record<string, readonly [flag: string, kind: Kind]>} */
export const OPTIONS = {
  workspace: ["--workspace", "text"],
  anyWorkspace: ["--any-workspace", "flag"],
  mode: ["--mode", "text"],
  read: ["--read", "list"],
  write: ["--write", "list"],
  deny: ["--deny", "list"],
  protect: ["--protect", "list"],
  cow: ["--cow", "flag"],
  home: ["--home", "text"],
  toolchains: ["--no-toolchains", "off"],
  agentDir: ["--agent-dir", "text"],
  cwd: ["--chdir", "text"],
  uid: ["--uid", "number"],
  gid: ["--gid", "number"],
  lock: ["--lock", "flag"],
  lockWait: ["--lock-wait", "time"],
  profile: ["--profile", "text"],
  skill: ["--skill", "text"],
  backend: ["--backend", "text"],
  image: ["--image", "text"],
  level: ["--level", "text"],
  minLevel: ["--min-level", "text"],
  require: ["--require", "list"],
  allowDegraded: ["--allow-degraded", "list"],
  acceptNoSandbox: ["--accept-no-sandbox", "flag"],
  dangerouslyAllowFullAccess: ["--dangerously-allow-full-access", "flag"],
  allowNested: ["--allow-nested", "flag"],
  allowCommand: ["--allow-command", "list"],
  denials: ["--denials", "text"],
  config: ["--no-config", "off"],
  set: ["--set", "map"],
  net: ["--net", "text"],
  allowHost: ["--allow-host", "list"],
  denyHost: ["--deny-host", "list"],
  allowPrivate: ["--allow-private", "list"],
  proxy: ["--proxy", "flag"],
  publish: ["--publish", "list"],
  hostPort: ["--host-port", "list"],
  socket: ["--socket", "list"],
  passEnv: ["--pass-env", "list"],
  allowDangerousEnv: ["--allow-dangerous-env", "list"],
  secret: ["--secret", "list"],
  agent: ["--agent", "text"],
  tool: ["--tool", "list"],
  provider: ["--provider", "list"],
  scanArgs: ["--scan-args", "text"],
  scanNet: ["--scan-net", "text"],
  scanOutput: ["--scan-output", "text"],
  timeout: ["--timeout", "time"],
  idleTimeout: ["--idle-timeout", "time"],
  grace: ["--grace", "time"],
  maxOutput: ["--max-output", "size"],
  memory: ["--memory", "size"],
  processes: ["--processes", "number"],
  cpus: ["--cpus", "number"],
  cpuTime: ["--cpu-time", "time"],
  openFiles: ["--open-files", "number"],
  maxFileSize: ["--max-file-size", "size"],
  disk: ["--disk", "size"],
  tmpSize: ["--tmp-size", "size"],
  shell: ["--shell", "text"],
};

/** @type {typeof OPTIONS} options of `corral session create` alone */
export const SESSION_OPTIONS = {
  name: ["--name", "text"],
  sessionTimeout: ["--session-timeout", "time"],
  serial: ["--serial", "flag"],
};

/**
 * @param {string} name
 * @param {string} wanted
 * @returns {never}
 */
function wrong(name, wanted) {
  throw new UsageError(`option ${name}: ${wanted} expected`);
}

/**
 * @param {string} name
 * @param {unknown} value
 */
export function text(name, value) {
  if (typeof value !== "string" || value.includes("\0")) wrong(name, "a string without NUL");
  return value;
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function quantity(name, value) {
  if (typeof value === "string") return text(name, value);
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) wrong(name, "a string, or a number from 0 on");
  return String(value);
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function list(name, value) {
  const values = Array.isArray(value) ? value : [value];
  return values.map((element) => (typeof element === "number" ? quantity(name, element) : text(name, element)));
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {[string, unknown][]}
 */
function entries(name, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) wrong(name, "an object");
  return Object.entries(value);
}

/** @type {Record<Kind, (flag: string, name: string, value: unknown) => string[]>} */
const WORDS = {
  text: (flag, name, value) => [`${flag}=${text(name, value)}`],
  flag: (flag, name, value) => (typeof value !== "boolean" ? wrong(name, "true or false") : value ? [flag] : []),
  off: (flag, name, value) => (typeof value !== "boolean" ? wrong(name, "true or false") : value ? [] : [flag]),
  list: (flag, name, value) => list(name, value).map((element) => `${flag}=${element}`),
  time: (flag, name, value) => [`${flag}=${quantity(name, value)}${typeof value === "number" ? "ms" : ""}`],
  size: (flag, name, value) => [`${flag}=${quantity(name, value)}`],
  number: (flag, name, value) => [`${flag}=${quantity(name, value)}`],
  map: (flag, name, value) =>
    entries(name, value).flatMap(([key, one]) => list(name, one).map((element) => `${flag}=${text(name, key)}=${element}`)),
};

/**
 * The words of the command line for these options.
 * @param {Record<string, unknown>} options
 * @param {typeof OPTIONS} table
 */
export function words(options, table) {
  return Object.entries(options).flatMap(([name, value]) => {
    const row = Object.hasOwn(table, name) ? table[name] : undefined;
    if (row === undefined) throw new UsageError(`unknown option ${name}`);
    return value === undefined ? [] : WORDS[row[1]](row[0], name, value);
  });
}

/**
 * The policy that Corral reads from a descriptor.  Variables go this way, because every user of the host can read the
 * arguments of a process; beside a policy file of the caller they are options.
 * @param {unknown} policy a path, or the object of a policy file
 * @param {unknown} env
 * @returns {{ words: string[], document: string | null }} the document has to be passed as a file or descriptor
 */
export function policyOf(policy, env) {
  const variables = env === undefined ? [] : entries("env", env).map(([key, value]) => [key, text(`env.${key}`, value)]);
  if (typeof policy === "string") {
    return { words: [`--policy=${text("policy", policy)}`, ...variables.map(([key, value]) => `--env=${key}=${value}`)], document: null };
  }
  const document = policy === undefined ? {} : Object.fromEntries(entries("policy", policy));
  if (variables.length > 0) {
    const known = /** @type {Record<string, any>} */ (document.env ?? {});
    document.env = { ...known, set: { ...known.set, ...Object.fromEntries(variables) } };
  }
  return Object.keys(document).length === 0 ? { words: [], document: null }
    : { words: [], document: JSON.stringify(document) };
}

/**
 * The command after the options: a string for the shell of the sandbox, or program and arguments.
 * @param {string | readonly string[]} command
 */
export function commandWords(command) {
  if (typeof command === "string") return ["-c", text("command", command)];
  if (!Array.isArray(command) || command.length === 0) throw new UsageError("the command is a string, or a list that is not empty");
  return ["--", ...command.map((word) => text("command", word))];
}

/**
 * Where `corral` starts: in the workspace, so that relative paths in options are those of the workspace.  If it does not
 * exist, Corral says so.
 * @param {unknown} workspace
 * @param {string} binary
 */
export function placeOf(workspace, binary) {
  const place = workspace === undefined ? undefined : resolve(text("workspace", workspace));
  const exists = place !== undefined && statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  return { workspace: place, cwd: exists ? place : undefined, binary: binary.includes("/") ? resolve(binary) : binary };
}
