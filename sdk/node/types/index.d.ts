// SPDX-License-Identifier: Apache-2.0
import type { Readable, Writable } from "node:stream";

/** A string runs in the shell of the sandbox (/bin/sh -c); a list is program and arguments, without a shell. */
export type Command = string | readonly string[];

type Many<T> = T | readonly T[];
/** Milliseconds, or a text such as "30s", "2m", "none". */
export type Time = number | string;
/** Bytes, or a text such as "512M". */
export type Size = number | string;

/** The options of `corral run`; corral(1) describes each. Another name is a UsageError. */
export interface Options {
  /** The program; the default is `corral` in PATH. */
  binary?: string;
  workspace?: string;
  anyWorkspace?: boolean;
  mode?: "workspace-write" | "read-only" | "full-access";
  read?: Many<string>;
  write?: Many<string>;
  deny?: Many<string>;
  protect?: Many<string>;
  cow?: boolean;
  home?: "persistent" | "ephemeral" | "workspace";
  toolchains?: boolean;
  agentDir?: string;
  /** The directory in which the command starts. */
  cwd?: string;
  uid?: number;
  gid?: number;
  /** The workspace alone, among runs and sessions with this option. */
  lock?: boolean;
  lockWait?: Time;
  profile?: string;
  /** A skill.toml, or its directory: the command gets only what it requests. */
  skill?: string;
  /** What enforces: "auto" is the operating system's own sandbox. */
  backend?: "auto" | "linux" | "docker" | "podman" | "macos" | "windows";
  /** Of docker and podman, by its digest. */
  image?: string;
  level?: "auto" | Level;
  minLevel?: Level;
  require?: Many<string>;
  allowDegraded?: Many<string>;
  acceptNoSandbox?: boolean;
  dangerouslyAllowFullAccess?: boolean;
  allowNested?: boolean;
  allowCommand?: Many<string>;
  denials?: "changes" | "all" | "off";
  /** The path of a policy file, or its content as an object. */
  policy?: string | Record<string, unknown>;
  /** false: the policy files of user and project are not read. */
  config?: boolean;
  set?: Record<string, Many<string | number>>;
  net?: "none" | "filtered" | "restricted" | "full";
  allowHost?: Many<string>;
  denyHost?: Many<string>;
  allowPrivate?: Many<string>;
  proxy?: boolean;
  publish?: Many<string | number>;
  hostPort?: Many<string | number>;
  socket?: Many<string>;
  passEnv?: Many<string>;
  /** Variables of the command. They are not visible in the list of processes, unless `policy` is a path. */
  env?: Record<string, string>;
  allowDangerousEnv?: Many<string>;
  secret?: Many<string>;
  agent?: string;
  /** Installed tools, first in PATH. */
  tool?: Many<string>;
  provider?: Many<string>;
  scanArgs?: "off" | "warn" | "block";
  scanNet?: "off" | "warn" | "block" | "kill";
  scanOutput?: "off" | "warn" | "redact" | "block" | "kill";
  /** The default is 120 s for run, and none for spawn. */
  timeout?: Time;
  idleTimeout?: Time;
  grace?: Time;
  maxOutput?: Size;
  memory?: Size;
  processes?: number;
  cpus?: number;
  cpuTime?: Time;
  openFiles?: number;
  maxFileSize?: Size;
  disk?: Size;
  tmpSize?: Size;
  /** An idle processor stays awake for the broker while files are created quickly. */
  /** The shell of a command that is a string: an absolute path. */
  shell?: string;
}

export interface CallOptions {
  /** Ends the command and all of its processes; the promise rejects with an AbortError when they are gone. */
  signal?: AbortSignal;
}

export interface RunOptions extends CallOptions {
  /** What the command reads from stdin; without it stdin is /dev/null. */
  input?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Of spawn: keep stdin open for the caller. */
  stdin?: boolean;
  /** Of run: "buffer" gives stdout and stderr as bytes, all of them. The default is text, with U+FFFD for other bytes. */
  encoding?: "utf8" | "buffer";
}

export type Level = "full" | "standard" | "minimal" | "none";
export type Reason =
  | "exit" | "signal" | "timeout" | "idle" | "oom" | "limit" | "cancelled" | "leak" | "lost" | "refused" | "setup";

