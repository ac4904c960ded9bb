/* SPDX-License-Identifier: Apache-2.0 */
/* The parser state that toml.c and toml_scalar.c share. */
#ifndef CORRAL_POLICY_TOML_H
#define CORRAL_POLICY_TOML_H

#include "base/buf.h"
#include "policy/doc_tree.h"

struct toml {
	struct tree tree;
	const char *at, *end;
	int line;
	struct node *table; /* the table of the current section */
	struct buf scratch; /* the string being decoded */
};

/* The character ahead, or -1 at the end of the text. */
static inline int toml_ahead(const struct toml *p, size_t ahead) {
	return ahead < (size_t)(p->end - p->at) ? (unsigned char)p->at[ahead] : -1;
}

static inline int toml_peek(const struct toml *p) {
	return toml_ahead(p, 0);
}

/* Length of the line end at the current place: 1, 2 (CRLF), or 0.  The text
 * was checked before: a CR is never alone. */
static inline size_t toml_newline(const struct toml *p) {
	int c = toml_peek(p);
	return c == '\n' ? 1 : c == '\r' ? 2 : 0;
}

/* "expected WHAT, found ..." at the current place; returns -1. */
int toml_expected(const struct toml *p, const char *what, struct err *e);

void toml_skip_blanks(struct toml *p);

/* Any value that is not an array or an inline table; *ret has no parent yet. */
int toml_scalar(struct toml *p, struct node **ret, struct err *e);

/* A quoted key: a string on one line; the current position is the opening quote. */
int toml_key_string(struct toml *p, const char **ret, struct err *e);

#endif
