/* Moves bytes from one socket to another through a pipe, without looking at them.
 *
 * Should:   hold at most what a pipe holds: a receiver that does not read stops the
 *           sender (G4).
 * Must not: take more than the way allows.
 * Fails:    broken: one of the two is reset, and the other has to hear of it. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* At once, and in one turn: others wait too. */
#define MOVE_MAX ((size_t)1 << 20)
#define ROUNDS 16
#define PIPE_SIZE (256 * 1024)

/* Who sends so much at once has more. */
#define PLENTY ((size_t)32 * 1024)

/* Spare pipes that stay: connections that are there pass their bytes through one in turn. */
#define KEPT 1

static bool pipe_take(struct gate *g, struct way *way) {
	if (way->pipe[0] >= 0) {
		return true;
	}
	if (g->npipes > 0) {
		g->npipes--;
		way->pipe[0] = g->pipes[g->npipes][0];
		way->pipe[1] = g->pipes[g->npipes][1];
		return true;
	}
	if (pipe2(way->pipe, O_NONBLOCK | O_CLOEXEC) != 0) {
		way->pipe[0] = way->pipe[1] = -1;
		return false;
	}
	(void)fcntl(way->pipe[1], F_SETPIPE_SZ, PIPE_SIZE); /* or as large as it is */
	return true;
}

static void pipe_close(struct way *way) {
	drop_fd(&way->pipe[0]);
	drop_fd(&way->pipe[1]);
}

/* Only an empty one can be given to another. */
static void pipe_give(struct gate *g, struct way *way) {
	if (way->pipe[0] < 0 || way->held > 0) {
		return;
	}
	if (g->npipes == GATE_PIPES) {
		pipe_close(way);
		return;
	}
	g->pipes[g->npipes][0] = take_fd(&way->pipe[0]);
	g->pipes[g->npipes][1] = take_fd(&way->pipe[1]);
	g->npipes++;
}

void splice_release_spares(struct gate *g) {
	while (g->npipes > KEPT) {
		g->npipes--;
		drop_fd(&g->pipes[g->npipes][0]);
		drop_fd(&g->pipes[g->npipes][1]);
	}
}

void splice_drop(struct gate *g, struct way *way) {
	if (way->held > 0) {
		pipe_close(way);
		way->held = 0;
	}
	pipe_give(g, way);
}

static bool has_byte(int from) {
	uint8_t byte;

	return recv(from, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == sizeof byte;
}

/* One byte that splice(2) does not take goes into the pipe, which is empty. */
static int take_urgent(struct way *way, int from) {
	uint8_t byte;

	way->urgent = false;
	if (recv(from, &byte, sizeof byte, MSG_DONTWAIT) != sizeof byte) {
		return 0; /* it is on its way */
	}
	if (write(way->pipe[1], &byte, sizeof byte) != sizeof byte) {
		return -1;
	}
	way->held += sizeof byte;
	way->allow -= way->allow == WAY_OPEN ? 0 : sizeof byte;
	return 1;
}

/* 1: something came; 0: nothing now, or never again; -1: broken. */
static int fill(struct way *way, int from) {
	size_t most = way->allow < MOVE_MAX ? (size_t)way->allow : MOVE_MAX;
	ssize_t n = splice(from, NULL, way->pipe[1], NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	if (n == 0) {
		/* Before an urgent byte that is the last but for the end it says so too. */
		way->urgent = has_byte(from);
		way->ended = !way->urgent;
		return 0;
	}
	way->held += (size_t)n;
	way->allow -= way->allow == WAY_OPEN ? 0 : (uint64_t)n;
	return 1;
}

/* Likewise; 0: the receiver takes no more now. */
static int drain(struct way *way, int to, uint64_t *ret_bytes) {
	ssize_t n =
		splice(way->pipe[0], NULL, to, NULL, way->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	way->held -= (size_t)n;
	*ret_bytes += (uint64_t)n;
	return n > 0;
}

enum moved splice_move(struct gate *g, struct way *way, int from, int to, uint64_t *ret_bytes) {
	size_t came = 0;

	for (int round = 0; round < ROUNDS; round++) {
		if (way->held == 0 && !way->ended && way->allow > 0) {
			int got = pipe_take(g, way) ? fill(way, from) : -1;
			if (got == 0 && way->urgent && !way->ended) {
				got = take_urgent(way, from);
			}
			if (got < 0) {
				return MOVED_BROKEN;
			}
			came = way->held;
		}
		if (way->held == 0) {
			break;
		}
		int went = drain(way, to, ret_bytes);
		if (went < 0) {
			return MOVED_BROKEN;
		}
		if (went == 0) {
			return MOVED_ALL;
		}
		if (way->held == 0 && came < PLENTY && !way->ends) {
			break; /* there is hardly more; the loop says when */
		}
	}
	pipe_give(g, way);
	return MOVED_ALL;
}