export interface Guarantee {
  name: string;
  state: "enforced" | "weaker" | "absent";
  by: string[];
  /** Why it is not enforced, or a remark. */
  why?: string;
}

/** One refused operation, with `path`, or `host` and `port`, or `command`, or `limit` and `value`, or a system call. */
export interface Denial {
  op: string;
  path?: string;
  resolved?: string;
  host?: string;
  port?: number | null;
  command?: string;
  limit?: string;
  value?: string | null;
  access: string;
  errno: string | null;
  rule: string | null;
  origin: string | null;
  why: string | null;
  remedy: string | null;
  /** The smallest option that would allow it; null for credentials. */
  allow_with: string | null;
  count: number;
}

export interface Grant {
  op: string;
  path?: string;
  host?: string;
  answer: "once" | "run" | "always" | "deny";
  by: "user" | "timeout" | "ended" | "error";
  grant: string | null;
  waited_ms: number;
  count: number;
  note: string | null;
}

export interface Leak {
  kind: string;
  stream: string;
  offset: number;
  length: number;
  view: string;
  fingerprint: string;
  action: string;
  count: number;
  host?: string;
}

export interface NetworkRecord {
  op: string;
  name: string | null;
  address: string | null;
  port: number | null;
  verdict: string;
  rule: string | null;
  why: string | null;
  count: number;
  sent: number;
  received: number;
}

/** The object that corral(1) describes under THE RESULT. */
export interface Result<Output extends string | Uint8Array | null = string | Uint8Array | null> {
  version: 1;
  reason: Reason;
  exit_code: number | null;
  signal: number | null;
  duration_ms: number;
  /** null if the streams were the caller's (spawn). */
  stdout: Output;
  stderr: Output;
  /** Bytes that were dropped between head and tail. */
  truncated: { stdout: number; stderr: number };
  id: string | null;
  started: string | null;
  workspace: string | null;
  mode: string | null;
  net: string | null;
  agent: string | null;
  session: string | null;
  /** The level that was enforced. */
  level: Level | null;
  engine: string | null;
  /** 1, and one more for each sandbox of Corral around it. */
  depth: number | null;
  policy_sha256: string | null;
  /** The sandbox waited in the daemon's pool. */
  warm: boolean;
  guarantees: Guarantee[];
  notes: string[];
  hint: { rule: string; path: string | null; text: string } | null;
  denials: Denial[];
  denials_more: number;
  denials_recorded: boolean;
  grants: Grant[] | null;
  grants_more?: number;
  grants_ended?: string | null;
  leaks: Leak[];
  leaks_more: number;
  leaks_scanned: boolean;
  network: NetworkRecord[];
  network_more: number;
  network_recorded: boolean;
  network_failed: string | null;
  created: { path: string; kind: string }[];
  created_more: number;
  created_recorded: boolean;
  cow: { id: string | null; changes: number | null } | null;
  left_in_home: { path: string; names: string[]; more: number } | null;
  usage: { cpu_ms: number | null; max_rss_kb: number | null; processes_peak: number | null };
  audited: boolean;
  timings: { step: string; us: number }[] | null;
  /** Only of an error's result: nothing ran. */
  error?: { layer: string; message: string; errno: string | null; remedy: string | null };
}

/** A command whose streams are the caller's. Read both, or the command waits when a pipe is full. */
export interface SpawnedProcess extends AsyncDisposable {
  /** The process id of the supervisor. */
  readonly pid: number | undefined;
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly stdinWeb: WritableStream<Uint8Array> | undefined;
  readonly stdoutWeb: ReadableStream<Uint8Array> | undefined;
  readonly stderrWeb: ReadableStream<Uint8Array> | undefined;
  /** Resolves when every process of the command is gone; its stdout and stderr are null. */
  readonly result: Promise<Result>;
  /** Ends the command and all of its processes: SIGTERM, the grace period, SIGKILL. */
  kill(): void;
}

export interface FileStat {
  type: "file" | "directory" | "symlink" | "other";
  size: number;
  mode: number;
  modified: Date;
}

export interface DirectoryEntry extends FileStat {
  name: string;
}

