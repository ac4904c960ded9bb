/* SPDX-License-Identifier: Apache-2.0 */
/* The private homes of workspaces: lists and removes them. */
#ifndef CORRAL_HOMES_H
#define CORRAL_HOMES_H

#include "error.h"
#include "format.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* The private homes of workspaces: id, size, last use, workspace. */
int corral_home_list(enum corral_format format, char **text, struct corral_error *err);

struct corral_home_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *names; /* ids or workspaces; ends with NULL, and may be NULL */
	int all;                  /* 1: without names, every home */
	int dry_run;              /* 1: only list the homes that would be removed */
};

/* Removes private homes: those that are named, all, or with options NULL those whose workspace is
 * gone.  A home that a run uses is kept and counted in *left, which may be NULL.  *text has a line
 * for each. */
int corral_home_clean(const struct corral_home_options *options, enum corral_format format,
		      char **text, size_t *left, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
