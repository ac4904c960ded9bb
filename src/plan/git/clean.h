/* SPDX-License-Identifier: Apache-2.0 */
/* Removes credentials from the text of a git configuration. */
#ifndef CORRAL_PLAN_GIT_CLEAN_H
#define CORRAL_PLAN_GIT_CLEAN_H

#include "base/buf.h"

enum git_clean {
	GIT_CLEAN_SAME,    /* there is no credential */
	GIT_CLEAN_CHANGED, /* `out` is the text without credentials */
	GIT_CLEAN_CLOSED,  /* git cannot parse it, and it looks like it contains a credential */
};

/* Appends to out; a failed allocation leaves it failed. */
enum git_clean git_clean(const char *text, size_t len, struct buf *out);

#endif
