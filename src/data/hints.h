/* SPDX-License-Identifier: Apache-2.0 */
/* Hints: which rule of the sandbox explains the error message of a failed command.
 *
 * A program whose system call the sandbox refused prints its own message, which never
 * names the sandbox.  Each row maps such a message to the rule that caused it and to a
 * remedy.  Hints are advice: they allow and refuse nothing. */
#ifndef CORRAL_DATA_HINTS_H
#define CORRAL_DATA_HINTS_H

#include <stddef.h>

/* When a row applies, in addition to its phrase.  For a line that names a path, the text
 * is plan/refusal.h's verdict about that path; the row's own text is for a line without one. */
enum hint_when {
	HINT_ALWAYS,
	HINT_OFFLINE,   /* the run does not have the host's network */
	HINT_LOOPBACK,  /* likewise, and the row is about a service on the host's loopback */
	HINT_LIMIT,     /* the run has the limit that the row is about */
	HINT_SHARED,    /* the engine has no namespaces */
	HINT_CALLS,     /* the policy adds refused system calls: seccomp.extra_deny */
	HINT_DENIED,    /* the line names a path that a rule hides */
	HINT_PROTECTED, /* … a name that a rule protects, be it absolute or not */
	HINT_BUSY,      /* … a path that cannot be renamed during the run, or no path */
	HINT_UNSEEN,    /* … a path that is not part of the view */
	HINT_PRIVATE,   /* … a path in the run's own HOME or /tmp, which was not found there */
	HINT_REMOTE,    /* … either, and it is a repository */
	HINT_SOCKET,    /* … either, and it is a unix socket */
	HINT_BESIDE,    /* … a name in a directory of which single files are writable */
	HINT_READ_ONLY, /* … a path that cannot be written in the sandbox, or no path */
	HINT_CLOSED,    /* no namespaces, and the line names a path that is not part of the view */
	HINT_LOCKED,    /* … and the line names a path that cannot be written */
};

struct hint {
	const char *phrase; /* as programs print it; case matters */
	enum hint_when when;
	const char *rule; /* a policy key or a guarantee */
	const char *text; /* the reason and the remedy */
};

/* In order of preference: the first row that applies is printed. */
extern const struct hint hints[];
extern const size_t hints_count;

/* Not found by a phrase: pid 1 reports the event. */
extern const struct hint hint_link;

/* Not found by a phrase, or by one of HINT_OFFLINE.  In this order: the gate refused the
 * connection because no rule allows it; because of a rule; the gate allowed it, and it failed
 * outside the sandbox. */
extern const struct hint hint_unlisted;
extern const struct hint hint_forbidden;
extern const struct hint hint_failed;

#endif
