// SPDX-License-Identifier: Apache-2.0
// Lines of TAP without numbers, and the verdicts from the host's side.
import { strictEqual } from "node:assert";
import { readFileSync, readdirSync } from "node:fs";

export const binary = process.env.CORRAL;
export const workspace = process.env.WORKSPACE;
let failed = 0;

export async function test(name, body) {
  try {
    await body();
    console.log(`ok - ${name}`);
  } catch (error) {
    failed++;
    console.log(`# ${String(error?.stack ?? error).replaceAll("\n", "\n# ")}`);
    console.log(`not ok - ${name}`);
  }
}

export function finish() {
  process.exitCode = failed === 0 ? 0 : 1;
}

export async function fails(promise, Kind, pattern = /(?:)/) {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof Kind) || !pattern.test(error.message)) throw new Error(`another error: ${error?.stack ?? error}`);
    return error;
  }
  throw new Error(`no ${Kind.name}`);
}

/** Processes of the host with this text in their arguments, zombies not counted. */
export function marked(mark) {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try {
      return Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`).includes(mark)
        && !readFileSync(`/proc/${pid}/status`, "utf8").includes("State:\tZ");
    } catch {
      return false;
    }
  });
}

export async function until(probe, what) {
  const end = Date.now() + 60_000;
  while (!(await probe())) {
    if (Date.now() > end) throw new Error(`not within a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

let marks = 0;
/** A number of seconds that no other process sleeps, longer than any test. */
export function mark() {
  return `71${process.pid}.${++marks}`;
}

/** Connections that the server on the host's loopback accepted. */
export function connections() {
  return readFileSync(process.env.SERVER_LOG, "utf8").split("\n").length - 1;
}

export const equal = strictEqual;
