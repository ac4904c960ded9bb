# SPDX-License-Identifier: Apache-2.0
"""The messages of OTLP that `corral audit export --format otlp` uses, and a check of JSON against them.

The rules are those of the JSON mapping of protobuf, with OTLP's own: names in lowerCamelCase, 64 bit numbers as decimal
strings, enumerations as numbers, trace and span ids as 32 and 16 hexadecimal digits, no null.
"""
import re

MESSAGES = {
    "ExportLogsServiceRequest": {"resourceLogs": ["ResourceLogs"]},
    "ResourceLogs": {"resource": "Resource", "scopeLogs": ["ScopeLogs"], "schemaUrl": "string"},
    "Resource": {"attributes": ["KeyValue"], "droppedAttributesCount": "uint32"},
    "ScopeLogs": {"scope": "InstrumentationScope", "logRecords": ["LogRecord"], "schemaUrl": "string"},
    "InstrumentationScope": {"name": "string", "version": "string", "attributes": ["KeyValue"],
                             "droppedAttributesCount": "uint32"},
    "LogRecord": {"timeUnixNano": "fixed64", "observedTimeUnixNano": "fixed64", "severityNumber": "severity",
                  "severityText": "string", "body": "AnyValue", "attributes": ["KeyValue"],
                  "droppedAttributesCount": "uint32", "flags": "uint32", "traceId": "trace", "spanId": "span",
                  "eventName": "string"},
    "ExportTraceServiceRequest": {"resourceSpans": ["ResourceSpans"]},
    "ResourceSpans": {"resource": "Resource", "scopeSpans": ["ScopeSpans"], "schemaUrl": "string"},
    "ScopeSpans": {"scope": "InstrumentationScope", "spans": ["Span"], "schemaUrl": "string"},
    "Span": {"traceId": "trace_set", "spanId": "span_set", "traceState": "string", "parentSpanId": "span", "flags": "uint32",
             "name": "string", "kind": "span_kind", "startTimeUnixNano": "fixed64", "endTimeUnixNano": "fixed64",
             "attributes": ["KeyValue"], "droppedAttributesCount": "uint32", "status": "Status"},
    "Status": {"message": "string", "code": "status_code"},
    "KeyValue": {"key": "string", "value": "AnyValue"},
    "AnyValue": {"stringValue": "string", "boolValue": "bool", "intValue": "int64", "doubleValue": "double",
                 "arrayValue": "ArrayValue", "kvlistValue": "KeyValueList", "bytesValue": "bytes"},
    "ArrayValue": {"values": ["AnyValue"]},
    "KeyValueList": {"values": ["KeyValue"]},
}


def is_text(pattern):
    return lambda v: isinstance(v, str) and re.fullmatch(pattern, v) is not None


def is_number(low, high):
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high


SCALARS = {
    "string": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "int64": lambda v: is_text("-?(0|[1-9][0-9]*)")(v) and -2**63 <= int(v) < 2**63,
    "fixed64": lambda v: is_text("0|[1-9][0-9]*")(v) and int(v) < 2**64,
    "uint32": is_number(0, 2**32 - 1),
    "severity": is_number(0, 24),
    "double": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "bytes": is_text("[A-Za-z0-9+/]*={0,2}"),
    "trace": is_text("([0-9a-fA-F]{32})?"),
    "span": is_text("([0-9a-fA-F]{16})?"),
    "trace_set": lambda v: is_text("[0-9a-fA-F]{32}")(v) and int(v, 16) != 0,
    "span_set": lambda v: is_text("[0-9a-fA-F]{16}")(v) and int(v, 16) != 0,
    "span_kind": is_number(0, 5),
    "status_code": is_number(0, 2),
}


def faults(value, kind="ExportLogsServiceRequest", where="request"):
    """What is wrong with a value, as sentences."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{where}: not a list"]
        return [found for n, item in enumerate(value) for found in faults(item, kind[0], f"{where}[{n}]")]
    if kind not in MESSAGES:
        return [] if SCALARS[kind](value) else [f"{where}: {value!r} is not of type {kind}"]
    if not isinstance(value, dict):
        return [f"{where}: not an object"]
    found = [] if kind != "AnyValue" or len(value) <= 1 else [f"{where}: more than one value: {list(value)}"]
    for key, member in value.items():
        if key not in MESSAGES[kind]:
            found.append(f"{where}.{key}: not in {kind}")
        else:
            found += faults(member, MESSAGES[kind][key], f"{where}.{key}")
    if kind == "Span":
        found += [f"{where}.{name}: missing" for name in ("traceId", "spanId", "name", "startTimeUnixNano", "endTimeUnixNano")
                  if name not in value]
        if not found and int(value["startTimeUnixNano"]) > int(value["endTimeUnixNano"]):
            found.append(f"{where}: it ends before its start")
    keys = [item.get("key") for item in value.get("attributes", []) if isinstance(item, dict)]
    return found + ([f"{where}.attributes: a key twice"] if len(keys) != len(set(keys)) else [])
