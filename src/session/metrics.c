/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's counters as Prometheus text.
 *
 * Should:   have a HELP and a TYPE line for each name.
 * Must not: use a name that a client chose as a label.
 * Fails:    returns NULL out of memory. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *help;
	size_t offset;
} rows[] = {
	{"sessions_created_total", "Sessions that were created.",
	 offsetof(struct counters, created)},
	{"sessions_failed_total", "Sessions that ended by a failure.",
	 offsetof(struct counters, failed)},
	{"sessions_stopped_total", "Sessions that ended as requested, or by their time-out.",
	 offsetof(struct counters, stopped)},
	{"execs_total", "Commands that were sent to a session.", offsetof(struct counters, execs)},
	{"exec_errors_total", "Commands that did not run.", offsetof(struct counters, exec_errors)},
	{"requests_total", "Requests of clients.", offsetof(struct counters, requests)},
	{"requests_refused_total", "Requests that were refused at once.",
	 offsetof(struct counters, refused)},
	{"malformed_total", "Lines that are not a request.", offsetof(struct counters, malformed)},
	{"connections_total", "Connections that were accepted.",
	 offsetof(struct counters, connections)},
	{"connections_refused_total", "Connections that were refused.",
	 offsetof(struct counters, connections_refused)},
	{"token_failures_total", "Tokens that were wrong, expired or revoked.",
	 offsetof(struct counters, token_failures)},
	{"reloads_total", "Reloads of the policy files.", offsetof(struct counters, reloads)},
	{"reload_failures_total", "Reloads that kept the old policy files.",
	 offsetof(struct counters, reload_failures)},
};

static void put_head(struct buf *out, const char *name, const char *type, const char *help) {
	buf_printf(out, "# HELP corral_%s %s\n# TYPE corral_%s %s\n", name, help, name, type);
}

static void put(struct buf *out, const char *name, const char *type, const char *help,
		uint64_t value) {
	put_head(out, name, type, help);
	buf_printf(out, "corral_%s %" PRIu64 "\n", name, value);
}

/* Each state in which a session is alive, also with none: a series that comes and goes has gaps. */
static void put_states(struct buf *out, const struct daemon *d) {
	size_t counts[SESSION_STATES] = {0};

	for (const struct live *l = d->lives; l != NULL; l = l->next) {
		counts[l->state]++;
	}
	put_head(out, "sessions_by_state", "gauge", "Sessions that are alive, by their state.");
	for (int i = 0; i < SESSION_STATES; i++) {
		if (!state_is_final((enum session_state)i)) {
			buf_printf(out, "corral_sessions_by_state{state=\"%s\"} %zu\n",
				   state_name((enum session_state)i), counts[i]);
		}
	}
}

/* Resident memory of the daemon, in bytes. */
static uint64_t resident_bytes(void) {
	struct buf text;
	unsigned long pages = 0;

	buf_init(&text);
	if (fd_read_file("/proc/self/statm", 256, &text) == 0 && text.data != NULL) {
		const char *second = strchr(text.data, ' ');
		pages = second == NULL ? 0 : strtoul(second, NULL, 10);
	}
	buf_done(&text);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

char *metrics_text(const struct daemon *d) {
	struct buf out;
	size_t connections = 0;

	buf_init(&out);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t value;
		memcpy(&value, (const char *)&d->counters + rows[i].offset, sizeof value);
		put(&out, rows[i].name, "counter", rows[i].help, value);
	}
	for (const struct conn *c = d->conns; c != NULL; c = c->next) {
		connections++;
	}
	put(&out, "sessions", "gauge", "Sessions that are alive.", d->nlives);
	put_states(&out, d);
	put(&out, "connections", "gauge", "Open connections.", connections);
	put(&out, "resident_bytes", "gauge", "Memory of the daemon.", resident_bytes());
	put(&out, "start_time_seconds", "gauge", "Start of the daemon, since 1970.",
	    (uint64_t)d->started / 1000);
	if (buf_failed(&out)) {
		buf_done(&out);
		return NULL;
	}
	return buf_take(&out);
}
