/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a command: its ending, denials, network decisions, leaks and output. */
#ifndef CORRAL_RESULT_H
#define CORRAL_RESULT_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct corral_result;

void corral_result_free(struct corral_result *result);

/* "exit", "signal", "timeout", "idle", "oom", "limit", "cancelled", or "lost": a process of
 * the sandbox was killed from outside, and Corral killed the command; "leak": the command printed
 * a secret, and scan.output is kill. */
const char *corral_result_reason(const struct corral_result *result);
int corral_result_exit_code(const struct corral_result *result); /* -1 when it did not exit */
int corral_result_signal(const struct corral_result *result);    /* 0 when none */

/* The status as a shell reports it: the exit code, 124 after a time-out, 128+n. */
int corral_result_status(const struct corral_result *result);

int64_t corral_result_duration_ms(const struct corral_result *result);
const char *corral_result_level(const struct corral_result *result); /* "full", "standard", … */

/* Which run it was. */
struct corral_identity {
	size_t size;           /* set by the caller to sizeof */
	const char *id;        /* the same in `corral ps`, `corral diff` and `corral audit` */
	const char *started;   /* RFC 3339, UTC, with milliseconds */
	const char *workspace; /* on the host */
	const char *mode;      /* "read-only", "workspace-write" or "full-access" */
	const char *net;       /* "none", "filtered", "restricted" or "full" */
	const char *agent;     /* env.agent, or the label AGENT_ID; NULL: neither is set */
	const char *session;   /* the label SESSION_ID of env.labels; NULL: it is not set */
};

#define CORRAL_IDENTITY_INIT                                                                       \
	{ .size = sizeof(struct corral_identity) }

/* 0, or -1 when the size is not set.  The texts belong to the result. */
int corral_result_identity(const struct corral_result *result, struct corral_identity *identity);

/* The n-th warning or remark on the plan; NULL after the last. */
const char *corral_result_note(const struct corral_result *result, size_t n);

/* What ended the run, as text: "the time-out of 2 s (--timeout)"; ""
 * when the command ended by itself. */
const char *corral_result_ending(const struct corral_result *result);

/* After a failure of the command: the rule of the sandbox that probably refused it, and the
 * remedy, guessed from its last output; "" when unknown.  Advice, not a record of refusals. */
const char *corral_result_hint(const struct corral_result *result);

/* The errno of a caller's descriptor that could not be read or written, so that bytes
 * were lost, with "stdin", "stdout" or "stderr" in *stream; 0 when
 * none failed.  A reader that closed its end is not a failure. */
int corral_result_lost(const struct corral_result *result, const char **stream);

/* The files that the run left on the host and that a program may run or read later, the gravest
 * first: the n-th path and its kind, "setuid", "hook", "startup", "repository", "executable",
 * "symlink", "socket" or "fifo".  Returns 0, or 1 after the last.  The command chose the names;
 * they may contain any byte except NUL.  more counts the paths that are not in the list. */
int corral_result_created(const struct corral_result *result, size_t n, const char **path,
			  const char **kind);
uint64_t corral_result_created_more(const struct corral_result *result);

/* A decision of the network's gate about one destination. */
struct corral_decision {
	size_t size;            /* set by the caller to sizeof */
	const char *op;         /* "connect", "resolve", "request", "proxy" or "publish" */
	const char *name;       /* of the host; NULL when not known */
	const char *address;    /* NULL when not resolved */
	int port;               /* 0: none */
	const char *verdict;    /* "allowed", "denied", or "failed": allowed, and it did not work */
	const char *rule;       /* as it was written; NULL when no rule matches */
	const char *why;        /* one clause; NULL when it was allowed */
	const char *allow_with; /* denied: the option that would allow it; NULL when none would */
	uint64_t count;         /* how often */
	uint64_t sent, received; /* bytes, as the command sees them */
};

#define CORRAL_DECISION_INIT                                                                       \
	{ .size = sizeof(struct corral_decision) }

/* The n-th decision, in the order of their first occurrence; returns 0, 1 after the last, or -1
 * when its size is not set. The texts belong to the result.  more counts decisions that are not in
 * the list; recorded is 0 for a run without a gate (net.mode none and full): an empty list then
 * means nothing. */
int corral_result_network(const struct corral_result *result, size_t n,
			  struct corral_decision *decision);
uint64_t corral_result_network_more(const struct corral_result *result);
int corral_result_network_recorded(const struct corral_result *result);

/* If the gate ended before the run, which then had no network: the reason, as text; the last
 * decisions may be missing from the list.  NULL when the gate worked to the end. */
const char *corral_result_network_failed(const struct corral_result *result);

/* An operation that the command was refused, and that its caller could have done on the host.  The
 * command chose path and host; they may contain any byte except NUL. */
