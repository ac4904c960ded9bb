/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the pipes between the caller's descriptors and the command, and relays the bytes.
 *
 * The command gets no descriptor of the caller, only ends of Corral's pipes.  With the
 * descriptor itself it could truncate or rewrite a regular file, receive descriptors
 * through a socket, type into a terminal (TIOCSTI), or reopen a pipe through /proc in the
 * other direction and read the data of other writers.
 *
 * Should:   open, join and drain the three streams.
 * Must not: pass a descriptor of the caller to the command.
 * Fails:    closed: without its streams the command does not start. */
#include "run/streams.h"

#include "base/auto.h"
#include "base/fd.h"
#include "data/keys.h"
#include "run/run.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define ONE_BUFFER 4096

/* The device number of /dev/null. */
#define NULL_MAJOR 1
#define NULL_MINOR 3

static void streams_clear(struct streams *s) {
	*s = (struct streams){.feed = FEED_NONE};
	for (size_t i = 0; i < ARRAY_LEN(s->inside); i++) {
		s->inside[i] = -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		s->pumps[i] = OUTPUT_NONE;
	}
}

/* ours_writes: Corral keeps the write end. */
static int pipe_open(bool ours_writes, int *ret_ours, int *ret_inside, struct err *e) {
	int ends[2];
	int ours = ours_writes ? 1 : 0;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return err_sys(e, "run", "cannot create a pipe for the command's streams");
	}
	*ret_ours = ends[ours];
	*ret_inside = ends[1 - ours];
	if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) != 0) {
		return err_sys(e, "run", "cannot make a pipe non-blocking");
	}
	return 0;
}

static int chunk_new(char **ret, struct err *e) {
	*ret = malloc(RELAY_CHUNK);
	return *ret != NULL ? 0 : err_memory(e, "run");
}

/* Checks that a stream of the caller is open, and writes its file to ret.  For the caller's
 * /dev/null the command gets the sandbox's own /dev/null: no relay is needed, and a program that
 * checks for a pipe sees none. */
static int examine(enum stream which, int *fd, struct stat *ret, struct err *e) {
	if (*fd == RUN_NULL || (*fd == RUN_CAPTURE && which != STREAM_IN)) {
		return 0;
	}
	if (*fd < 0 || fstat(*fd, ret) != 0) {
		return err_set(e, ERR_USAGE, "run",
			       "file descriptor %d for stdin, stdout or stderr is not open", *fd);
	}
	if (S_ISCHR(ret->st_mode) && ret->st_rdev == makedev(NULL_MAJOR, NULL_MINOR)) {
		*fd = RUN_NULL;
	}
	return 0;
}

static int open_feed(struct streams *s, const struct stream_wish *wish, struct err *e) {
	int fd = wish->fds[STREAM_IN];
	struct stdin_feed *f = &s->feed;

	if (fd == RUN_NULL) {
		return 0;
	}
	outer_fd_init(&f->from, fd, O_RDONLY);
	if (chunk_new(&f->chunk, e) != 0 ||
	    pipe_open(true, &f->to, &s->inside[STREAM_IN], e) != 0) {
		return -1;
	}
	/* One buffer: POLLOUT then means that the command has read all of it (stdin_feed.c). */
	f->tap.watch = wish->input;
	f->tap.place = LEAK_IN_STDIN;
	f->peeks = f->from.pipe && !leak_tap_replaces(&f->tap);
	if (f->peeks && fcntl(f->to, F_SETPIPE_SZ, ONE_BUFFER) < 0) {
		return err_sys(e, "run", "cannot set the size of the command's stdin pipe");
	}
	return 0;
}

/* Discarded output needs no scan; by default a person's needs one only on a terminal. */
static bool is_scanned(const struct stream_wish *wish, int fd, const struct outer_fd *to) {
	return wish->leaks != NULL && fd != RUN_NULL &&
	       (!wish->leaks->terminal || to->terminal || wish->terminal);
}

