/* SPDX-License-Identifier: Apache-2.0 */
/* The author of a commit: user.name and user.email of the caller's git configuration.
 *
 * The file itself is not shown, because it may contain tokens and names of programs; without these
 * two settings no commit can be made. */
#ifndef CORRAL_PLAN_GIT_IDENTITY_H
#define CORRAL_PLAN_GIT_IDENTITY_H

#include "base/buf.h"

/* A longer name or address is left out. */
#define IDENTITY_MAX 160

struct identity {
	char name[IDENTITY_MAX], email[IDENTITY_MAX]; /* "" when not known */
};

/* Reads both from a configuration file; later files override. */
void identity_read(struct identity *id, const char *text);

/* Writes a configuration file that git reads instead of the system's, which it includes: settings
 * of a repository or a home have precedence. */
void identity_write(const struct identity *id, struct buf *out);

#endif
