/* What in a repository's configuration is a credential.
 *
 * Addresses are judged by their form (plan/git/clean.c); these tables name the
 * entries whose whole value is secret, and how tokens of forges begin. */
#ifndef CORRAL_DATA_GITKEYS_H
#define CORRAL_DATA_GITKEYS_H

#include <stddef.h>

enum gitkey_kind {
	GITKEY_WHOLE,  /* the value is secret */
	GITKEY_SCRIPT, /* it is when it is a shell's text that speaks of a secret */
	GITKEY_PROXY,  /* an address that may come without its scheme */
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