static void pump_aim(struct output *p, enum stream which, const struct stream_wish *wish) {
	int fd = wish->fds[which];

	p->keep = fd == RUN_CAPTURE;
	capture_init(&p->kept, wish->limit);
	if (fd >= 0) {
		outer_fd_examine(&p->to, fd); /* the first bytes do the rest */
	}
	p->tap.place = which == STREAM_OUT ? LEAK_IN_STDOUT : LEAK_IN_STDERR;
	p->tap.watch = is_scanned(wish, fd, &p->to) ? wish->leaks : NULL;
	p->live = p->to.terminal ? wish->live : NULL;
	p->watch = wish->watch;
	p->stream = (int)which; /* 1 or 2 */
	p->capped = fd >= 0 && wish->limit != LIMIT_NONE;
	if (p->capped) {
		/* The head is passed on at once; the capture keeps only the tail. */
		p->pass = capture_head_share(wish->limit);
		p->kept.head_max = 0;
	}
}

static int open_pump(struct streams *s, enum stream which, const struct stream_wish *wish,
		     struct err *e) {
	struct output *p = &s->pumps[which - STREAM_OUT];
	int fd = wish->fds[which];

	if (fd == RUN_NULL && !wish->watched) {
		return 0;
	}
	pump_aim(p, which, wish);
	if (chunk_new(&p->chunk, e) != 0) {
		return -1;
	}
	return pipe_open(false, &p->from, &s->inside[which], e);
}

/* stdout and stderr to the same file share one pipe, which keeps their order. */
static int join_err(struct streams *s, struct err *e) {
	s->inside[STREAM_ERR] = fd_duplicate(s->inside[STREAM_OUT], 0);
	if (s->inside[STREAM_ERR] < 0) {
		return err_sys(e, "run", "cannot duplicate the command's output pipe");
	}
	return 0;
}

static int open_all(struct streams *s, const struct stream_wish *wish, bool one_output,
		    struct err *e) {
	if (wish->terminal) {
		if (wish->fds[STREAM_IN] >= 0) {
			outer_fd_init(&s->feed.from, wish->fds[STREAM_IN], O_RDONLY);
		}
		pump_aim(&s->pumps[0], STREAM_OUT, wish);
		return 0;
	}
	if (open_feed(s, wish, e) != 0 || open_pump(s, STREAM_OUT, wish, e) != 0) {
		return -1;
	}
	if (s->pumps[0].to.fd >= 0 && wish->fds[STREAM_ERR] >= 0 && one_output) {
		return join_err(s, e);
	}
	return open_pump(s, STREAM_ERR, wish, e);
}

int streams_open(struct streams *s, const struct stream_wish *given, struct err *e) {
	struct stream_wish wish = *given;
	struct stat files[STREAM_COUNT] = {0};

	streams_clear(s);
	for (enum stream i = STREAM_IN; i < STREAM_COUNT; i++) {
		if (examine(i, &wish.fds[i], &files[i], e) != 0) {
			return -1;
		}
	}
	const struct stat *out = &files[STREAM_OUT], *err = &files[STREAM_ERR];
	bool one_output = out->st_dev == err->st_dev && out->st_ino == err->st_ino;
	if (open_all(s, &wish, one_output, e) != 0) {
		streams_started(s);
		streams_done(s);
		return -1;
	}
	for (enum stream i = STREAM_IN; i < STREAM_COUNT; i++) {
		assert(s->inside[i] < 0 || s->inside[i] != given->fds[i]); /* S1 */
	}
	return 0;
}

void streams_started(struct streams *s) {
	if (s->feed.to >= 0 && (s->feed.from.seekable || s->feed.peeks)) {
		s->feed.unread = take_fd(&s->inside[STREAM_IN]);
	}
	for (size_t i = 0; i < ARRAY_LEN(s->inside); i++) {
		drop_fd(&s->inside[i]);
	}
}

