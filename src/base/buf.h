/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer for text and JSON output.
 *
 * After a failed allocation later calls do nothing and buf_failed() returns true,
 * so that writers need one check at the end. */
#ifndef CORRAL_BASE_BUF_H
#define CORRAL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* always NUL-terminated once something was added */
	size_t len, cap;
	bool failed;
};

void buf_init(struct buf *b);
void buf_done(struct buf *b);
bool buf_failed(const struct buf *b);

/* Makes room for so many more bytes. */
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends mark and s as one word of a shell, quoted where it has to be.  With a mark it always is:
 * a shell expands the "!" of an exception otherwise. */
void buf_shell_word(struct buf *b, const char *mark, const char *s);

/* Returns the bytes, which the caller frees; the buffer is empty again. */
char *buf_take(struct buf *b);

#endif
