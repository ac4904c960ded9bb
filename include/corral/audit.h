/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: prints, searches, counts and verifies its records. */
#ifndef CORRAL_AUDIT_H
#define CORRAL_AUDIT_H

#include "error.h"
#include "format.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum corral_audit_form {
	CORRAL_AUDIT_TEXT,   /* one line a record */
	CORRAL_AUDIT_DETAIL, /* all members of a record, one a line */
	CORRAL_AUDIT_JSON,   /* the records as they are, one JSON object a line */
	CORRAL_AUDIT_OTLP,   /* one ExportLogsServiceRequest of OpenTelemetry, as JSON */
	CORRAL_AUDIT_OCSF,   /* one event of the Open Cybersecurity Schema Framework a line */
	CORRAL_AUDIT_TRACES, /* one ExportTraceServiceRequest of OpenTelemetry, as JSON */
};

/* Which records, and how they are printed.  NULL and 0: no restriction. */
struct corral_audit_options {
	size_t size; /* set by the caller to sizeof */
	const char *since,
		*until; /* RFC 3339 in UTC, as "2026-11-17T09:30", or an age: "2h", "7d" */
	const char *id; /* of a run, or the last characters of it */
	const char *session, *agent, *verdict;
	const char *path; /* this path or beneath it: refused, or the directory of a run */
	const char *host; /* this name and its subdomains, or an address */
	const char *kind; /* "run", "deny.net", …; "deny" is all kinds that begin with it */
	uint64_t last;    /* only the last records of these */
	int fd;           /* where corral_audit_print() writes */
	int colour;       /* 1: of text */
	int follow;       /* 1: waits for new records, until the reader closes fd */
	enum corral_audit_form form;
	const char *search; /* a part of the record as it is in the log, without regard to case */
	const char *before; /* corral_audit_page(): the "next" of the page before */
	int budget_ms; /* corral_audit_page(), _stats(): the newest records first, and no longer
			* than this; the answer says whether it is complete.  0: no bound */
	int reserved;  /* 0 */
};

#define CORRAL_AUDIT_OPTIONS_INIT                                                                  \
	{ .size = sizeof(struct corral_audit_options), .fd = 1 }

/* Prints records of the user's log, the oldest first; *count (may be NULL) is their number. */
int corral_audit_print(const struct corral_audit_options *options, uint64_t *count,
		       struct corral_error *err);

/* At most `last` records (0: 100), the newest first, as {"records": [...], "next": cursor or null,
 * "complete": true}.  "complete" is false when budget_ms was over first: "next" then goes on with
 * the older records.  The log is read backwards, so a page costs the same at any size of it.  With
 * `since` the reading ends at the first older record. */
int corral_audit_page(const struct corral_audit_options *options, char **text,
		      struct corral_error *err);

/* Runs over time, denials by rule, hosts, the slowest runs.  options may be NULL. */
int corral_audit_stats(const struct corral_audit_options *options, enum corral_format format,
		       char **text, struct corral_error *err);

/* Checks the hash chain of the whole log against its head: *intact (may be NULL) is 0 when a
 * record was edited, removed, moved or cut off.  The text names each. */
int corral_audit_verify(enum corral_format format, char **text, int *intact,
			struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
