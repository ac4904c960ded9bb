/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: every run and every decision about it, one JSON object a line.
 *
 * Theory.  The log is a sequence of numbered files in $state/audit; the records are numbered
 * through all of them.  A line ends with a BLAKE2b hash of the line and of the hash before it, so
 * a line that was edited, removed or moved breaks the chain at a known place.  A chain alone does
 * not show that its end was cut off: the head, in a file apart, has number, hash and length of
 * the end.
 *
 * A writer locks the head, reads it, appends its lines with one write(2) and stores the new head.
 * A writer that is killed in between leaves bytes behind the length of the head.  The next writer
 * takes over the lines there that continue the chain.  It removes the rest, a part of a line, and
 * its own first record has "torn", the number of bytes.  Other lines there are not the work of a
 * writer: they stay, and `verify` finds them.  A writer that finds no head, but a log, goes on
 * after the last line, and its first record has "headless".
 *
 * The user who owns the files can write a new chain: the log shows changes only to someone who
 * knows an earlier head.  docs/THREAT_MODEL.md says the same.
 *
 * Invariants, cited by tests:
 *  A1  a record is appended under the lock of the head, with one write(2), and after it the head
 *      is stored;
 *  A2  bytes that are no line of the chain never become one: a part of a line is removed before
 *      the next line is written, and that line says so;
 *  A3  no record holds a raw control character, and none spans two lines. */
#ifndef CORRAL_AUDIT_AUDIT_H
#define CORRAL_AUDIT_AUDIT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AUDIT_WHERE "audit"

/* ---- record.c: one line a record, without time, number and hash ---- */

/* The members of every record that identify its run; NULL: not known. */
struct audit_run_facts {
	const char *id, *session, *agent;
	const char *policy; /* SHA-256 of the policy */
};

struct audit_run {
	bool unsandboxed;    /* mode full-access, or level none */
	const char *verdict; /* "allowed"; "failed": nothing ran, see error */
	const char *reason;  /* of the result */
	int exit_code;       /* -1: none */
	int signal;          /* 0: none */
	int64_t duration_ms;
	const char *level, *engine, *cwd, *workspace, *mode, *net;
	const char *const *argv;                    /* without secrets; ends with NULL */
	int64_t cpu_ms, max_rss_kb, processes_peak; /* -1: not known */
	uint64_t denials, leaks;                    /* how many records follow, counts included */
	const char *error;                          /* why nothing ran; or NULL */
};

/* The kind of the refused object. */
enum audit_denied {
	AUDIT_DENIED_PATH,    /* deny.path */
	AUDIT_DENIED_NET,     /* deny.net */
	AUDIT_DENIED_COMMAND, /* deny.cmd */
	AUDIT_DENIED_SYSCALL, /* deny.syscall */
	AUDIT_DENIED_LIMIT,   /* deny.limit */
	AUDIT_DENIED_RPC,     /* deny.rpc */
};

/* One refusal, from the broker, the gate, a file tool, the command rules or the daemon. */
struct audit_denial {
	enum audit_denied what;
	const char *op;         /* "open", "connect", "resolve", "execute", … */
	const char *object;     /* path, host, command, system call or method */
	unsigned port;          /* 0: none */
	const char *access;     /* "read", "write", "network"; or NULL */
	const char *error;      /* "EACCES"; or NULL */
	const char *rule;       /* as it was written; or NULL */
	const char *why;        /* one clause; or NULL */
	const char *allow_with; /* the smallest grant; or NULL */
	uint64_t count;
};

struct audit_leak {
	const char *path; /* of the file of a file tool; or NULL */
	const char *kind, *stream, *view, *fingerprint;
	const char *action; /* "warned", "redacted", "blocked", "killed": the verdict */
	uint64_t count;
};

/* One answer to a question of --ask. */
struct audit_grant {
	bool allowed, host;
	const char *op, *object; /* the real path, or the host */
	const char *answer;      /* "once", "run", "always", "deny" */
	const char *by;          /* "user", "timeout", "ended", "error" */
	const char *options;     /* what "run" and "always" allow */
	int64_t waited_ms;
	uint64_t count; /* calls that it was for */
};

