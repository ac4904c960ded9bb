/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a session's output: slots of a header and a ring of bytes.
 *
 * Should:   need one or two system calls for a piece of output.
 * Must not: grow: a ring is overwritten, a slot is used again.
 * Fails:    open: output that cannot be written is not kept, and the command goes on. */
#include "session/commands.h"

#include "base/auto.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct header {
	uint64_t call;
	uint64_t total; /* bytes of output; the ring has the last ones */
};

#define HEADER_SIZE ((off_t)4096) /* the ring begins at a page */
#define SLOT_SIZE (HEADER_SIZE + (off_t)COMMANDS_OUTPUT)

static off_t slot_at(uint32_t call) {
	return (off_t)(call % COMMANDS_KEPT) * SLOT_SIZE;
}

int commands_file_open(const char *dir) {
	char path[PATH_MAX + 32];

	/* Two daemons have different state directories, and one creates one file at a time. */
	(void)snprintf(path, sizeof path, "%s/output.new", dir);
	if (unlink(path) != 0 && errno != ENOENT) {
		return -1;
	}
	auto_fd fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || unlink(path) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

/* Whether a command may write to its slot: its own from the first bytes on, before that also one of
 * an earlier command. */
static bool may_write(const struct commands_slot *s) {
	struct header h = {0};
	ssize_t n = pread(s->fd, &h, sizeof h, slot_at(s->call));

	if (s->total > 0 || n < 0) {
		return n == (ssize_t)sizeof h && h.call == s->call;
	}
	/* An empty place in the file reads as zeros, or as its end; numbers start again at 1. */
	return h.call == 0 || (int32_t)((uint32_t)h.call - s->call) < 0;
}

static void put_header(struct commands_slot *s) {
	const struct header h = {.call = s->call, .total = s->total};

	if (pwrite(s->fd, &h, sizeof h, slot_at(s->call)) != (ssize_t)sizeof h) {
		s->fd = -1; /* the disk is full */
	}
}

void commands_slot_begin(struct commands_slot *s, int fd, uint32_t call) {
	*s = (struct commands_slot){.fd = fd, .call = call};
}

static bool put_bytes(const struct commands_slot *s, uint64_t at, const char *bytes, size_t len) {
	off_t ring = slot_at(s->call) + HEADER_SIZE;
	size_t from = (size_t)(at % COMMANDS_OUTPUT);
	size_t first = len < COMMANDS_OUTPUT - from ? len : COMMANDS_OUTPUT - from;

	return pwrite(s->fd, bytes, first, ring + (off_t)from) == (ssize_t)first &&
	       (first == len ||
		pwrite(s->fd, bytes + first, len - first, ring) == (ssize_t)(len - first));
}

void commands_slot_add(struct commands_slot *s, const char *bytes, size_t len) {
	size_t skip = len > COMMANDS_OUTPUT ? len - COMMANDS_OUTPUT : 0;

	if (s->fd < 0 || len == 0) {
		return;
	}
	bool may = may_write(s);
	if (may && s->total == 0) {
		put_header(s); /* first: a reader of the earlier command gets none of these bytes */
	}
	if (!may || !put_bytes(s, s->total + skip, bytes + skip, len - skip)) {
		s->fd = -1; /* a later command has the slot, or the disk is full */
		return;
	}
	s->total += len;
	put_header(s);
}

size_t commands_file_read(int fd, struct commands_reading *r, char *out, size_t cap) {
	struct header h = {0};
	size_t len = 0;

	if (fd < 0 || pread(fd, &h, sizeof h, slot_at(r->call)) != (ssize_t)sizeof h ||
	    h.call != r->call) {
		return 0;
	}
	uint64_t oldest = h.total > COMMANDS_OUTPUT ? h.total - COMMANDS_OUTPUT : 0;
	uint64_t at = r->from > oldest ? r->from : oldest;
	at = at > h.total ? h.total : at;
	at = h.total - at > cap ? h.total - cap : at;
	r->from = at;
	r->total = h.total;
	while (at + len < h.total) {
		size_t ring = (size_t)((at + len) % COMMANDS_OUTPUT);
		size_t want = (size_t)(h.total - at) - len;
		want = want < COMMANDS_OUTPUT - ring ? want : COMMANDS_OUTPUT - ring;
		ssize_t n =
			pread(fd, out + len, want, slot_at(r->call) + HEADER_SIZE + (off_t)ring);
		if (n <= 0) {
			break;
		}
		len += (size_t)n;
	}
	return len;
}
