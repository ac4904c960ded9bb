/* SPDX-License-Identifier: Apache-2.0 */
/* Reads secrets from a flat JSON object of strings, or from a .env file. */
#ifndef CORRAL_VAULT_IMPORT_H
#define CORRAL_VAULT_IMPORT_H

#include "vault/vault.h"

struct import_entry {
	const char *name; /* both point into the text */
	unsigned char *value;
	size_t len;
	int line;
};

struct import {
	const char *file; /* for messages */
	struct import_entry *list;
	size_t n, cap;
};

/* Parses the text in place: values are decoded where they lie, so no copy of them is made (V3).
 * text has one byte more than len, for a NUL.  An object if it begins with '{', else .env.  The
 * caller calls import_done(), also after a failure. */
int import_parse(char *text, size_t len, struct import *ret, struct err *e);
void import_done(struct import *in);

/* For the two parsers. */
int import_fail(const struct import *in, int line, const char *why, struct err *e);
int import_add(struct import *in, const struct import_entry *entry, struct err *e);
int import_json(char *text, size_t len, struct import *in, struct err *e);
int import_dotenv(char *text, size_t len, struct import *in, struct err *e);

#endif
