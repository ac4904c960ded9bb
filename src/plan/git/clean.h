/* A repository's configuration without its credentials. */
#ifndef CORRAL_PLAN_GIT_CLEAN_H
#define CORRAL_PLAN_GIT_CLEAN_H

#include "base/buf.h"

enum git_clean {
	GITCLEAN_SAME,    /* there is nothing to remove */
	GITCLEAN_CHANGED, /* `out` is what may be read */
	GITCLEAN_CLOSED,  /* git cannot read it, and it seems to hold a credential */
};

/* Appends to out; a failed allocation shows there. */
enum git_clean git_clean(const char *text, size_t len, struct buf *out);

#endif