/* Each adds one line to `out`; f may not be NULL, its fields may. */
void audit_put_run(struct buf *out, const struct audit_run_facts *f, const struct audit_run *r);
void audit_put_denial(struct buf *out, const struct audit_run_facts *f,
		      const struct audit_denial *d);
void audit_put_leak(struct buf *out, const struct audit_run_facts *f, const struct audit_leak *l);
void audit_put_degraded(struct buf *out, const struct audit_run_facts *f, const char *level,
			const char *why);
/* `how` is "env" or "file". */
void audit_put_secret(struct buf *out, const struct audit_run_facts *f, const char *name,
		      const char *how);
/* A file tool gave the whole file to its client. */
void audit_put_sent(struct buf *out, const struct audit_run_facts *f, const char *path,
		    uint64_t bytes);
void audit_put_grant(struct buf *out, const struct audit_run_facts *f, const struct audit_grant *g);
void audit_put_trust(struct buf *out, const struct audit_run_facts *f, const char *path,
		     const char *sha256);

/* The kinds that are written; NULL-terminated. */
extern const char *const audit_kinds[];

/* ---- chain.c: lines, hashes, the head ---- */

#define AUDIT_HASH 64 /* hexadecimal digits */

struct audit_head {
	uint64_t first_file, first_seq; /* the oldest that is kept */
	uint64_t file, seq;             /* the file that is written, and the last record */
	uint64_t length;                /* of that file */
	char hash[AUDIT_HASH + 1];      /* of the last record */
};

#define AUDIT_HEAD_SIZE 192

/* The head of a log without records. */
void audit_head_init(struct audit_head *h);
void audit_head_text(const struct audit_head *h, char ret[AUDIT_HEAD_SIZE]);
bool audit_head_read(const char *text, size_t len, struct audit_head *ret);

/* A line without its newline. */
struct audit_line {
	const char *text;
	size_t len;
};

/* Adds a whole line for one body of record.c and advances the chain in h.  `remark` is "", or
 * members about the log itself, as "\"torn\":12,". */
void audit_chain_add(struct audit_head *h, const char *time, const char *remark,
		     const struct audit_line *body, struct buf *out);

/* The number of a line; 0 when it has none. */
uint64_t audit_line_seq(const struct audit_line *l);
/* The hash that a line ends with; NULL when it does not. */
const char *audit_line_hash(const struct audit_line *l);
/* True when the line follows the hash `before`. */
bool audit_line_follows(const struct audit_line *l, const char *before);

/* ---- store.c: the files ---- */

/* A file is closed when it has this size, and the oldest of so many is removed. */
#define AUDIT_FILE_MAX ((uint64_t)16 * 1024 * 1024)
#define AUDIT_FILES 64

struct audit_place {
	const char *dir; /* $state/audit */
	int head;        /* a descriptor of the file with the head, open for reading and writing */
	off_t head_at;   /* where it is in there */
	uint64_t file_max; /* 0: AUDIT_FILE_MAX */
	unsigned files;    /* 0: AUDIT_FILES */
};

/* Appends the lines of record.c.  The lock of the head stays with the descriptor: the caller
 * closes it, or calls audit_unlock(). */
int audit_append(const struct audit_place *p, const struct buf *bodies, struct err *e);
void audit_unlock(const struct audit_place *p);

/* Whether a record could be appended now: creates the directory and the file, and reserves space
 * where the file system can. */
int audit_prepare(const struct audit_place *p, struct err *e);

/* The path of a file of the log. */
bool audit_file_path(const char *dir, uint64_t number, char ret[PATH_MAX]);

/* Reads the head; false when there is none. */
bool audit_read_head(const struct audit_place *p, struct audit_head *ret);

/* The numbers of the oldest and the newest file; false without any. */
bool audit_find_files(const char *dir, uint64_t *ret_first, uint64_t *ret_last);

#endif
