// SPDX-License-Identifier: Apache-2.0
// Reads an ExportLogsServiceRequest or an ExportTraceServiceRequest as JSON with OpenTelemetry's own messages, and prints
// it after a way through their binary form.  A field that the messages do not have, or a value of another type, is not
// there any more.
//
//     node otlp.js ROOT-OF-THE-MESSAGES logs|trace <REQUEST
"use strict";
const { opentelemetry } = require(process.argv[2]);
const service = opentelemetry.proto.collector[process.argv[3]].v1;
const Request = service.ExportLogsServiceRequest || service.ExportTraceServiceRequest;
const request = JSON.parse(require("fs").readFileSync(0, "utf8"));

// OTLP's JSON has ids in hexadecimal, where that of protobuf has base64.  A text that is not an id stays, as a fault.
const ids = { traceId: 16, spanId: 8, parentSpanId: 8 };
function convert(value, key, one) {
  if (Buffer.isBuffer(value) || value === null || typeof value !== "object") return key in ids ? one(value, ids[key]) : value;
  if (Array.isArray(value)) return value.map((item) => convert(item, "", one));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, convert(item, name, one)]));
}
const fromHex = (text, bytes) => {
  if (!new RegExp(`^[0-9a-f]{${2 * bytes}}$`).test(text)) throw new Error(`not an id: ${text}`);
  return Buffer.from(text, "hex");
};

const message = Request.fromObject(convert(request, "", fromHex));
const fault = Request.verify(message);
if (fault) {
  console.error(fault);
  process.exit(1);
}
const read = Request.decode(Request.encode(message).finish());
const plain = Request.toObject(read, { longs: String, enums: Number, arrays: false });
console.log(JSON.stringify(convert(plain, "", (bytes) => Buffer.from(bytes).toString("hex"))));
