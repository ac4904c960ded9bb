// SPDX-License-Identifier: Apache-2.0
// Many commands in one sandbox.  Needs the daemon: corral daemon &
import { Session } from "@corral/sandbox";

const session = await Session.create({ net: "none" }); // from Node 24 on: await using session = …
try {
  await session.run("echo 42 >$TMPDIR/answer");
  console.log((await session.run("cat $TMPDIR/answer")).stdout.trim());
  const results = await Promise.all([1, 2, 3].map((n) => session.run(["sh", "-c", 'exit "$1"', "sh", `${n}`])));
  console.log(results.map(({ exit_code }) => exit_code).join(" "));
} finally {
  await session.stop();
}
// prints: 42
// prints: 1 2 3
