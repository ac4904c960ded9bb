// SPDX-License-Identifier: Apache-2.0
// What Corral refused, in lines for a model or a log.

/** @import { Denial, Result } from "../types/index.d.ts" */

/** @param {Denial} denial */
function line(denial) {
  const place = denial.path ?? denial.host ?? denial.command ?? denial.limit ?? "";
  const port = denial.port == null ? "" : `:${denial.port}`;
  const remedy = denial.remedy ?? denial.allow_with;
  const why = denial.why ?? denial.rule ?? "no rule allows it";
  return `corral: refused: ${denial.op} ${place}${port}: ${why}${remedy ? `; ${remedy}` : ""}\n`;
}

/** @type {Record<string, string>} */
const ENDINGS = {
  timeout: "ended by the time-out", idle: "ended by the time-out without output", oom: "ended by the memory limit",
  limit: "ended by a limit", leak: "ended because of a secret in the output", lost: "ended: a process of the sandbox was killed",
  cancelled: "cancelled",
};

/**
 * How the run ended, unless by itself, its refusals and the hint; "" if there is nothing to say.
 * @param {Result} result
 */
export function explain(result) {
  const ending = ENDINGS[result.reason];
  return [
    ...(ending === undefined ? [] : [`corral: ${ending}\n`]),
    ...result.denials.map(line),
    ...(result.denials_more > 0 ? [`corral: refused: ${result.denials_more} more\n`] : []),
    ...(result.hint == null ? [] : [`corral: hint: ${result.hint.text}\n`]),
  ].join("");
}
