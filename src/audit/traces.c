/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as OpenTelemetry spans: one ExportTraceServiceRequest in the JSON mapping of OTLP 1.
 *
 * The commands of a session are one trace.  The 128 bits of a session's id (a ULID) are the id of
 * the trace; those of another name, and of a run without a session, are a hash.  A span's id is a
 * hash of the run's id.  So each export of a record has the same ids.
 *
 * Should:   keep every member of a record as an attribute, as the export of logs does.
 * Must not: write a span for a record that is no run; an id of zeros, which is invalid.
 * Fails:    as buf.h. */
#include "audit/print.h"

#include "audit/bytes.h"
#include "base/auto.h"

#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <stdio.h>
#include <string.h>

#define TRACE_BYTES 16
#define SPAN_BYTES 8
#define KIND_INTERNAL 1
/* Status.code */
#define STATUS_OK 1
#define STATUS_ERROR 2

#define ULID_DIGITS 26
#define SESSION_PREFIX "sess_"

static bool is(struct audit_field text, const char *word) {
	return text.len == strlen(word) && memcmp(text.text, word, text.len) == 0;
}

bool audit_trace_has(const struct audit_fields *f) {
	struct audit_field kind = audit_unquote(f->at[AUDIT_KIND]);

	return is(kind, "run") || is(kind, "unsandboxed_run");
}

/* The bits of "sess_" and a ULID; false: it is another text. */
static bool read_ulid(struct audit_field text, unsigned char ret[TRACE_BYTES]) {
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	const size_t prefix = sizeof SESSION_PREFIX - 1;
	uint64_t high = 0, low = 0;

	if (text.len != prefix + ULID_DIGITS || memcmp(text.text, SESSION_PREFIX, prefix) != 0) {
		return false;
	}
	for (size_t i = prefix; i < text.len; i++) {
		const char *at = memchr(digits, text.text[i], sizeof digits - 1);
		if (at == NULL) {
			return false;
		}
		high = high << 5 | low >> 59;
		low = low << 5 | (uint64_t)(at - digits);
	}
	for (size_t i = 0; i < TRACE_BYTES / 2; i++) {
		ret[i] = (unsigned char)(high >> (56 - 8 * i));
		ret[TRACE_BYTES / 2 + i] = (unsigned char)(low >> (56 - 8 * i));
	}
	return true;
}

static void hash(struct audit_field text, unsigned char *ret, size_t len) {
	unsigned char full[crypto_generichash_BYTES];

	(void)crypto_generichash(full, sizeof full, (const unsigned char *)text.text, text.len,
				 NULL, 0); /* fails only for a bad length */
	memcpy(ret, full, len);
	ret[len - 1] |= 1; /* never all zeros */
}

static void put_id(struct emit *j, const char *key, const unsigned char *bytes, size_t len) {
	char text[2 * TRACE_BYTES + 1];

	for (size_t i = 0; i < len; i++) {
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	}
	emit_string(j, key, text);
}

static void put_ids(struct emit *j, const struct audit_fields *f) {
	struct audit_field session = audit_unquote(f->at[AUDIT_SESSION]);
	struct audit_field id = audit_unquote(f->at[AUDIT_ID]);
	unsigned char trace[TRACE_BYTES], span[SPAN_BYTES];
	bool alone = session.len == 0 || is(session, "null");

	if (alone || !read_ulid(session, trace)) {
		hash(alone ? id : session, trace, sizeof trace);
	}
	hash(id, span, sizeof span);
	put_id(j, "traceId", trace, sizeof trace);
	put_id(j, "spanId", span, sizeof span);
}

static void put_time(struct emit *j, const char *key, int64_t ms) {
	char nanoseconds[32];

	(void)snprintf(nanoseconds, sizeof nanoseconds, "%" PRId64 "000000", ms < 0 ? 0 : ms);
	emit_string(j, key, nanoseconds);
}

/* The name of the program, without its directory: a name of a span has few values. */
static void put_name(struct emit *j, const struct audit_fields *f) {
	struct audit_field word = {0};
	size_t at = 0;

	if (audit_element_next(&f->at[AUDIT_COMMAND], &at, &word) != 1) {
		emit_string(j, "name", "run");
		return;
	}
	struct audit_field text = audit_unquote(word);
	const char *slash = bytes_last(text.text, '/', text.len);
	if (word.len == 0 || word.text[0] != '"') {
		emit_string(j, "name", "run");
		return;
	}
	if (slash == NULL || memchr(text.text, '\\', text.len) != NULL) {
		audit_emit_value(j, "name", word);
		return;
	}
	emit_bytes(j, "name", slash + 1, text.len - (size_t)(slash + 1 - text.text));
}

/* A command that ended by itself with status 0 is OK. */
static void put_status(struct emit *j, const struct audit_fields *f) {
	bool ok = audit_number(f->at[AUDIT_EXIT], -1) == 0 &&
		  is(audit_unquote(f->at[AUDIT_VERDICT]), "allowed");

	emit_object(j, "status");
	emit_int(j, "code", ok ? STATUS_OK : STATUS_ERROR);
	const struct audit_field *reason = &f->at[AUDIT_REASON];
	if (!ok && reason->len > 0 && reason->text[0] == '"') { /* else the line was edited */
		audit_emit_value(j, "message", *reason);
	}
	emit_end_object(j);
}

void audit_trace_begin(const struct audit_print *p, struct buf *out) {
	buf_puts(out, "{\"resourceSpans\":[{\"resource\":");
	audit_otlp_resource(p, out);
	buf_puts(out, ",\"scopeSpans\":[{\"scope\":{\"name\":\"corral.audit\"},\"spans\":[");
}

/* The time of a record is that of its end. */
void audit_trace_span(const struct audit_line *l, const struct audit_fields *f, bool first,
		      struct buf *out) {
	int64_t end = audit_time(f);
	int64_t duration = audit_number(f->at[AUDIT_DURATION], 0);
	struct emit j;

	buf_puts(out, first ? "" : ",");
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	put_ids(&j, f);
	put_name(&j, f);
	emit_int(&j, "kind", KIND_INTERNAL);
	put_time(&j, "startTimeUnixNano", end - duration);
	put_time(&j, "endTimeUnixNano", end);
	audit_otlp_attributes(&j, l);
	put_status(&j, f);
	emit_end_object(&j);
}
