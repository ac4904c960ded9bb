/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a client, through a pipe in pieces of any size.
 *
 * The events are those of a simple split at newlines, whatever the pieces; the memory is bounded
 * by the limit and one read; the writer's queue gives the same bytes back. */
#include "fuzz.h"

#include "rpc/frame.h"

#include <fcntl.h>
#include <unistd.h>

#define LIMIT 100
#define PIPE_BYTES 4096

/* The model: where the next line begins, and what it is. */
struct model {
	const uint8_t *data;
	size_t size, at;
};

static enum frame_event model_next(struct model *m, const uint8_t **ret, size_t *ret_len) {
	const uint8_t *begin = m->data + m->at;
	const uint8_t *end = m->at < m->size ? memchr(begin, '\n', m->size - m->at) : NULL;

	if (end == NULL) {
		return FRAME_END;
	}
	*ret = begin;
	*ret_len = (size_t)(end - begin);
	m->at += *ret_len + 1;
	return *ret_len > LIMIT ? FRAME_TOO_LONG : FRAME_LINE;
}

/* Compares the next event that is not FRAME_AGAIN; false at the end. */
static bool same(struct frame_reader *r, struct model *m) {
	const uint8_t *wanted = NULL;
	size_t wanted_len = 0, len = 0;
	char *line = NULL;
	enum frame_event event = frame_next(r, &line, &len);

	HOLDS(event != FRAME_FAILED && r->cap <= 512 * 1024);
	if (event == FRAME_AGAIN) {
		return false;
	}
	HOLDS(event == model_next(m, &wanted, &wanted_len));
	if (event == FRAME_LINE) {
		HOLDS(len == wanted_len && memcmp(line, wanted, len) == 0 && line[len] == '\0');
	}
	return event != FRAME_END;
}

static void read_in_pieces(const uint8_t *data, size_t size, size_t step) {
	struct model m = {data, size, 0};
	struct frame_reader r;
	int ends[2];

	HOLDS(pipe2(ends, O_CLOEXEC) == 0);
	frame_reader_init(&r, ends[0], LIMIT);
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		HOLDS(write(ends[1], data + at, n) == (ssize_t)n);
		while (same(&r, &m)) {
		}
	}
	(void)close(ends[1]);
	while (same(&r, &m)) {
	}
	HOLDS(r.ended);
	frame_reader_done(&r);
	(void)close(ends[0]);
}

static void write_and_read(const uint8_t *data, size_t size) {
	struct frame_writer w;
	char back[PIPE_BYTES + 1];
	int ends[2];

	HOLDS(pipe2(ends, O_CLOEXEC) == 0);
	frame_writer_init(&w, ends[1], PIPE_BYTES);
	HOLDS(frame_add(&w, (const char *)data, size) == (size < PIPE_BYTES ? 0 : -1));
	HOLDS(frame_queued(&w) == (size < PIPE_BYTES ? size + 1 : 0));
	HOLDS(frame_flush(&w) == 0 && frame_queued(&w) == 0);
	if (size < PIPE_BYTES) {
		HOLDS(read(ends[0], back, sizeof back) == (ssize_t)size + 1);
		HOLDS(memcmp(back, data, size) == 0 && back[size] == '\n');
	}
	frame_writer_done(&w);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	size = size < PIPE_BYTES ? size : PIPE_BYTES;
	for (size_t step = 1; step < 2 * PIPE_BYTES; step = step * 7 + 3) {
		read_in_pieces(data, size, step);
	}
	write_and_read(data, size);
	return 0;
}
