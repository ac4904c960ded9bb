/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer: appends one value after another to a buf, without a tree.
 *
 * Strings may hold any bytes: control characters are escaped, bytes that are not UTF-8
 * become U+FFFD, so that the output of a sandboxed program cannot make the JSON invalid.
 * jansson parses JSON (policy/json.c). */
#ifndef CORRAL_BASE_EMIT_H
#define CORRAL_BASE_EMIT_H

#include "base/buf.h"

#include <stdint.h>

struct emit {
	struct buf *out;
	bool comma;  /* a value precedes at this level */
	bool pretty; /* newlines and two-space indentation */
	int depth;
};

void emit_init(struct emit *j, struct buf *out, bool pretty);

/* key is NULL inside arrays and at the top. */
void emit_object(struct emit *j, const char *key);
void emit_array(struct emit *j, const char *key);
void emit_end_object(struct emit *j);
void emit_end_array(struct emit *j);
void emit_string(struct emit *j, const char *key, const char *s); /* NULL writes null */
/* n strings, or fewer if the list has a NULL before. */
void emit_strings(struct emit *j, const char *key, const char *const *list, size_t n);
void emit_bytes(struct emit *j, const char *key, const void *data, size_t len);
void emit_int(struct emit *j, const char *key, int64_t n);
void emit_bool(struct emit *j, const char *key, bool b);
void emit_null(struct emit *j, const char *key);
/* A value that is JSON already. */
void emit_raw(struct emit *j, const char *key, const char *json, size_t len);

#endif
