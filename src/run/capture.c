/* SPDX-License-Identifier: Apache-2.0 */
/* Captures a stream within bounds: the first and the last bytes, and a count of the rest.
 *
 * Should:   use memory only for bytes that came.
 * Must not: fail while a command runs.
 * Fails:    open: out of memory, bytes that cannot be kept are counted as dropped. */
#include "run/capture.h"

#include "base/auto.h"
#include "data/keys.h"

#include <string.h>

/* Most commands print less than this, so most captures allocate once. */
#define FIRST_ROOM ((size_t)4096)

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

size_t capture_head_share(int64_t limit) {
	/* One less than SIZE_MAX leaves room for the final NUL. */
	return limit == LIMIT_NONE ? SIZE_MAX - 1 : (size_t)limit - (size_t)limit / 2;
}

void capture_init(struct capture *c, int64_t limit) {
	*c = (struct capture){
		.head_max = capture_head_share(limit),
		.tail_max = limit == LIMIT_NONE ? 0 : (size_t)limit / 2,
	};
}

void capture_done(struct capture *c) {
	free(c->head);
	free(c->tail);
	*c = (struct capture){0};
}

/* Makes room for want bytes, at most max, by doubling.  Out of memory the room stays as it
 * is, and the caller keeps fewer bytes. */
static void grow(char **data, size_t *room, size_t want, size_t max) {
	size_t size = *room > 0 ? *room : FIRST_ROOM;
	char *larger;

	if (want <= *room) {
		return;
	}
	while (size < want) {
		size = size > SIZE_MAX / 2 ? want : size * 2;
	}
	size = least(size, max);
	/* One byte more, for the NUL of a head without a tail. */
	larger = realloc(*data, size + 1);
	if (larger != NULL) {
		*data = larger;
		*room = size;
	}
}

static size_t add_head(struct capture *c, const char *data, size_t len) {
	size_t n = least(len, c->head_max - c->head_len);

	if (n == 0) {
		return 0;
	}
	grow(&c->head, &c->head_room, c->head_len + n, c->head_max);
	if (n > c->head_room - c->head_len) {
		n = c->head_room - c->head_len;
		c->head_max = c->head_len + n;
	}
	if (n > 0) {
		memcpy(c->head + c->head_len, data, n);
		c->head_len += n;
	}
	return n;
}

/* Fills the tail up to tail_max; only a full tail is a ring. */
static size_t fill_tail(struct capture *c, const char *data, size_t len) {
	size_t n = least(len, c->tail_max - c->tail_len);

	if (n == 0) {
		return 0;
	}
	grow(&c->tail, &c->tail_room, c->tail_len + n, c->tail_max);
	if (n > c->tail_room - c->tail_len) {
		n = c->tail_room - c->tail_len;
		c->tail_max = c->tail_len + n;
	}
	if (n > 0) {
		memcpy(c->tail + c->tail_len, data, n);
		c->tail_len += n;
	}
	return n;
}

/* Each new byte in a full ring overwrites the oldest. */
static void turn_ring(struct capture *c, const char *data, size_t len) {
	size_t first;

	c->dropped += len;
	if (c->tail_max == 0) {
		return;
	}
	if (len >= c->tail_max) {
		memcpy(c->tail, data + (len - c->tail_max), c->tail_max);
		c->tail_at = 0;
		return;
	}
	first = least(len, c->tail_max - c->tail_at);
	memcpy(c->tail + c->tail_at, data, first);
	memcpy(c->tail, data + first, len - first);
	c->tail_at = (c->tail_at + len) % c->tail_max;
}

void capture_add(struct capture *c, const char *data, size_t len) {
	size_t used = add_head(c, data, len);

	used += fill_tail(c, data + used, len - used);
	if (used < len) {
		turn_ring(c, data + used, len - used);
	}
}

char *capture_take(struct capture *c, size_t *ret_len) {
	char *all = realloc(c->head, c->head_len + c->tail_len + 1);

	if (all == NULL) {
		c->dropped += c->tail_len;
		c->tail_len = 0;
		all = c->head; /* it has its own byte for the NUL; NULL when there is none */
	}
	c->head = NULL;
	if (all == NULL) {
		return NULL;
	}
	if (c->tail_len > 0) {
		size_t old = c->tail_len - c->tail_at;
		memcpy(all + c->head_len, c->tail + c->tail_at, old);
		memcpy(all + c->head_len + old, c->tail, c->tail_at);
	}
	*ret_len = c->head_len + c->tail_len;
	all[*ret_len] = '\0';
	c->head_len = c->head_room = c->tail_len = c->tail_at = 0;
	return all;
}
