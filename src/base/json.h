/* Writes JSON into a buf, one value after another, with no tree in between.
 *
 * Strings may hold any bytes: control characters are escaped, bytes that are
 * not UTF-8 become U+FFFD, so the output is valid JSON whatever a sandboxed
 * program printed.  Parsing is jansson's work (policy/json.c), not ours. */
#ifndef CORRAL_BASE_JSON_H
#define CORRAL_BASE_JSON_H

#include "base/buf.h"

#include <stdint.h>

struct json {
	struct buf *out;
	bool comma;  /* a value precedes at this level */
	bool pretty; /* newlines and two-space indentation */
	int depth;
};

void json_init(struct json *j, struct buf *out, bool pretty);

/* key is NULL inside arrays and at the top. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_string(struct json *j, const char *key, const char *s); /* NULL writes null */
void json_bytes(struct json *j, const char *key, const void *data, size_t len);
void json_int(struct json *j, const char *key, int64_t n);
void json_bool(struct json *j, const char *key, bool b);
void json_null(struct json *j, const char *key);

#endif
