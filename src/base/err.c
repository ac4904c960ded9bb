/* SPDX-License-Identifier: Apache-2.0 */
/* Fills struct err.
 *
 * Should:   record errno before any other call can change it.
 * Must not: allocate or lock; err_sys() and err_sys_at() also do not format.
 * Fails:    never: a text that is too long is truncated. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The parentheses around the functions' names stop the macros of err.h. */

/* Appends src at offset `at`, bounded, without printf: usable between clone and exec. */
static size_t append(char *dst, size_t cap, size_t at, const char *src) {
	while (at + 1 < cap && *src != '\0') {
		dst[at++] = *src++;
	}
	dst[at] = '\0';
	return at;
}

static void begin(struct err *e, enum err_kind kind, int sys, const char *where) {
	e->kind = kind;
	e->sys = sys;
	e->what[0] = '\0';
	e->fix[0] = '\0';
	append(e->where, sizeof e->where, 0, where);
}

int(err_set)(struct err *e, enum err_kind kind, const char *where, const char *fmt, ...) {
	va_list ap;

	begin(e, kind, 0, where);
	va_start(ap, fmt);
	(void)vsnprintf(e->what, sizeof e->what, fmt,
			ap); /* truncation is acceptable in a message */
	va_end(ap);
	return -1;
}

int(err_sys)(struct err *e, const char *where, const char *what) {
	begin(e, ERR_SETUP, errno, where);
	append(e->what, sizeof e->what, 0, what);
	return -1;
}

int(err_host)(struct err *e, enum err_kind lacking, const char *where, const char *what) {
	begin(e, ERR_SETUP, errno, where);
	append(e->what, sizeof e->what, 0, what);
	switch (e->sys) {
	case EPERM:
	case EACCES:
	case EROFS:
	case ENOSYS:
	case ENOSPC:
#ifdef EUSERS /* Windows has no user namespaces */
	case EUSERS:
#endif
	case EINVAL:
	case EBUSY:
	case EOPNOTSUPP:
	case ENOENT:
		e->kind = lacking;
		break;
	default:
		break;
	}
	return -1;
}

int(err_sys_at)(struct err *e, const char *where, const char *what, const char *object) {
	size_t at;

	begin(e, ERR_SETUP, errno, where);
	at = append(e->what, sizeof e->what, 0, what);
	at = append(e->what, sizeof e->what, at, " ");
	append(e->what, sizeof e->what, at, object);
	return -1;
}

int(err_memory)(struct err *e, const char *where) {
	begin(e, ERR_MEMORY, ENOMEM, where);
	append(e->what, sizeof e->what, 0, "out of memory");
	return -1;
}

int(err_fix)(struct err *e, const char *fmt, ...) {
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e->fix, sizeof e->fix, fmt, ap); /* truncation is acceptable in a message */
	va_end(ap);
	return -1;
}
