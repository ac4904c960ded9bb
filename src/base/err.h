/* Why a call failed, in a form that survives fork().
 *
 * One fixed-size value and no pointers: the child fills it in after clone(),
 * sends it up the status channel in one write, and the parent prints it.
 * It is filled once, where the reason is known; upper levels pass it on.
 *
 * Should:   name the layer, what was attempted on what, errno, and a remedy.
 * Must not: allocate, lock or print (it runs between clone and exec). */
#ifndef CORRAL_BASE_ERR_H
#define CORRAL_BASE_ERR_H

enum err_kind {
	ERR_NONE = 0,
	ERR_USAGE,   /* the caller's words are wrong: option, key, value, file */
	ERR_REFUSED, /* the policy says no */
	ERR_SETUP,   /* the sandbox could not be built as planned */

	/* The host refuses one mechanism; the run is planned again without it (lib/prepare.c). */
	ERR_NO_CLONE,      /* clone3() of the namespaces: trying again costs microseconds */
	ERR_NO_NAMESPACES, /* namespaces that were made cannot be set up */
	ERR_NO_BROKER,     /* seccomp user notification */
	ERR_NO_SCOPE,      /* a scope from the user's systemd */

	ERR_NOT_FOUND, /* the command or the file does not exist inside */
	ERR_NO_EXEC,   /* the command exists and cannot be executed */
	ERR_OUTSIDE,   /* a path that the view does not show */
	ERR_SENSITIVE, /* a path that a rule hides */
	ERR_PROTECTED, /* a path that can be read and not changed */
	ERR_FILE_KIND, /* a file of another kind than the tool works on */
	ERR_TOO_LARGE, /* more than the tool takes at once, or than a limit allows */
	ERR_NO_MATCH,  /* the text to replace is not there */
	ERR_SEVERAL,   /* and there it is more than once */
	ERR_LEAK,      /* the scanner refused the content */
	ERR_FILE,      /* the system refused it; errno says why */
	ERR_MEMORY,    /* out of memory */
};

struct err {
	enum err_kind kind;
	int sys;        /* errno, or 0 */
	char where[24]; /* layer or module: "landlock", "policy" */
	char what[360]; /* one sentence, no newline, no full stop */
	char fix[240];  /* what to do about it, or "" */
};

/* All of these fill *e and return -1, so that failing is always one line.
 * err_set() formats with snprintf and is for the parent; err_sys() and
 * err_sys_at() only copy bytes and are safe in the child. */
int err_set(struct err *e, enum err_kind kind, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int err_sys(struct err *e, const char *where, const char *what);
int err_sys_at(struct err *e, const char *where, const char *what, const char *object);
/* As err_sys(), for a mechanism that a container, a kernel setting or a security module can take
 * away: of this kind when errno is one that those give, else ERR_SETUP. */
int err_host(struct err *e, enum err_kind lacking, const char *where, const char *what);
int err_memory(struct err *e, const char *where);

/* Adds the remedy; returns -1 so that it can end the same line. */
int err_fix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A compiler and an analyser see the caller without the body: this tells them
 * that the answer is -1, so that they do not follow a path on which a failure
 * was not one. */
static inline int err_failed(int minus_one) {
	(void)minus_one;
	return -1;
}
#define err_set(...) err_failed(err_set(__VA_ARGS__))
#define err_sys(...) err_failed(err_sys(__VA_ARGS__))
#define err_host(...) err_failed(err_host(__VA_ARGS__))
#define err_sys_at(...) err_failed(err_sys_at(__VA_ARGS__))
#define err_memory(...) err_failed(err_memory(__VA_ARGS__))
#define err_fix(...) err_failed(err_fix(__VA_ARGS__))

#endif
