/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets that the leak scanner found in a run, without their values.
 *
 * Should:   keep one record for each secret, place and view, with a count.
 * Must not: hold a byte of a value, or grow with the number of findings. */
#ifndef CORRAL_RUN_LEAK_LOG_H
#define CORRAL_RUN_LEAK_LOG_H

#include "data/keys.h"
#include "leak/leak.h"

#include <stdbool.h>
#include <stdint.h>

enum leak_place {
	LEAK_IN_ARGS,
	LEAK_IN_ENV,
	LEAK_IN_STDIN,
	LEAK_IN_STDOUT,
	LEAK_IN_STDERR,
	LEAK_IN_FILE,   /* of a file tool */
	LEAK_IN_LINE,   /* of a plain HTTP request: its request line, */
	LEAK_IN_HEADER, /* a field, a chunk extension or a trailer, */
	LEAK_IN_BODY,   /* its content */
};

#define LEAK_KIND_MAX 64 /* a kind's name, or a variable's, cut */
#define LEAK_RECORDS 32
#define LEAK_HOST_MAX 128 /* a server's name without its secrets, cut */

struct leak_record {
	char kind[LEAK_KIND_MAX];
	enum leak_place place;
	uint64_t offset, length; /* of the first occurrence */
	char view[LEAK_VIEW_TEXT];
	char fingerprint[LEAK_FINGERPRINT];
	enum leak_action action;
	uint64_t count;
	char host[LEAK_HOST_MAX]; /* of a request: the server; "": none */
};

struct leak_log {
	struct leak_record *records; /* LEAK_RECORDS, allocated with the first finding; or NULL */
	size_t n;
	uint64_t more; /* findings without a record */
};

/* host: NULL for none. */
void leak_log_add(struct leak_log *log, const struct leak_finding *f, enum leak_place place,
		  enum leak_action action, const char *host);
/* A record with the count 1 that was made elsewhere. */
void leak_log_put(struct leak_log *log, const struct leak_record *new);
void leak_log_done(struct leak_log *log);

/* "arguments", "environment", "stdin", "stdout", "stderr", "file", "http-line", "http-header",
 * "http-body"; "warned", "redacted", "blocked", "killed". */
const char *leak_place_name(enum leak_place place);
const char *leak_action_name(enum leak_action action);

#endif
