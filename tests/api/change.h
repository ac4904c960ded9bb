/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the file tools that change entries, for tests: each returns the kind of its error.  A
 * refusal must have a message, and one of the policy a remedy. */
#ifndef CORRAL_TESTS_API_CHANGE_H
#define CORRAL_TESTS_API_CHANGE_H

#include "box.h"

#define R CORRAL_DELETE_RECURSIVE
#define P CORRAL_DIRECTORY_PARENTS

static inline enum corral_error_kind kind_of(struct box *b, int rc) {
	bool policy = b->err.kind == CORRAL_E_OUTSIDE || b->err.kind == CORRAL_E_SENSITIVE ||
		      b->err.kind == CORRAL_E_PROTECTED;

	CHECK(rc == 0 || b->err.message[0] != '\0');
	CHECK(rc == 0 || !policy || b->err.remedy[0] != '\0');
	return rc == 0 ? CORRAL_E_NONE : b->err.kind;
}

static inline enum corral_error_kind made(struct box *b, const char *path, unsigned flags) {
	b->err = (struct corral_error){0};
	return kind_of(b, corral_files_make_directory(b->files, path, flags, &b->err));
}

static inline enum corral_error_kind moved(struct box *b, const char *from, const char *to,
					   unsigned flags) {
	b->err = (struct corral_error){0};
	return kind_of(b, corral_files_move(b->files, from, to, flags, &b->err));
}

static inline enum corral_error_kind deleted(struct box *b, const char *path, unsigned flags) {
	b->err = (struct corral_error){0};
	return kind_of(b, corral_files_delete(b->files, path, flags, &b->err));
}

static inline enum corral_error_kind changed(struct box *b, const char *path, unsigned mode) {
	b->err = (struct corral_error){0};
	return kind_of(b, corral_files_chmod(b->files, path, mode, &b->err));
}

static inline enum corral_error_kind described(struct box *b, const char *path,
					       struct corral_stat *st) {
	b->err = (struct corral_error){0};
	*st = (struct corral_stat){.size = sizeof *st};
	return kind_of(b, corral_files_stat(b->files, path, st, &b->err));
}

/* What the host has. */
static inline bool there(const struct box *b, const char *name) {
	struct stat st;
	return lstat(path_in(b, "%s", name), &st) == 0;
}

#endif