/** What a Sandbox and a Session have in common. File operations have the access of a command. */
export interface Commands {
  run(command: Command, options: RunOptions & { encoding: "buffer" } & CommandOptions): Promise<Result<Uint8Array>>;
  run(command: Command, options?: RunOptions & { encoding?: "utf8" } & CommandOptions): Promise<Result<string>>;
  spawn(command: Command, options?: RunOptions & CommandOptions): SpawnedProcess;
  readFile(path: string, options?: CallOptions): Promise<Uint8Array>;
  readText(path: string, options?: CallOptions): Promise<string>;
  /** Creates missing directories. */
  writeFile(path: string, content: string | Uint8Array | AsyncIterable<Uint8Array>, options?: CallOptions): Promise<void>;
  /** Follows symbolic links. */
  stat(path: string, options?: CallOptions): Promise<FileStat>;
  exists(path: string, options?: CallOptions): Promise<boolean>;
  /** Does not follow symbolic links. */
  listDirectory(path: string, options?: CallOptions): Promise<DirectoryEntry[]>;
  removeFile(path: string, options?: CallOptions): Promise<void>;
  makeDirectory(path: string, options?: CallOptions): Promise<void>;
}

/** Options that a command may have in a sandbox and in a session. */
export interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Milliseconds. */
  timeout?: number;
}

export function run(command: Command, options: Options & RunOptions & { encoding: "buffer" }): Promise<Result<Uint8Array>>;
export function run(command: Command, options?: Options & RunOptions & { encoding?: "utf8" }): Promise<Result<string>>;
export function spawn(command: Command, options?: Options & RunOptions): SpawnedProcess;

/** How the run ended, its refusals and the hint, in lines for a model or a log; "" if there is nothing to say. */
export function explain(result: Result): string;

interface SandboxConstructor {
  new (options?: Options): Sandbox;
}

/** Options for many runs. Each command has a sandbox of its own; the workspace is what they share. */
export interface Sandbox extends Commands {
  run(command: Command, options: Options & RunOptions & { encoding: "buffer" }): Promise<Result<Uint8Array>>;
  run(command: Command, options?: Options & RunOptions & { encoding?: "utf8" }): Promise<Result<string>>;
  spawn(command: Command, options?: Options & RunOptions): SpawnedProcess;
}
export const Sandbox: SandboxConstructor;

export interface SessionOptions extends Options {
  /** A name besides the id; only one live session has it. */
  name?: string;
  sessionTimeout?: Time;
  /** One command at a time, in the order of the requests. */
  serial?: boolean;
}

export type SessionCommandOptions = RunOptions & CommandOptions;

export interface SessionInfo {
  id: string;
  name: string;
  state: "CREATED" | "STARTING" | "RUNNING" | "STOPPING" | "STOPPED" | "FAILED";
  workspace: string;
  profile: string;
  agent: string;
  provider: string;
  level: string;
  reason: string;
  serial: boolean;
  created: number;
  started: number;
  ended: number;
  deadline: number;
}

interface SessionConstructor {
  /** Needs the daemon: `corral daemon`. */
  create(options?: SessionOptions): Promise<Session>;
  attach(session: string, options?: { binary?: string }): Promise<Session>;
}

/** One sandbox for many commands: they share /tmp, HOME and background processes until the session ends. */
export interface Session extends Commands, AsyncDisposable {
  readonly id: string;
  show(): Promise<SessionInfo>;
  /** Ends every process of the session. */
  stop(): Promise<void>;
}
export const Session: SessionConstructor;

/** A command that ran and failed is no error, it is a result. In these cases nothing ran, or it was aborted. */
export class CorralError extends Error {
  readonly remedy: string | null;
  readonly layer: string | null;
  readonly result: Result | null;
}
/** The program is not in PATH, or not at the given path. */
export class BinaryNotFoundError extends CorralError {}
/** An option or argument is wrong. */
export class UsageError extends CorralError {}
/** A rule forbids the command, or its arguments contain a secret. */
export class RefusedError extends CorralError {}
/** The sandbox could not be set up, or the program does not exist in it. */
export class SetupError extends CorralError {}
/** The daemon does not run, or does not know the session. */
export class DaemonError extends CorralError {}
/** The abort signal ended the run; every process of it is gone. */
export class AbortError extends CorralError {}
/** A file operation in the sandbox failed. */
export class FileError extends CorralError {
  readonly code: "ENOENT" | "EISDIR" | "ENOTDIR" | "EACCES" | "EIO";
  readonly path: string;
}
