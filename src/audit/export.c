/* SPDX-License-Identifier: Apache-2.0 */
/* Records as OpenTelemetry logs: one ExportLogsServiceRequest in the JSON mapping of OTLP 1.
 *
 * Should:   keep every member of a record as an attribute, with its type.
 * Must not: write JSON that is not valid, also when a line was edited.
 * Fails:    as buf.h. */
#include "audit/print.h"

#include "base/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* SeverityNumber of the log data model. */
#define SEVERITY_INFO 9
#define SEVERITY_WARN 13

/* Deeper values are no work of record.c. */
#define DEPTH_MAX 4

static void put_any(struct emit *j, struct audit_field value, int depth);

static void put_list(struct emit *j, struct audit_field list, int depth) {
	struct audit_field value;
	size_t at = 0;

	emit_object(j, "arrayValue");
	emit_array(j, "values");
	while (audit_element_next(&list, &at, &value) == 1) {
		emit_object(j, NULL);
		put_any(j, value, depth + 1);
		emit_end_object(j);
	}
	emit_end_array(j);
	emit_end_object(j);
}

static void put_attributes(struct emit *j, const struct audit_line *l, int depth) {
	struct audit_field key, value;
	size_t at = 0;

	while (audit_member_next(l, &at, &key, &value) == 1) {
		if (value.len == 4 && memcmp(value.text, "null", 4) == 0) {
			continue;
		}
		emit_object(j, NULL);
		emit_bytes(j, "key", key.text, key.len);
		emit_object(j, "value");
		put_any(j, value, depth);
		emit_end_object(j);
		emit_end_object(j);
	}
}

static void put_object(struct emit *j, struct audit_field object, int depth) {
	struct audit_line l = {object.text, object.len};

	emit_object(j, "kvlistValue");
	emit_array(j, "values");
	put_attributes(j, &l, depth + 1);
	emit_end_array(j);
	emit_end_object(j);
}

/* The member of an AnyValue. */
static void put_any(struct emit *j, struct audit_field value, int depth) {
	bool yes = value.len == 4 && memcmp(value.text, "true", 4) == 0;

	if (value.len > 0 && value.text[0] == '[' && depth < DEPTH_MAX) {
		put_list(j, value, depth);
	} else if (value.len > 0 && value.text[0] == '{' && depth < DEPTH_MAX) {
		put_object(j, value, depth);
	} else if (yes || (value.len == 5 && memcmp(value.text, "false", 5) == 0)) {
		emit_bool(j, "boolValue", yes);
	} else if (audit_number(value, -1) >= 0) {
		emit_bytes(j, "intValue", value.text, value.len); /* 64 bits are a string */
	} else if (value.len > 0 && value.text[0] == '"') {
		audit_emit_value(j, "stringValue", value);
	} else {
		emit_bytes(j, "stringValue", value.text, value.len);
	}
}

static void put_resource_attribute(struct emit *j, const char *key, const char *value) {
	emit_object(j, NULL);
	emit_string(j, "key", key);
	emit_object(j, "value");
	emit_string(j, "stringValue", value);
	emit_end_object(j);
	emit_end_object(j);
}

void audit_otlp_resource(const struct audit_print *p, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_array(&j, "attributes");
	put_resource_attribute(&j, "service.name", "corral");
	put_resource_attribute(&j, "host.name", p->host_name);
	emit_end_array(&j);
	emit_end_object(&j);
}

void audit_otlp_attributes(struct emit *j, const struct audit_line *l) {
	emit_array(j, "attributes");
	put_attributes(j, l, 0);
	emit_end_array(j);
}

void audit_otlp_begin(const struct audit_print *p, struct buf *out) {
	buf_puts(out, "{\"resourceLogs\":[{\"resource\":");
	audit_otlp_resource(p, out);
	buf_puts(out, ",\"scopeLogs\":[{\"scope\":{\"name\":\"corral.audit\"},\"logRecords\":[");
}

void audit_otlp_end(struct buf *out) {
	buf_puts(out, "]}]}]}\n");
}

void audit_otlp_record(const struct audit_line *l, const struct audit_fields *f, bool first,
		       struct buf *out) {
	struct audit_field verdict = audit_unquote(f->at[AUDIT_VERDICT]);
	bool calm = verdict.len == 7 && memcmp(verdict.text, "allowed", 7) == 0;
	char nanoseconds[32];
	struct emit j;

	(void)snprintf(nanoseconds, sizeof nanoseconds, "%" PRId64 "000000", audit_time(f));
	buf_puts(out, first ? "" : ",");
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_string(&j, "timeUnixNano", nanoseconds);
	emit_string(&j, "observedTimeUnixNano", nanoseconds);
	emit_int(&j, "severityNumber", calm ? SEVERITY_INFO : SEVERITY_WARN);
	emit_string(&j, "severityText", calm ? "INFO" : "WARN");
	emit_object(&j, "body");
	audit_emit_value(&j, "stringValue", f->at[AUDIT_KIND]);
	emit_end_object(&j);
	audit_otlp_attributes(&j, l);
	emit_end_object(&j);
}
