/* What a failing command's last words say about the sandbox.
 *
 * A program that is refused something prints its own message, which never names
 * the sandbox.  These rows know the messages and say which rule stands behind
 * them and what to do.  They are advice: nothing is allowed or refused by them. */
#ifndef CORRAL_DATA_HINTS_H
#define CORRAL_DATA_HINTS_H

#include <stddef.h>

/* When a row applies, besides its phrase being there.  What is said about a path is
 * plan/refusal.h's verdict about it: the row has only the text for a line that names none. */
enum hint_when {
	HINT_ALWAYS,
	HINT_OFFLINE,   /* the run has not the host's network */
	HINT_LOOPBACK,  /* likewise, and the row is about the host's own services */
	HINT_LIMIT,     /* the run has the limit that the row is about */
	HINT_SHARED,    /* the engine has no namespaces */
	HINT_DENIED,    /* the line names a path that a rule hides */
	HINT_PROTECTED, /* … a name that a rule protects, be it absolute or not */
	HINT_BUSY,      /* … a path that stays in its place, or none at all */
	HINT_UNSEEN,    /* … a path that is not part of the view */
	HINT_PRIVATE,   /* … a path in the run's own HOME or /tmp, which was not found there */
	HINT_REMOTE,    /* … either, and it is a repository */
	HINT_SOCKET,    /* … either, and it is a unix socket */
	HINT_BESIDE,    /* … a name in a directory of which single files are writable */
	HINT_READ_ONLY, /* … a path that cannot be written inside, or none at all */
	HINT_CLOSED,    /* no namespaces, and the line names a path that is not part of the view */
	HINT_LOCKED,    /* … and the line names a path that cannot be written */
};

struct hint {
	const char *phrase; /* as programs print it; case matters */
	enum hint_when when;
	const char *rule; /* a policy key or a guarantee */
	const char *text; /* the reason and the remedy */
};

/* In order of preference: the first row that applies is the one that is shown. */
extern const struct hint hints[];
extern const size_t hints_count;

/* Without words of a program: pid 1 saw it happen. */
extern const struct hint hint_link;

/* Without words, or with those of HINT_OFFLINE: the gate refused it because no rule allows it, or
 * because of a rule; or it let it through, and it failed outside. */
extern const struct hint hint_unlisted;
extern const struct hint hint_forbidden;
extern const struct hint hint_failed;

#endif
