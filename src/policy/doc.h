/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed document, independent of its format.
 *
 * TOML, JSON and YAML all become this tree, and only policy/layers.c interprets it;
 * so the three formats cannot drift apart. */
#ifndef CORRAL_POLICY_DOC_H
#define CORRAL_POLICY_DOC_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum doc_type {
	DOC_TABLE,
	DOC_ARRAY,
	DOC_STRING,
	DOC_INT,
	DOC_FLOAT,
	DOC_BOOL,
	DOC_TIME, /* TOML dates and times, kept as written in str */
	DOC_NULL, /* JSON and YAML only */
};

struct doc {
	enum doc_type type;
	const char *key; /* in a table; NULL elsewhere */
	int line;        /* 1-based; 0 when the format has none (JSON) */
	const char *str; /* DOC_STRING, DOC_TIME: NUL-terminated, len bytes, no NUL inside */
	size_t len;
	int64_t num;              /* DOC_INT */
	double real;              /* DOC_FLOAT */
	bool yes;                 /* DOC_BOOL */
	struct doc *first, *last; /* children of tables and arrays, in order */
	struct doc *next;
};

/* Each parses len bytes of text; name is for messages only.  Strings contain
 * UTF-8 without NUL; duplicate keys, trailing text and nesting deeper than
 * DOC_DEPTH_MAX are errors.  Errors are ERR_USAGE, where "policy", and name
 * file and line. */
#define DOC_DEPTH_MAX 64

int doc_parse_toml(struct arena *a, const char *name, const char *text, size_t len,
		   struct doc **ret, struct err *e);
int doc_parse_json(struct arena *a, const char *name, const char *text, size_t len,
		   struct doc **ret, struct err *e);
int doc_parse_yaml(struct arena *a, const char *name, const char *text, size_t len,
		   struct doc **ret, struct err *e);

/* Picks the parser by the name's ending (.json, .yaml, .yml; TOML otherwise);
 * text that begins with '{' is JSON with any name (stdin, descriptors). */
int doc_parse(struct arena *a, const char *name, const char *text, size_t len, struct doc **ret,
	      struct err *e);

#endif
