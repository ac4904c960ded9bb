// SPDX-License-Identifier: Apache-2.0
// A command with streams, ended by an abort signal: its whole tree of processes is gone when the promise settles.
import { AbortError, spawn } from "@corral/sandbox";

const controller = new AbortController();
const process = spawn("for i in 1 2 3; do echo $i; done; sleep 1000", { signal: controller.signal, grace: 100 });
let text = "";
for await (const chunk of process.stdout) {
  text += chunk;
  if (text.endsWith("3\n")) controller.abort();
}
console.log(text.trim().split("\n").join(" "));
await process.result.catch((error) => console.log(error instanceof AbortError, error.result.reason));
// prints: 1 2 3
// prints: true cancelled
