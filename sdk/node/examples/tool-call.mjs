// SPDX-License-Identifier: Apache-2.0
// A tool call of an agent: the command, what it may do, and what was refused.
import { writeFileSync } from "node:fs";
import { Sandbox, explain } from "@corral/sandbox";

writeFileSync("package.json", "{}\n");
const sandbox = new Sandbox({ protect: ["package.json"], timeout: "30s" });

const result = await sandbox.run("echo building; echo broken >package.json");
console.log(result.reason, result.exit_code === 0 ? "succeeded" : "failed");
console.log(result.stdout.trim());
console.log(explain(result).includes("package.json"));
console.log((await sandbox.readText("package.json")).trim());
// prints: exit failed
// prints: building
// prints: true
// prints: {}
