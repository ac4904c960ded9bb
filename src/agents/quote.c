/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes a command as one word that sh, bash, zsh and fish read alike.
 *
 * Should:   put backslashes and single quotes between double quotes: between single quotes fish
 *           takes a backslash for an escape character, and a POSIX shell does not.
 * Must not: leave a character unquoted.
 * Fails:    with the buffer, out of memory. */
#include "agents/agents.h"

void quote_word(struct buf *out, const char *text, size_t len) {
	buf_puts(out, "'");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'') {
			buf_puts(out, "'\"'\"'");
		} else if (text[i] == '\\') {
			buf_puts(out, "'\"\\\\\"'");
		} else {
			buf_add(out, &text[i], 1);
		}
	}
	buf_puts(out, "'");
}