int streams_attach(struct streams *s, int master, struct err *e) {
	struct stdin_feed *f = &s->feed;
	struct output *p = &s->pumps[0];

	p->from = master;
	p->pty = f->pty = true;
	if (fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK) != 0) {
		return err_sys(e, "run", "cannot make the pty non-blocking");
	}
	if (chunk_new(&p->chunk, e) != 0) {
		return -1;
	}
	if (f->from.fd < 0) {
		return 0;
	}
	f->to = fd_duplicate(master, 0);
	if (f->to < 0) {
		return err_sys(e, "run", "cannot duplicate the pty");
	}
	return chunk_new(&f->chunk, e);
}

/* Itself, or by a program at the other end, such as tee. */
static bool may_reach_terminal(const struct outer_fd *to) {
	return to->terminal || to->pipe || to->socket;
}

bool streams_piped(const struct streams *s) {
	return s->pumps[0].to.pipe || s->pumps[0].to.socket || s->pumps[1].to.pipe ||
	       s->pumps[1].to.socket;
}

bool streams_unread(const struct streams *s) {
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		const struct outer_fd *to = &s->pumps[i].to;
		int left = 0;
		if ((to->pipe && ioctl(to->fd, FIONREAD, &left) == 0 && left > 0) ||
		    (to->socket && ioctl(to->fd, TIOCOUTQ, &left) == 0 && left > 0)) {
			return true;
		}
	}
	return false;
}

void streams_poll(const struct streams *s, int64_t now, struct pollfd slots[STREAM_SLOTS]) {
	for (size_t i = 0; i < STREAM_SLOTS; i++) {
		slots[i] = (struct pollfd){.fd = -1};
	}
	if (!(s->paused && s->feed.from.terminal)) {
		stdin_feed_poll(&s->feed, now, &slots[0], &slots[1]);
	}
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		if (!(s->paused && may_reach_terminal(&s->pumps[i].to))) {
			output_poll(&s->pumps[i], now, &slots[2 + i]);
		}
	}
}

bool streams_step(struct streams *s, int64_t now, const struct pollfd slots[STREAM_SLOTS]) {
	bool moved = false;

	if (!(s->paused && s->feed.from.terminal)) {
		stdin_feed_step(&s->feed, now, slots[0].revents, slots[1].revents);
	}
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		if (!(s->paused && may_reach_terminal(&s->pumps[i].to))) {
			moved |= output_step(&s->pumps[i], now, slots[2 + i].revents);
		}
	}
	if (s->feed.pty && s->pumps[0].from < 0) {
		/* Its duplicate of the master would delay the hang-up of the pty. */
		stdin_feed_end(&s->feed);
	}
	return moved;
}

bool streams_held(const struct streams *s) {
	return s->pumps[0].len > 0 || s->pumps[1].len > 0;
}

int64_t streams_wake(const struct streams *s, int64_t now) {
	const int64_t rests[] = {
		s->feed.to >= 0 ? s->feed.rest_until : 0,
		s->pumps[0].from >= 0 ? s->pumps[0].rest_until : 0,
	};
	int64_t first = -1;

	for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
		if (rests[i] > now && (first < 0 || rests[i] < first)) {
			first = rests[i];
		}
	}
	const int64_t dues[] = {
		output_due(&s->pumps[0]),
		output_due(&s->pumps[1]),
	};
	for (size_t i = 0; i < ARRAY_LEN(dues); i++) {
		if (dues[i] >= 0 && (first < 0 || dues[i] < first)) {
			first = dues[i];
		}
	}
	return first;
}

bool streams_drain(struct streams *s) {
	bool waits = false;

	stdin_feed_done(&s->feed);
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		waits |= output_drain(&s->pumps[i]);
	}
	return waits;
}

void streams_done(struct streams *s) {
	streams_started(s);
	stdin_feed_done(&s->feed);
	output_done(&s->pumps[0]);
	output_done(&s->pumps[1]);
}
