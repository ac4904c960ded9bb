// SPDX-License-Identifier: Apache-2.0
// Reads an ExportLogsServiceRequest as JSON with OpenTelemetry's own messages, and prints it after a way through their
// binary form.  A field that the messages do not have, or a value of another type, is not there any more.
//
//     node otlp.js ROOT-OF-THE-MESSAGES <REQUEST
"use strict";
const { opentelemetry } = require(process.argv[2]);
const Request = opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
const request = JSON.parse(require("fs").readFileSync(0, "utf8"));
const message = Request.fromObject(request);
const fault = Request.verify(message);
if (fault) {
  console.error(fault);
  process.exit(1);
}
const read = Request.decode(Request.encode(message).finish());
console.log(JSON.stringify(Request.toObject(read, { longs: String, enums: Number, arrays: false })));
