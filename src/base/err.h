/* SPDX-License-Identifier: Apache-2.0 */
/* struct err: why a call failed, as one value that can cross fork().
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
	ERR_USAGE,   /* usage error: option, key, value, file */
	ERR_REFUSED, /* the policy does not allow it */
	ERR_SETUP,   /* the sandbox could not be set up as planned */

	/* The host refuses one mechanism; the run is planned again without it (lib/prepare.c). */
	ERR_NO_CLONE,      /* clone3() of the namespaces: trying again costs microseconds */
	ERR_NO_NAMESPACES, /* namespaces that were made cannot be set up */
	ERR_NO_PROC,       /* a procfs of its own, and writing to /proc/sys */
	ERR_NO_BROKER,     /* seccomp user notification */
	ERR_NO_SCOPE,      /* a scope from the user's systemd */
	ERR_HOME_TAKEN,    /* other runs use the private home with other mount points */

	ERR_NOT_FOUND, /* the command or the file does not exist in the sandbox */
	ERR_NO_EXEC,   /* the command exists and cannot be executed */
	ERR_OUTSIDE,   /* a path that is not in the view */
	ERR_SENSITIVE, /* a path that fs.deny hides */
	ERR_PROTECTED, /* a path that can be read but not changed */
	ERR_FILE_KIND, /* the tool does not support this file type */
	ERR_TOO_LARGE, /* larger than the tool's or the policy's limit */
	ERR_NO_MATCH,  /* the text to replace was not found */
	ERR_SEVERAL,   /* the text to replace was found more than once */
	ERR_LEAK,      /* the scanner refused the content */
	ERR_FILE,      /* a system call failed; see errno */
	ERR_MEMORY,    /* out of memory */
};

struct err {
	enum err_kind kind;
	int sys;        /* errno, or 0 */
	char where[24]; /* layer or module: "landlock", "policy" */
	char what[360]; /* one sentence, no newline, no full stop */
	char fix[240];  /* the remedy, or "" */
};

/* All of these fill *e and return -1, so that failing is always one line.
 * err_set() formats with snprintf and is for the parent; err_sys() and
 * err_sys_at() only copy bytes and are safe in the child. */
int err_set(struct err *e, enum err_kind kind, const char *where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int err_sys(struct err *e, const char *where, const char *what);
int err_sys_at(struct err *e, const char *where, const char *what, const char *object);
/* As err_sys(), for a call that a container, a sysctl or an LSM may refuse: the kind is `lacking`
 * if errno is one of those that they return, else ERR_SETUP. */
int err_host(struct err *e, enum err_kind lacking, const char *where, const char *what);
int err_memory(struct err *e, const char *where);

/* Adds the remedy; returns -1 so that it can end the same line. */
int err_fix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Compilers and static analysers do not see the bodies: the inline function shows them that the
 * result is -1, so that they do not analyse paths on which a failure returns 0. */
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
