/* Who signs a commit: the name and the address of the caller's git
 * configuration, and nothing else of it.
 *
 * The file itself is not shown inside, because it may hold tokens and the names
 * of programs; without these two lines no commit can be made. */
#ifndef CORRAL_PLAN_GIT_IDENTITY_H
#define CORRAL_PLAN_GIT_IDENTITY_H

#include "base/buf.h"

/* Longer than any that a person has; a longer one is not taken. */
#define IDENTITY_MAX 160

struct identity {
	char name[IDENTITY_MAX], email[IDENTITY_MAX]; /* "" when not known */
};

/* Takes what a configuration file says of both; later files override. */
void identity_read(struct identity *id, const char *text);

/* As a configuration file that git reads in place of the system's, which it
 * includes: everything that a repository or a home says has precedence. */
void identity_write(const struct identity *id, struct buf *out);

#endif
