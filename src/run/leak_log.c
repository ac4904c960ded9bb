/* SPDX-License-Identifier: Apache-2.0 */
/* Records the findings of the leak scanner, each secret once.
 *
 * Should:   count a secret that occurs again in the same place and view.
 * Must not: grow: a command that prints secrets without end must not fill the memory.
 * Fails:    a finding beyond LEAK_RECORDS, or without memory, is counted and has no record. */
#include "run/leak_log.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const places[] = {
	[LEAK_IN_ARGS] = "arguments", [LEAK_IN_ENV] = "environment",
	[LEAK_IN_STDIN] = "stdin",    [LEAK_IN_STDOUT] = "stdout",
	[LEAK_IN_STDERR] = "stderr",  [LEAK_IN_FILE] = "file",
	[LEAK_IN_LINE] = "http-line", [LEAK_IN_HEADER] = "http-header",
	[LEAK_IN_BODY] = "http-body",
};

static const char *const actions[] = {
	[LEAK_OFF] = "ignored",   [LEAK_WARN] = "warned", [LEAK_REDACT] = "redacted",
	[LEAK_BLOCK] = "blocked", [LEAK_KILL] = "killed",
};

const char *leak_place_name(enum leak_place place) {
	return places[place];
}

const char *leak_action_name(enum leak_action action) {
	return actions[action];
}

static struct leak_record *find_record(struct leak_log *log, const struct leak_record *like) {
	for (size_t i = 0; i < log->n; i++) {
		struct leak_record *r = &log->records[i];
		if (r->place == like->place && streq(r->fingerprint, like->fingerprint) &&
		    streq(r->kind, like->kind) && streq(r->view, like->view) &&
		    streq(r->host, like->host)) {
			return r;
		}
	}
	return NULL;
}

void leak_log_add(struct leak_log *log, const struct leak_finding *f, enum leak_place place,
		  enum leak_action action, const char *host) {
	struct leak_record new = {
		.place = place,
		.offset = f->offset,
		.length = f->length,
		.action = action,
		.count = 1,
	};
	(void)snprintf(new.kind, sizeof new.kind, "%s", f->kind);                  /* may be cut */
	(void)snprintf(new.host, sizeof new.host, "%s", host == NULL ? "" : host); /* likewise */
	(void)leak_view_text(f, new.view); /* returns new.view */
	memcpy(new.fingerprint, f->fingerprint, sizeof new.fingerprint);
	leak_log_put(log, &new);
}

void leak_log_put(struct leak_log *log, const struct leak_record *new) {
	struct leak_record *known = find_record(log, new);

	if (log->records == NULL) {
		log->records = calloc(LEAK_RECORDS, sizeof *log->records);
	}
	if (known != NULL) {
		known->count++;
	} else if (log->records == NULL || log->n == LEAK_RECORDS) {
		log->more++;
	} else {
		log->records[log->n++] = *new;
	}
}

void leak_log_done(struct leak_log *log) {
	free(log->records);
	*log = (struct leak_log){0};
}
