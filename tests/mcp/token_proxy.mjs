// SPDX-License-Identifier: Apache-2.0
// Adds the token for a client that sends none (the conformance suite): node token_proxy.mjs PORT TOKEN-FILE
// Prints its own port.  Host and Origin are passed on with the server's port, so a foreign name stays foreign.
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";

const [port, file] = process.argv.slice(2);
const token = readFileSync(file, "utf8").trim();
const server = createServer((from, answer) => {
  const own = `:${server.address().port}`;
  const headers = { ...from.headers, authorization: `Bearer ${token}` };
  for (const name of ["host", "origin"]) {
    if (headers[name]) headers[name] = headers[name].replace(own, `:${port}`);
  }
  const to = request({ host: "127.0.0.1", port, method: from.method, path: from.url, headers, agent: false }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    answer.flushHeaders();
    got.pipe(answer);
  });
  to.on("error", () => answer.destroy());
  answer.on("close", () => to.destroy());
  from.pipe(to);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
