/* SPDX-License-Identifier: Apache-2.0 */
/* How the three parsers build a struct doc: one set of rules for duplicate
 * keys, depth and text, so that no format is laxer than another.
 *
 * Readers of a document include policy/doc.h, not this header. */
#ifndef CORRAL_POLICY_DOC_TREE_H
#define CORRAL_POLICY_DOC_TREE_H

#include "policy/doc.h"

struct key_branch;

/* How a TOML table was defined, which decides whether lines may still add to it. */
enum node_made {
	MADE_PASSING, /* only named as the parent of a deeper [table] */
	MADE_HEADER,  /* by [table] or [[table]] */
	MADE_DOTTED,  /* by a dotted key; open to further dotted keys */
	MADE_VALUE,   /* by { } or [ ]; complete, nothing may be added */
};

struct node {
	struct doc doc; /* first, so that a reader's struct doc is the node */
	int depth;      /* the document's own table has depth 0 */
	enum node_made made;
	struct key_branch *keys; /* crit-bit tree of a table's children */
};

struct tree {
	struct arena *a;
	const char *name; /* of the file, for messages */
};

/* Fills *e with "NAME:LINE: ..." (no line when it is 0) and returns -1.
 * Control characters become '?': a key from a file must not drive a terminal. */
int doc_tree_err(const struct tree *t, int line, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
#define doc_tree_err(...) err_failed(doc_tree_err(__VA_ARGS__))

/* Checks that text is UTF-8 without NUL; plain_only also refuses every control
 * character but tab, LF and CRLF, as TOML does. */
int doc_tree_check_text(const struct tree *t, const char *text, size_t len, bool plain_only,
			struct err *e);

/* NULL when memory is out. */
struct node *doc_tree_node(struct tree *t, enum doc_type type, int line);

/* The child of that key, or NULL. */
struct node *doc_node_find(const struct node *table, const char *key);

/* Both take a child that has no parent yet.  A key that exists already and a
 * table or array deeper than DOC_DEPTH_MAX are errors. */
int doc_tree_put(struct tree *t, struct node *table, const char *key, struct node *child,
		 struct err *e);
int doc_tree_append(struct tree *t, struct node *array, struct node *child, struct err *e);

/* "too deep", for parsers that notice before there is a child to add. */
int doc_tree_too_deep(const struct tree *t, int line, struct err *e);

/* The value of digits in base, or false when it does not fit 64 bits with its
 * sign.  digits holds only digits of that base, and '_'. */
bool doc_number_int(const char *digits, size_t len, unsigned base, bool negative, int64_t *ret);

/* strtod() without the caller's locale: a comma is never a decimal point.
 * Out of range becomes infinity or zero, as IEEE 754 has it. */
double doc_number_float(const char *digits);

#endif
