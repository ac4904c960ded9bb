/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that a session's socket refuses, for the audit log (deny.rpc).
 *
 * A client in a loop must not fill the log: the first request of a method that is refused for one
 * reason has a record at once, later ones are counted, and have one record a minute together.  The
 * methods and reasons are those of tables, so a session writes a bounded number of records.
 *
 * Should:   count every refusal for the scope or the token.
 * Must not: wait for the disk: the supervisor of the session writes the record.
 * Fails:    open: when the supervisor is killed, the counts since the last record are lost. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/clock.h"

#include <string.h>

#define WINDOW_MS 60000

static const struct {
	int code;
	const char *why;
} reasons[DENIED_REASONS] = {
	{FAULT_FORBIDDEN, "this method is not permitted on the socket of a session (-32001)"},
	{FAULT_NO_TOKEN, "the client has no valid token of the session (-32005)"},
};

static void send_record(struct live *l, struct denied *d, const char *why, int64_t now) {
	json_t *value = json_pack("{s:s, s:s, s:I}", "method", d->method, "why", why, "count",
				  (json_int_t)d->count);
	struct wire_message m = {.kind = WIRE_DENIED};

	d->due = now + WINDOW_MS;
	m.text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
	json_decref(value);
	if (m.text != NULL) {
		m.len = strlen(m.text);
		if (live_send(l, &m) == 0) {
			d->count = 0;
		}
	}
}

void denied_add(struct live *l, size_t row, const char *method, const struct fault *f) {
	int64_t now = clock_ms();

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		struct denied *d = &l->denied[row][i];
		if (f->code != reasons[i].code) {
			continue;
		}
		d->method = method;
		d->count++;
		if (now >= d->due) {
			send_record(l, d, reasons[i].why, now);
		}
		if (d->count > 0 && (l->denied_due == 0 || d->due < l->denied_due)) {
			l->denied_due = d->due;
		}
	}
}

int64_t denied_flush(struct live *l, int64_t now, bool all) {
	int64_t next = 0;

	if (l->denied_due == 0 || (!all && now < l->denied_due)) {
		return l->denied_due;
	}
	for (size_t row = 0; row < DENIED_METHODS; row++) {
		for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
			struct denied *d = &l->denied[row][i];
			if (d->count > 0 && (all || now >= d->due)) {
				send_record(l, d, reasons[i].why, now);
			}
			if (d->count > 0 && (next == 0 || d->due < next)) {
				next = d->due;
			}
		}
	}
	l->denied_due = next;
	return next;
}
