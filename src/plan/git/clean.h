/* SPDX-License-Identifier: Apache-2.0 */
/* Removes credentials from the text of a git configuration. */
#ifndef CORRAL_PLAN_GIT_CLEAN_H
#define CORRAL_PLAN_GIT_CLEAN_H

#include "base/buf.h"

enum git_clean {
	GITCLEAN_SAME,    /* there is no credential */
	GITCLEAN_CHANGED, /* `out` is the text without credentials */
	GITCLEAN_CLOSED,  /* git cannot parse it, and it looks like it contains a credential */
};

/* Appends to out; a failed allocation leaves it failed. */
enum git_clean git_clean(const char *text, size_t len, struct buf *out);

#endif
