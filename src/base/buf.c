/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer.
 *
 * Should:   keep the bytes NUL-terminated.
 * Must not: lose an allocation failure: it stays in `failed` until buf_done().
 * Fails:    closed: after a failure every call is a no-op, and buf_failed() is true. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b) {
	*b = (struct buf){0};
}

void buf_done(struct buf *b) {
	free(b->data);
	*b = (struct buf){0};
}

bool buf_failed(const struct buf *b) {
	return b->failed;
}

static bool reserve(struct buf *b, size_t more) {
	if (b->failed || more > SIZE_MAX / 2 - b->len - 1) {
		b->failed = true;
		return false;
	}
	size_t need = b->len + more + 1;
	if (need <= b->cap) {
		return true;
	}
	size_t cap = b->cap < 256 ? 256 : b->cap;
	while (cap < need) {
		cap *= 2;
	}
	char *grown = realloc(b->data, cap);
	if (grown == NULL) {
		b->failed = true;
		return false;
	}
	b->data = grown;
	b->cap = cap;
	return true;
}

void buf_reserve(struct buf *b, size_t more) {
	(void)reserve(b, more); /* a failure stays in the buffer */
}

void buf_add(struct buf *b, const void *data, size_t len) {
	if (!reserve(b, len)) {
		return;
	}
	if (len > 0) {
		memcpy(b->data + b->len, data, len);
	}
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s) {
	buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0 || !reserve(b, (size_t)len)) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)len + 1, fmt, ap); /* reserve() made it fit */
	va_end(ap);
	b->len += (size_t)len;
}

char *buf_take(struct buf *b) {
	char *data = b->data;
	*b = (struct buf){0};
	return data;
}

void buf_shell_word(struct buf *b, const char *mark, const char *s) {
	bool plain = mark[0] == '\0' && s[0] != '\0' &&
		     s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789/._-+@%,:=")] == '\0';

	buf_printf(b, "%s%s", plain ? "" : "'", mark);
	for (; *s != '\0'; s++) {
		buf_add(b, *s == '\'' ? "'\\''" : s, *s == '\'' ? 4 : 1);
	}
	buf_puts(b, plain ? "" : "'");
}
