/* SPDX-License-Identifier: Apache-2.0 */
/* Edits a JSON text, with comments, in place: each byte that is not concerned stays as it is. */
#ifndef CORRAL_AGENTS_JSONC_H
#define CORRAL_AGENTS_JSONC_H

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Part of a text: [at, end). */
struct span {
	size_t at, end;
};

/* Parses a text that may have comments and trailing commas; *plain gets it with spaces in their
 * place, so that offsets are the same.  Duplicate keys are refused.  NULL: why has the reason. */
json_t *jsonc_parse(const struct buf *text, struct buf *plain, char why[160]);

/* The member of the object at `object` in the plain text; *ret_member begins with its key. */
bool jsonc_member(const struct buf *plain, struct span object, const char *key,
		  struct span *ret_member, struct span *ret_value);

/* The value number i of an array, or the member number i of an object. */
bool jsonc_item(const struct buf *plain, struct span container, size_t i, struct span *ret);

struct span jsonc_root(const struct buf *plain);

/* Writes the text with `item` added at the end of the container. */
void jsonc_append(const struct buf *text, const struct buf *plain, struct span container,
		  const char *item, struct buf *out);

/* Writes the text without item number i of the container. */
void jsonc_remove(const struct buf *text, const struct buf *plain, struct span container, size_t i,
		  struct buf *out);

#endif
