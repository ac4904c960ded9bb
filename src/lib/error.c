/* SPDX-License-Identifier: Apache-2.0 */
/* Converts struct err, which may change, to struct corral_error, which is part of the ABI; and
 * returns texts to the caller.
 *
 * Should:   give every error a remedy if one is known for its errno.
 * Must not: keep a pointer into struct err: all texts are copied.
 * Fails:    never; long texts are truncated. */
#include "lib/internal.h"

#include "data/remedies.h"

#include <stdio.h>

static const enum corral_error_kind public_kinds[] = {
	[ERR_NONE] = CORRAL_E_NONE,           [ERR_USAGE] = CORRAL_E_USAGE,
	[ERR_REFUSED] = CORRAL_E_REFUSED,     [ERR_SETUP] = CORRAL_E_SETUP,
	[ERR_NOT_FOUND] = CORRAL_E_NOT_FOUND, [ERR_NO_EXEC] = CORRAL_E_NOT_EXECUTABLE,
	[ERR_MEMORY] = CORRAL_E_MEMORY,       [ERR_NO_CLONE] = CORRAL_E_SETUP,
	[ERR_NO_NAMESPACES] = CORRAL_E_SETUP, [ERR_NO_BROKER] = CORRAL_E_SETUP,
	[ERR_NO_PROC] = CORRAL_E_SETUP,       [ERR_NO_SCOPE] = CORRAL_E_SETUP,
	[ERR_OUTSIDE] = CORRAL_E_OUTSIDE,     [ERR_SENSITIVE] = CORRAL_E_SENSITIVE,
	[ERR_PROTECTED] = CORRAL_E_PROTECTED, [ERR_FILE_KIND] = CORRAL_E_FILE_KIND,
	[ERR_TOO_LARGE] = CORRAL_E_TOO_LARGE, [ERR_NO_MATCH] = CORRAL_E_NO_MATCH,
	[ERR_SEVERAL] = CORRAL_E_SEVERAL,     [ERR_LEAK] = CORRAL_E_LEAK,
	[ERR_FILE] = CORRAL_E_FILE,           [ERR_HOME_TAKEN] = CORRAL_E_SETUP,
};

int lib_fail(const struct err *e, struct corral_error *out) {
	if (out == NULL) {
		return -1;
	}
	out->kind = public_kinds[e->kind];
	out->sys_errno = e->sys;
	/* Truncation is acceptable in a message. */
	(void)snprintf(out->layer, sizeof out->layer, "%s", e->where);
	(void)snprintf(out->message, sizeof out->message, "%s", e->what);
	const char *limit = remedy_for_limit(e->sys); /* the only remedy for this errno */
	const char *fix = limit != NULL       ? limit
			  : e->fix[0] != '\0' ? e->fix
					      : remedy_for_error(e->where, e->sys);
	(void)snprintf(out->remedy, sizeof out->remedy, "%s", fix == NULL ? "" : fix);
	return -1;
}

int lib_need(const void *pointer, const char *name, struct corral_error *err) {
	struct err e = {0};

	if (pointer != NULL) {
		return 0;
	}
	(void)err_set(&e, ERR_USAGE, "library", "%s is NULL", name);
	return lib_fail(&e, err);
}

int lib_give(struct buf *b, char **text, struct err *e) {
	if (buf_failed(b) || b->data == NULL) {
		buf_done(b);
		return err_memory(e, "library");
	}
	*text = buf_take(b);
	return 0;
}
