/* SPDX-License-Identifier: Apache-2.0 */
/* Scans a stream of the command for secrets on its way.
 *
 * `warn` looks at the bytes and lets them pass.  `redact` lets the scanner's own output pass, in
 * which a secret is replaced.  With `block` and `kill` that output ends before the first secret.
 *
 * Should:   create the scanner only when there are bytes (T3).
 * Must not: delay a byte that cannot belong to a secret.
 * Fails:    closed: without a scanner or without memory nothing more passes, unless the action is
 *           `warn`; the run reports that the output was not scanned. */
#include "run/leak_tap.h"

#include <assert.h>

void leak_tap_done(struct leak_tap *t) {
	leak_stream_free(t->stream);
	buf_done(&t->clean);
	*t = LEAK_TAP_NONE;
}

bool leak_tap_replaces(const struct leak_tap *t) {
	return t->watch != NULL && t->watch->action > LEAK_WARN;
}

static void on_found(void *arg, const struct leak_finding *finding) {
	struct leak_tap *t = arg;
	struct leak_watch *w = t->watch;

	leak_log_add(w->log, finding, t->place, w->action, NULL);
	w->kill = w->kill || w->action == LEAK_KILL;
}

static int on_output(void *arg, const void *data, size_t len) {
	struct leak_tap *t = arg;

	buf_add(&t->clean, data, len);
	return buf_failed(&t->clean) ? -1 : 0;
}

static bool open_stream(struct leak_tap *t) {
	struct leak_watch *w = t->watch;

	if (w->scanner == NULL && !w->failed) {
		w->scanner = w->source->scanner(w->source->arg);
	}
	if (t->stream == NULL && w->scanner != NULL) {
		t->stream = leak_stream_new(w->scanner, on_found,
					    leak_tap_replaces(t) ? on_output : NULL, t);
		if (t->stream != NULL && w->action >= LEAK_BLOCK) {
			leak_stream_cut(t->stream);
		}
	}
	w->failed = w->failed || t->stream == NULL;
	return !w->failed;
}

void leak_tap_feed(struct leak_tap *t, const char *data, size_t len, int64_t now) {
	struct leak_watch *w = t->watch;

	assert(!t->ended); /* T1 */
	if (!open_stream(t)) {
		return;
	}
	w->failed = leak_stream_feed(t->stream, data, len) != 0;
	if (leak_stream_held(t->stream) == 0) {
		t->held_at = -1;
	} else if (t->held_at < 0) {
		t->held_at = now;
	}
}

void leak_tap_flush(struct leak_tap *t) {
	t->held_at = -1;
	if (t->stream != NULL && !t->watch->failed) {
		t->watch->failed = leak_stream_flush(t->stream) != 0;
	}
}

void leak_tap_end(struct leak_tap *t) {
	t->ended = true;
	t->held_at = -1;
	if (t->stream != NULL && !t->watch->failed) {
		t->watch->failed = leak_stream_end(t->stream) != 0;
	}
}

int64_t leak_tap_due(const struct leak_tap *t) {
	return t->held_at < 0 ? -1 : t->held_at + LEAK_FLUSH_MS;
}

size_t leak_tap_held(const struct leak_tap *t) {
	return t->stream == NULL || !leak_tap_replaces(t) ? 0 : leak_stream_held(t->stream);
}
