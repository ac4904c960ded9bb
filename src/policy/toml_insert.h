/* SPDX-License-Identifier: Apache-2.0 */
/* Adds one value to the text of a TOML policy file, and leaves the rest as it is. */
#ifndef CORRAL_POLICY_TOML_INSERT_H
#define CORRAL_POLICY_TOML_INSERT_H

#include "base/buf.h"
#include "base/err.h"

struct toml_text {
	const char *data;
	size_t len;
};

/* key: "fs.read" or "mode".  list: the value becomes the last element of a list.  Appends the new
 * text to out; the text as it was, if it has the value already.  -1 with *e: the text is not valid
 * TOML, or is written in a way that this cannot change. */
int toml_insert(const struct toml_text *text, const char *key, const char *value, bool list,
		struct buf *out, struct err *e);

#endif
