/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the audit log: its lines in order, their members, and the filters of `corral audit`. */
#ifndef CORRAL_AUDIT_READ_H
#define CORRAL_AUDIT_READ_H

#include "audit/audit.h"

/* A JSON value as it is in the line; len 0: the member is missing.  Strings keep their quotes. */
struct audit_field {
	const char *text;
	size_t len;
};

/* The members that readers use, in the order of record.c. */
enum audit_member {
	AUDIT_TIME,
	AUDIT_SEQ,
	AUDIT_KIND,
	AUDIT_ID,
	AUDIT_SESSION,
	AUDIT_AGENT,
	AUDIT_VERDICT,
	AUDIT_REASON,
	AUDIT_EXIT,
	AUDIT_SIGNAL,
	AUDIT_DURATION,
	AUDIT_LEVEL,
	AUDIT_COMMAND,
	AUDIT_CWD,
	AUDIT_WORKSPACE,
	AUDIT_OP,
	AUDIT_PATH,
	AUDIT_HOST,
	AUDIT_PROGRAM,
	AUDIT_SYSCALL,
	AUDIT_METHOD,
	AUDIT_PORT,
	AUDIT_ACCESS,
	AUDIT_ERRNO,
	AUDIT_RULE,
	AUDIT_WHY,
	AUDIT_ALLOW_WITH,
	AUDIT_COUNT,
	AUDIT_LEAK,
	AUDIT_STREAM,
	AUDIT_FINGERPRINT,
	AUDIT_SECRET,
	AUDIT_MEMBERS
};

struct audit_fields {
	struct audit_field at[AUDIT_MEMBERS];
	size_t next, expected; /* where audit_fields_more() goes on */
	bool counted;          /* "count" was read */
};

/* The members of a line up to `last`, which comes no later than it does in record.c; -1 when the
 * line is not a JSON object.  Where the record has "count", the members after it are not read: they
 * are in no table.  AUDIT_MEMBERS: the whole line. */
int audit_fields_read(const struct audit_line *l, enum audit_member last, struct audit_fields *ret);
/* Goes on to a later one. */
int audit_fields_more(const struct audit_line *l, enum audit_member last,
		      struct audit_fields *fields);

/* One after the other; *at moves.  1: a member; 0: the end; -1: not JSON. */
int audit_member_next(const struct audit_line *l, size_t *at, struct audit_field *ret_key,
		      struct audit_field *ret_value);

/* The same for the values of an array. */
int audit_element_next(const struct audit_field *list, size_t *at, struct audit_field *ret_value);

/* Adds a value of a line as JSON that is valid also if the line was edited. */
struct emit;
void audit_emit_value(struct emit *j, const char *key, struct audit_field value);

/* The string without its quotes, still escaped; empty for null and for numbers. */
struct audit_field audit_unquote(struct audit_field f);
int64_t audit_number(struct audit_field f, int64_t missing);

/* ---- filters ---- */

/* NULL: any. */
struct audit_query {
	int64_t since_ms, until_ms; /* since 1970; 0: no bound */
	const char *id;             /* an id, or its last characters */
	const char *session, *agent, *verdict;
	const char *path;   /* it or beneath it: of a refusal, or a run's directory or workspace */
	const char *host;   /* a name and its subdomains, or an address */
	const char *kind;   /* "run", "deny.net", or "deny" for all of them */
	const char *search; /* a part of the line, without its hashes and without regard to case */
};

struct audit_filter {
	char since[25], until[25]; /* "": no bound */
	struct buf texts[8];       /* escaped as in a line */
	enum audit_member needs;   /* the last member that is compared */
};

int audit_filter_init(struct audit_filter *f, const struct audit_query *q, struct err *e);
void audit_filter_done(struct audit_filter *f);
bool audit_filter_passes(const struct audit_filter *f, const struct audit_fields *fields);
/* Reads a line: its members up to the last one that the filter needs, and if it passes up to
 * `last`.  False for a line that does not pass or is no record. */
bool audit_filter_line(const struct audit_filter *f, const struct audit_line *l,
		       enum audit_member last, struct audit_fields *ret);

/* ---- the files ---- */

/* Calls `line` for each line of the log, in order, complete or not; a result other than 0 stops and
 * is returned.  From the number `first_file` and the offset *at on; both move. */
struct audit_cursor {
	uint64_t file;
	uint64_t at;
};
typedef int audit_line_fn(void *arg, const struct audit_line *l, const struct audit_cursor *where);
int audit_each_line(const char *dir, struct audit_cursor *from, audit_line_fn *line, void *arg,
		    struct err *e);

/* The same from the end to the beginning: the lines that end at *from or before it.  file 0: from
 * the end of the log.  `where` is the place of the line, and *from moves there. */
int audit_each_line_back(const char *dir, struct audit_cursor *from, audit_line_fn *line, void *arg,
			 struct err *e);

/* ---- page.c ---- */

struct audit_page {
	const char *dir;
	struct audit_cursor before; /* file 0: the end of the log */
	uint64_t limit;
	int64_t until; /* CLOCK_MONOTONIC in milliseconds; 0: no bound */
};
int audit_page(const struct audit_page *p, const struct audit_query *q, struct buf *out,
	       struct err *e);

/* "FILE.OFFSET". */
bool audit_cursor_read(const char *text, struct audit_cursor *ret);

/* Whether the record is older than the filter's `since`: those before it are, too. */
bool audit_filter_ends(const struct audit_filter *f, const struct audit_fields *fields);

#endif
