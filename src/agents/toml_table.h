/* SPDX-License-Identifier: Apache-2.0 */
/* Adds and removes one table of a TOML text, and keeps the rest byte for byte. */
#ifndef CORRAL_AGENTS_TOML_TABLE_H
#define CORRAL_AGENTS_TOML_TABLE_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends a text as a TOML basic string, or as a quoted key. */
void toml_key(struct buf *out, const char *text);

/* Appends a table with this header line and these lines. */
void toml_table_add(struct buf *text, const char *header, const char *lines);

/* Whether the text defines [table.key] in a form that toml_table_remove() does not find: with
 * spaces, quotes or a comment in the header, as an inline table, by dotted keys, or by a table in
 * it. */
bool toml_table_is_other(const struct buf *text, const char *table, const char *key);

/* Removes the table with exactly this header line, up to the next header. */
void toml_table_remove(struct buf *text, const char *header);

#endif
