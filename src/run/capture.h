/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded capture of a stream: its head, its tail, and the number of bytes between.
 *
 * Should:   keep the first head_max and the last tail_max bytes exactly, count
 *           every other byte, and use memory only for bytes that came.
 * Must not: fail while a command runs: out of memory, bytes that cannot be kept
 *           are counted as dropped. */
#ifndef CORRAL_RUN_CAPTURE_H
#define CORRAL_RUN_CAPTURE_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct capture {
	char *head, *tail; /* malloc'ed; tail becomes a ring once it has tail_max bytes */
	size_t head_len, head_room, head_max;
	size_t tail_len, tail_room, tail_max;
	size_t tail_at; /* the oldest byte of a full ring */
	uint64_t dropped;
};

/* Gets captured bytes as they come: stream is 1 or 2. */
struct output_watch {
	void (*bytes)(void *arg, int stream, const char *bytes, size_t len); /* NULL: none */
	void *arg;
	bool all; /* also of streams that go to a descriptor */
};

/* limit is a stream's allowance in bytes, or LIMIT_NONE. */
void capture_init(struct capture *c, int64_t limit);
void capture_done(struct capture *c);

/* The head's share of an allowance; the tail has the rest. */
size_t capture_head_share(int64_t limit);

void capture_add(struct capture *c, const char *data, size_t len);

/* Returns head and tail as one string (the caller frees it), NUL-terminated.  NULL out of
 * memory when nothing could be kept.  dropped stays. */
char *capture_take(struct capture *c, size_t *ret_len);

#endif
