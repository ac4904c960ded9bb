/* SPDX-License-Identifier: Apache-2.0 */
/* An arena allocator: one arena per run owns policy, plan and everything that they point to.
 *
 * Memory is zeroed.  Every call returns NULL when memory is out; the caller
 * turns that into err_memory(). */
#ifndef CORRAL_BASE_ARENA_H
#define CORRAL_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t block_size; /* of new blocks */
};

void arena_init(struct arena *a);
/* For less than a plan: blocks of this size.  The C library clears each block. */
void arena_init_small(struct arena *a, size_t block_size);
void arena_done(struct arena *a);

void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Doubles an array that is full: *items holds count elements of size bytes and
 * has room for *cap.  Returns 0, or -1 when memory is out. */
int arena_grow(struct arena *a, void *items, size_t count, size_t *cap, size_t size);

#endif
