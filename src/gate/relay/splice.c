/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards bytes from one socket to another with splice(2) through a pipe.
 *
 * Should:   buffer at most one pipe: a receiver that does not read stops the sender (G4).
 * Must not: read more bytes than dir->allow.
 * Fails:    closed: an error of either socket resets both. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes of one splice(2), and rounds in one turn: other flows wait too. */
#define MOVE_MAX ((size_t)1 << 20)
#define ROUNDS 16
#define PIPE_SIZE (256 * 1024)

/* A splice(2) of this size suggests that more bytes are queued. */
#define PLENTY ((size_t)32 * 1024)

/* Spare pipes that are not released: open connections take turns with it. */
#define SPARES_MIN 1

static bool pipe_take(struct gate *g, struct direction *dir) {
	if (dir->pipe[0] >= 0) {
		return true;
	}
	if (g->npipes > 0) {
		g->npipes--;
		dir->pipe[0] = g->pipes[g->npipes][0];
		dir->pipe[1] = g->pipes[g->npipes][1];
		return true;
	}
	if (pipe2(dir->pipe, O_NONBLOCK | O_CLOEXEC) != 0) {
		dir->pipe[0] = dir->pipe[1] = -1;
		return false;
	}
	(void)fcntl(dir->pipe[1], F_SETPIPE_SZ, PIPE_SIZE); /* on failure: the default size */
	return true;
}

static void pipe_close(struct direction *dir) {
	drop_fd(&dir->pipe[0]);
	drop_fd(&dir->pipe[1]);
}

/* Keeps an empty pipe for reuse. */
static void pipe_give(struct gate *g, struct direction *dir) {
	if (dir->pipe[0] < 0 || dir->buffered > 0) {
		return;
	}
	if (g->npipes == GATE_PIPES) {
		pipe_close(dir);
		return;
	}
	g->pipes[g->npipes][0] = take_fd(&dir->pipe[0]);
	g->pipes[g->npipes][1] = take_fd(&dir->pipe[1]);
	g->npipes++;
}

void splice_release_spares(struct gate *g) {
	while (g->npipes > SPARES_MIN) {
		g->npipes--;
		drop_fd(&g->pipes[g->npipes][0]);
		drop_fd(&g->pipes[g->npipes][1]);
	}
}

void splice_drop(struct gate *g, struct direction *dir) {
	if (dir->buffered > 0) {
		pipe_close(dir);
		dir->buffered = 0;
	}
	pipe_give(g, dir);
}

static bool has_byte(int from) {
	uint8_t byte;

	return recv(from, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == sizeof byte;
}

/* splice(2) stops in front of urgent data: recv(2) moves one byte into the empty pipe. */
static int take_urgent(struct direction *dir, int from) {
	uint8_t byte;

	dir->urgent = false;
	if (recv(from, &byte, sizeof byte, MSG_DONTWAIT) != sizeof byte) {
		return 0; /* not received yet */
	}
	if (write(dir->pipe[1], &byte, sizeof byte) != sizeof byte) {
		return -1;
	}
	dir->buffered += sizeof byte;
	dir->allow -= dir->allow == ALLOW_ALL ? 0 : sizeof byte;
	return 1;
}

/* 1: bytes were read; 0: none now, or EOF; -1: error. */
static int fill_pipe(struct direction *dir, int from) {
	size_t most = dir->allow < MOVE_MAX ? (size_t)dir->allow : MOVE_MAX;
	ssize_t n = splice(from, NULL, dir->pipe[1], NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	if (n == 0) {
		/* splice(2) also returns 0 in front of an urgent byte that is followed by EOF. */
		dir->urgent = has_byte(from);
		dir->eof = !dir->urgent;
		return 0;
	}
	dir->buffered += (size_t)n;
	dir->allow -= dir->allow == ALLOW_ALL ? 0 : (uint64_t)n;
	return 1;
}

/* 1: bytes were written; 0: the send buffer is full; -1: error. */
static int drain_pipe(struct direction *dir, int to, uint64_t *ret_bytes) {
	ssize_t n = splice(dir->pipe[0], NULL, to, NULL, dir->buffered,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	dir->buffered -= (size_t)n;
	*ret_bytes += (uint64_t)n;
	return n > 0;
}

enum moved splice_move(struct gate *g, struct direction *dir, int from, int to,
		       uint64_t *ret_bytes) {
	size_t last_read = 0;

	for (int round = 0; round < ROUNDS; round++) {
		if (dir->buffered == 0 && !dir->eof && dir->allow > 0) {
			int got = pipe_take(g, dir) ? fill_pipe(dir, from) : -1;
			if (got == 0 && dir->urgent && !dir->eof) {
				got = take_urgent(dir, from);
			}
			if (got < 0) {
				return MOVED_BROKEN;
			}
			last_read = dir->buffered;
		}
		if (dir->buffered == 0) {
			break;
		}
		int written = drain_pipe(dir, to, ret_bytes);
		if (written < 0) {
			return MOVED_BROKEN;
		}
		if (written == 0) {
			return MOVED_ALL;
		}
		if (dir->buffered == 0 && last_read < PLENTY && !dir->fin_seen) {
			break; /* hardly more is queued; epoll reports the next bytes */
		}
	}
	pipe_give(g, dir);
	return MOVED_ALL;
}