struct corral_denial {
	size_t size;            /* set by the caller to sizeof */
	const char *op;         /* "open", "mkdir", "rename", "chmod", "connect", "resolve", … */
	const char *access;     /* "read", "write", "create", "delete", "network", "syscall", … */
	const char *path;       /* as the command named it, absolute; NULL: not about a file */
	const char *resolved;   /* without symlinks; NULL: the same, or not known */
	const char *host;       /* the name or address; NULL: about a file or a system call */
	const char *errno_name; /* "EROFS", …; NULL: the command got no errno */
	const char *rule;       /* the policy key or table that refuses it, with its pattern */
	const char *origin;     /* where that was written; NULL: not known */
	const char *why;        /* one sentence */
	const char *remedy; /* what would allow it, or that nothing does; NULL: see allow_with */
	const char *allow_with; /* the smallest option that would allow it; NULL: none, or none that
				 * a program should add by itself (a credential) */
	uint64_t count;         /* how often */
	int port;               /* 0: none */
	int sensitive;          /* a rule about credentials hides the path */
	const char *command;    /* the simple command that a rule refuses; NULL */
	const char *limit;      /* the key of a limit that was reached, "limits.memory"; NULL */
	const char *value;      /* of that limit, as its option takes it; NULL */
};

#define CORRAL_DENIAL_INIT                                                                         \
	{ .size = sizeof(struct corral_denial) }

/* The n-th denial, files and sockets first, then the network gate's: 0, 1 after the last, or -1
 * when its size is not set.  The texts belong to the result.  more counts refusals that are not in
 * the list; recorded is 0 for a run without a broker: an empty list then means nothing. */
int corral_result_denial(const struct corral_result *result, size_t n,
			 struct corral_denial *denial);
uint64_t corral_result_denials_more(const struct corral_result *result);
int corral_result_denials_recorded(const struct corral_result *result);

/* A secret that the leak scanner found: its kind and its place, never its value. */
struct corral_leak {
	size_t size;             /* set by the caller to sizeof */
	const char *kind;        /* "github-token", or the name of the variable that holds it */
	const char *stream;      /* "arguments", "environment", "stdin", "stdout", "stderr"; of a
				  * plain HTTP request "http-line", "http-header", "http-body" */
	const char *view;        /* how it was encoded: "raw", "base64", "url+hex", … */
	const char *fingerprint; /* equal for equal secrets of this run */
	const char *action;      /* "warned", "redacted", "blocked" or "killed" */
	uint64_t offset, length; /* of its first occurrence in the command's own stream */
	uint64_t count;          /* how often */
	const char *host;        /* of a request: the server; "" */
};

#define CORRAL_LEAK_INIT                                                                           \
	{ .size = sizeof(struct corral_leak) }

/* The n-th secret: 0, 1 after the last, or -1 when its size is not set.  The texts belong to the
 * result.  more counts findings that are not in the list; scanned is 0 when the output was not
 * scanned, or not to its end: an empty list then means nothing. */
int corral_result_leak(const struct corral_result *result, size_t n, struct corral_leak *leak);
uint64_t corral_result_leaks_more(const struct corral_result *result);
int corral_result_leaks_scanned(const struct corral_result *result);

/* Whether the audit log has the record of this run: 1; 0: audit.enabled is false; -1: it could not
 * be written, and *why (which may be NULL) says why. */
int corral_result_audited(const struct corral_result *result, const char **why);

/* With fs.cow: the id of the pending changes, for the calls of cow.h, and their number
 * (changes may be NULL; -1 when they cannot be counted).  NULL without changes, or without
 * fs.cow.  Belongs to the result. */
const char *corral_result_cow(const struct corral_result *result, int64_t *changes);

/* With corral_options.timings: the n-th step of the run and its time.  0; 1 after the last; -1 for
 * a NULL argument.  corral(1), --timings, has the steps. */
int corral_result_timing(const struct corral_result *result, size_t n, const char **step,
			 int64_t *us);

/* Files that the command created or changed at the top of its private home, or beside the
 * workspace there, instead of in the caller's home; without caches and settings of programs.  The
 * n-th name, relative to the home, NULL after the last.  The command chose the names.  home is the
 * path of the private home on the host; NULL when there are no such files. */
const char *corral_result_stray(const struct corral_result *result, size_t n);
const char *corral_result_home(const struct corral_result *result);

/* Captured bytes, NUL-terminated, or NULL when the stream was not captured; they
 * belong to the result.  dropped counts the bytes between the kept head and tail.
 * len and dropped may be NULL. */
const char *corral_result_stdout(const struct corral_result *result, size_t *len,
				 uint64_t *dropped);
const char *corral_result_stderr(const struct corral_result *result, size_t *len,
				 uint64_t *dropped);

/* The one-line JSON object of corral(1). */
int corral_result_json(const struct corral_result *result, char **text, struct corral_error *err);

/* The same object for a run that failed before it began: reason "setup" or "refused", with the
 * error.  -1 out of memory. */
int corral_error_json(const struct corral_error *failure, char **text);

/* The same with the id that corral_options.id received, and the start time. */
int corral_failure_json(const struct corral_error *failure, const char *id, char **text);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
