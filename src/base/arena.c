/* SPDX-License-Identifier: Apache-2.0 */
/* An arena allocator: zeroed blocks that are freed together.
 *
 * Should:   align every allocation for any type, and zero it.
 * Must not: free or move a single allocation.
 * Fails:    with NULL when malloc does; the arena stays usable. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan with its strings fits in one block: one mmap(2), and only pages that are used cost
 * memory.  A larger request gets its own block. */
#define BLOCK_SIZE ((size_t)240 * 1024)
#define ALIGN _Alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *a) {
	arena_init_small(a, BLOCK_SIZE);
}

void arena_init_small(struct arena *a, size_t block_size) {
	*a = (struct arena){.block_size = block_size};
}

void arena_done(struct arena *a) {
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;
		a->blocks = b->next;
		free(b);
	}
}

static struct arena_block *block_new(size_t size) {
	struct arena_block *b = calloc(1, sizeof *b + size);
	if (b != NULL) {
		b->size = size;
	}
	return b;
}

void *arena_alloc(struct arena *a, size_t size) {
	struct arena_block *b = a->blocks;

	if (size > SIZE_MAX - sizeof *b - ALIGN) {
		return NULL;
	}
	size = (size + ALIGN - 1) & ~(ALIGN - 1);
	if (b == NULL || b->size - b->used < size) {
		size_t usual = a->block_size == 0 ? BLOCK_SIZE : a->block_size; /* zeroed */
		b = block_new(size > usual ? size : usual);
		if (b == NULL) {
			return NULL;
		}
		b->next = a->blocks;
		a->blocks = b;
	}
	void *p = b->bytes + b->used;
	b->used += size;
	return p;
}

void *arena_array(struct arena *a, size_t count, size_t size) {
	if (size != 0 && count > SIZE_MAX / size) {
		return NULL;
	}
	return arena_alloc(a, count * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t len) {
	char *copy = len == SIZE_MAX ? NULL : arena_alloc(a, len + 1);
	if (copy != NULL) {
		memcpy(copy, s, len);
	}
	return copy;
}

char *arena_strdup(struct arena *a, const char *s) {
	return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) {
	char small[256]; /* most texts fit, and are formatted once */
	va_list again;
	va_copy(again, ap);
	int len = vsnprintf(small, sizeof small, fmt, ap);
	char *s = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
	if (s != NULL && (size_t)len < sizeof small) {
		memcpy(s, small, (size_t)len + 1);
	} else if (s != NULL) {
		(void)vsnprintf(s, (size_t)len + 1, fmt, again); /* the length is known to fit */
	}
	va_end(again);
	return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
	va_list ap;
	va_start(ap, fmt);
	char *s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return s;
}

int arena_grow(struct arena *a, void *items, size_t count, size_t *cap, size_t size) {
	if (count < *cap) {
		return 0;
	}
	size_t more = *cap == 0 ? 8 : *cap * 2;
	void *old = *(void **)items;
	void *grown = arena_array(a, more, size);
	if (grown == NULL) {
		return -1;
	}
	if (count > 0) {
		memcpy(grown, old, count * size);
	}
	*(void **)items = grown;
	*cap = more;
	return 0;
}
