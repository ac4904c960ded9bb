/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a git configuration that hold credentials.
 *
 * plan/git/clean.c finds passwords in URLs by their syntax; these tables name the
 * entries whose whole value is secret, and the prefixes of code hosts' tokens. */
#ifndef CORRAL_DATA_GITKEYS_H
#define CORRAL_DATA_GITKEYS_H

#include <stddef.h>

enum gitkey_kind {
	GITKEY_WHOLE,  /* the value is secret */
	GITKEY_SCRIPT, /* secret if it is a shell script that mentions one */
	GITKEY_PROXY,  /* a URL that may lack its scheme */
};

struct gitkey_row {
	const char *section; /* NULL: any */
	const char *key;     /* in lower case; the entry's key contains it */
	const char *reason;
	enum gitkey_kind kind;
};
extern const struct gitkey_row gitkeys[];
extern const size_t gitkeys_count;

struct token_row {
	const char *prefix;
	const char *reason;
};
extern const struct token_row token_prefixes[];
extern const size_t token_prefixes_count;

#endif
