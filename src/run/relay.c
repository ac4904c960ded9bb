/* Bytes between the caller's descriptors and the command's.
 *
 * A pipe of the caller's is handed on as a new description of the same pipe:
 * no copy, and flags set inside stay inside.  Everything else is relayed
 * through a pipe of ours, because a regular file could be truncated or
 * rewritten, a socket can carry descriptors, and a terminal can be typed into
 * by whoever holds it.  Plain read and write: splice(2) refuses appending
 * files, ignores non-blocking requests on sockets, and cannot count for a cap.
 *
 * Should:   move every byte once, in order, as fast as the slower side.
 * Must not: change the flags of the caller's descriptions, block, or buffer
 *           more than one chunk and the capture.
 * Fails:    a reader that is gone ends that stream inside; other errors of
 *           the caller's descriptor are kept for the outcome. */
#include "run/relay.h"

#include "base/auto.h"
#include "data/keys.h"
#include "run/run.h"
#include "run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* How long to look away from a terminal that another job has, or from a pty
 * that no process has open: neither can be polled without spinning. */
#define REST_MS 100

static void drop_fd(int *fd) {
	if (*fd >= 0) {
		(void)close(take_fd(fd)); /* nothing useful can be done about a failing close */
	}
}

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

static bool try_later(void) {
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* ---- the caller's side ---- */

int description_again(int fd, int flags) {
	char path[32];
	int had = fcntl(fd, F_GETFL);
	int mode = flags & O_ACCMODE;

	/* /proc would grant what the inode allows; the caller gave only what it has. */
	if (had < 0 || ((had & O_ACCMODE) != mode && (had & O_ACCMODE) != O_RDWR)) {
		return -1;
	}
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* always fits */
	/* Non-blocking at first: a named pipe without its other end would wait here. */
	auto_fd again = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (again < 0) {
		return -1;
	}
	if ((flags & O_NONBLOCK) == 0 && fcntl(again, F_SETFL, 0) != 0) {
		return -1;
	}
	return take_fd(&again);
}

static void side_init(struct side *s, int fd, int mode) {
	struct stat st = {0};

	*s = (struct side){.fd = fd};
	if (fstat(fd, &st) != 0) {
		return; /* the first read or write says what is wrong with it */
	}
	s->socket = S_ISSOCK(st.st_mode);
	s->terminal = S_ISCHR(st.st_mode) && isatty(fd);
	s->seekable = S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) >= 0;
	if (S_ISFIFO(st.st_mode) || s->terminal) {
		int again = description_again(fd, mode | O_NONBLOCK);
		s->owned = again >= 0;
		s->may_block = again < 0;
		s->fd = again >= 0 ? again : fd;
	}
}

static void side_done(struct side *s) {
	if (s->owned) {
		drop_fd(&s->fd);
	}
	*s = (struct side){.fd = -1};
}

static ssize_t side_read(const struct side *s, char *data, size_t len) {
	if (s->socket) {
		return recv(s->fd, data, len,
			    MSG_DONTWAIT); /* descriptors that come along are dropped */
	}
	return read(s->fd, data, len);
}

static ssize_t side_write(const struct side *s, const char *data, size_t len) {
	if (s->socket) {
		return send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return write(s->fd, data, s->may_block ? least(len, PIPE_BUF) : len);
}

/* ---- stdin ---- */

void feed_give_back(int source, int pipe, size_t held, uint64_t given) {
	int waiting = 0;
	uint64_t back = held;

	if (pipe >= 0 && ioctl(pipe, FIONREAD, &waiting) == 0 && waiting > 0) {
		back += (uint64_t)waiting;
	}
	/* The command may have written into its own stdin to make the count grow (R3). */
	if (back > given) {
		back = given;
	}
	if (back > 0) {
		(void)lseek(source, -(off_t)back, SEEK_CUR); /* it was seekable when we began */
	}
}

/* The command sees end-of-file; what it has not read yet can still be counted. */
static void feed_end(struct feed *f) {
	drop_fd(&f->to);
}

static void feed_done(struct feed *f) {
	feed_end(f);
	if (f->unread >= 0) {
		feed_give_back(f->from.fd, f->unread, f->len, f->given);
	}
	drop_fd(&f->unread);
	side_done(&f->from);
	free(f->chunk);
	*f = (struct feed){.from.fd = -1, .to = -1, .unread = -1};
}

static void feed_flush(struct feed *f) {
	ssize_t n = write(f->to, f->chunk + f->at, f->len);

	if (n < 0 && try_later()) {
		return;
	}
	if (n < 0) {
		feed_end(f);
		return;
	}
	f->at += (size_t)n;
	f->len -= (size_t)n;
	f->room = false;
}

static void feed_fill(struct feed *f, int64_t now) {
	/* A seekable source can take a large leftover back; of any other we read
	 * only what a pipe with room is sure to take. */
	size_t most = f->from.seekable ? RELAY_CHUNK : PIPE_BUF;
	ssize_t n;

	if (f->from.terminal && terminal_background(f->from.fd)) {
		f->rest_until = now + REST_MS; /* reading would stop us with SIGTTIN */
		return;
	}
	n = side_read(&f->from, f->chunk, most);
	if (n < 0 && try_later()) {
		return;
	}
	if (n <= 0) {
		feed_end(f);
		return;
	}
	f->given += (uint64_t)n;
	f->at = 0;
	f->len = (size_t)n;
	feed_flush(f);
}

/* First for room, then for data, then again: bytes that the command may never
 * want stay with the caller. */
static void feed_poll(const struct feed *f, int64_t now, struct pollfd *from, struct pollfd *to) {
	bool rests = now < f->rest_until;

	if (f->to < 0) {
		return;
	}
	if (!f->pty) {
		*to = (struct pollfd){.fd = f->to}; /* POLLERR: the command closed its stdin */
	}
	if (rests) {
		return;
	}
	if (f->len > 0 || !f->room) {
		*to = (struct pollfd){.fd = f->to, .events = POLLOUT};
	} else {
		*from = (struct pollfd){.fd = f->from.fd, .events = POLLIN};
	}
}

static void feed_step(struct feed *f, int64_t now, short from, short to) {
	if (f->to < 0) {
		return;
	}
	if ((to & (POLLERR | POLLNVAL)) != 0) {
		feed_end(f);
	} else if (f->len > 0 && to != 0) {
		if ((to & POLLOUT) == 0) {
			f->rest_until = now + REST_MS; /* a full pty that no process has open */
		}
		feed_flush(f);
	} else if (!f->room && to != 0) {
		f->room = true;
	} else if (from != 0) {
		feed_fill(f, now);
	}
}

/* ---- stdout and stderr ---- */

static void pump_end(struct pump *p) {
	drop_fd(&p->from);
}

static void pump_done(struct pump *p) {
	pump_end(p);
	side_done(&p->to);
	capture_done(&p->kept);
	free(p->chunk);
	*p = (struct pump){.from = -1, .to.fd = -1, .left = SIZE_MAX};
}

/* Closing our end makes the command's next write fail as it would have outside (R4). */
static void pump_fail(struct pump *p) {
	p->error = errno == EPIPE ? 0 : errno;
	p->len = 0;
	p->last = true;
	pump_end(p);
}

static bool pump_flush(struct pump *p) {
	ssize_t n = side_write(&p->to, p->chunk + p->at, p->len);

	if (n < 0 && try_later()) {
		return false;
	}
	if (n < 0) {
		pump_fail(p);
		return false;
	}
	p->at += (size_t)n;
	p->len -= (size_t)n;
	return n > 0;
}

static void pump_accept(struct pump *p, size_t len) {
	size_t pass = p->capped ? least(len, p->pass) : len;

	if (p->to.fd < 0) {
		if (p->keep) {
			capture_add(&p->kept, p->chunk, len);
		}
		return;
	}
	if (p->capped) {
		capture_add(&p->kept, p->chunk + pass, len - pass);
		p->pass -= pass;
	}
	p->at = 0;
	p->len = pass;
}

/* True when bytes came. */
static bool pump_fill(struct pump *p, int64_t now) {
	ssize_t n = read(p->from, p->chunk, least(RELAY_CHUNK, p->left));

	if (n < 0 && try_later()) {
		return false;
	}
	if (n < 0 && errno == EIO && p->pty) {
		p->rest_until = now + REST_MS; /* no process has it open; one may open it again */
		return false;
	}
	if (n <= 0) {
		pump_end(p);
		return false;
	}
	if (p->draining && !p->pty) {
		p->left -= (size_t)n;
	}
	pump_accept(p, (size_t)n);
	return true;
}

static void pump_poll(const struct pump *p, int64_t now, struct pollfd *slot) {
	if (p->len > 0) {
		*slot = (struct pollfd){.fd = p->to.fd, .events = POLLOUT};
	} else if (p->from >= 0 && now >= p->rest_until) {
		*slot = (struct pollfd){.fd = p->from, .events = POLLIN};
	}
}

static bool pump_step(struct pump *p, int64_t now, short seen) {
	bool moved;

	if (seen == 0) {
		return false;
	}
	if (p->len > 0) {
		return pump_flush(p);
	}
	if (p->from < 0) {
		return false;
	}
	moved = pump_fill(p, now);
	if (p->len > 0 && !p->to.may_block) {
		(void)pump_flush(p); /* saves a poll; what does not fit waits */
	}
	return moved;
}

/* The held tail takes the chunk's place and is written like any other. */
static void pump_stage_tail(struct pump *p) {
	size_t len = 0;
	char *tail;

	p->last = true;
	if (!p->capped) {
		return;
	}
	tail = capture_take(&p->kept, &len);
	if (tail == NULL) {
		return; /* counted as dropped */
	}
	free(p->chunk);
	p->chunk = tail;
	p->at = 0;
	p->len = len;
}

/* Everything inside is dead, so what a pipe holds now is all there will be.  A
 * process out here that got hold of the other end cannot prolong this. */
static void pump_begin_drain(struct pump *p) {
	int waiting = 0;

	if (p->draining) {
		return;
	}
	p->draining = true;
	if (p->from >= 0 && !p->pty) {
		(void)ioctl(p->from, FIONREAD, &waiting); /* a pipe always answers */
		p->left = (size_t)waiting;
	}
}

/* True while the caller's descriptor has yet to take something. */
static bool pump_drain(struct pump *p) {
	pump_begin_drain(p);
	while (p->from >= 0 && p->len == 0) {
		struct pollfd slot = {.fd = p->from, .events = POLLIN};
		/* Polling first makes the kernel deliver what is still inside a pty. */
		if (p->left == 0 || poll(&slot, 1, 0) <= 0 || !pump_fill(p, 0)) {
			pump_end(p);
		}
	}
	if (p->from < 0 && p->len == 0 && !p->last) {
		pump_stage_tail(p);
	}
	return p->len > 0;
}

uint64_t pump_dropped(const struct pump *p) {
	uint64_t stuck = p->len;

	if (p->draining && p->from >= 0 && !p->pty) {
		stuck += p->left;
	}
	if (p->capped && !p->last) {
		stuck += p->kept.tail_len;
	}
	return p->kept.dropped + stuck;
}

/* ---- the three together ---- */

static void streams_clear(struct streams *s) {
	*s = (struct streams){.feed = {.from.fd = -1, .to = -1, .unread = -1}};
	for (size_t i = 0; i < ARRAY_LEN(s->inside); i++) {
		s->inside[i] = -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		s->pumps[i] = (struct pump){.from = -1, .to.fd = -1, .left = SIZE_MAX};
	}
}

/* ours_writes: which end we keep. */
static int pipe_open(bool ours_writes, int *ret_ours, int *ret_inside, struct err *e) {
	int ends[2];
	int ours = ours_writes ? 1 : 0;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return err_sys(e, "run", "cannot make a pipe for the command's streams");
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

static bool is_pipe(int fd) {
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

static bool same_file(int a, int b) {
	struct stat x, y;

	return a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int check_open(enum stream which, int fd, struct err *e) {
	if (fd == RUN_NULL || (fd == RUN_CAPTURE && which != STREAM_IN)) {
		return 0;
	}
	if (fd >= 0 && fcntl(fd, F_GETFD) >= 0) {
		return 0;
	}
	return err_set(e, ERR_USAGE, "run", "descriptor %d, given for a stream, is not open", fd);
}

static int open_feed(struct streams *s, int fd, struct err *e) {
	struct feed *f = &s->feed;

	if (fd == RUN_NULL) {
		return 0;
	}
	if (is_pipe(fd)) {
		s->inside[STREAM_IN] = description_again(fd, O_RDONLY);
		if (s->inside[STREAM_IN] >= 0) {
			return 0;
		}
	}
	side_init(&f->from, fd, O_RDONLY);
	if (chunk_new(&f->chunk, e) != 0) {
		return -1;
	}
	return pipe_open(true, &f->to, &s->inside[STREAM_IN], e);
}

static void pump_aim(struct pump *p, int fd, int64_t limit) {
	p->keep = fd == RUN_CAPTURE;
	capture_init(&p->kept, limit);
	if (fd < 0) {
		return;
	}
	side_init(&p->to, fd, O_WRONLY);
	p->capped = limit != LIMIT_NONE;
	if (p->capped) {
		/* The head goes straight through; the capture holds only the tail. */
		p->pass = capture_head_share(limit);
		p->kept.head_max = 0;
	}
}

static int open_pump(struct streams *s, enum stream which, const struct stream_wish *wish,
		     struct err *e) {
	struct pump *p = &s->pumps[which - STREAM_OUT];
	int fd = wish->fds[which];
	bool passes_us = wish->watched || wish->limit != LIMIT_NONE;

	if (fd == RUN_NULL && !wish->watched) {
		return 0;
	}
	if (fd >= 0 && !passes_us && is_pipe(fd)) {
		s->inside[which] = description_again(fd, O_WRONLY);
		if (s->inside[which] >= 0) {
			return 0;
		}
	}
	pump_aim(p, fd, wish->limit);
	if (chunk_new(&p->chunk, e) != 0) {
		return -1;
	}
	return pipe_open(false, &p->from, &s->inside[which], e);
}

/* stdout and stderr that go to one file share one pipe: their order stays. */
static int join_err(struct streams *s, struct err *e) {
	s->inside[STREAM_ERR] = fcntl(s->inside[STREAM_OUT], F_DUPFD_CLOEXEC, 0);
	if (s->inside[STREAM_ERR] < 0) {
		return err_sys(e, "run", "cannot duplicate the command's output pipe");
	}
	return 0;
}

static int open_all(struct streams *s, const struct stream_wish *wish, struct err *e) {
	if (wish->terminal) {
		if (wish->fds[STREAM_IN] >= 0) {
			side_init(&s->feed.from, wish->fds[STREAM_IN], O_RDONLY);
		}
		pump_aim(&s->pumps[0], wish->fds[STREAM_OUT], wish->limit);
		return 0;
	}
	if (open_feed(s, wish->fds[STREAM_IN], e) != 0 || open_pump(s, STREAM_OUT, wish, e) != 0) {
		return -1;
	}
	if (s->pumps[0].to.fd >= 0 && same_file(wish->fds[STREAM_OUT], wish->fds[STREAM_ERR])) {
		return join_err(s, e);
	}
	return open_pump(s, STREAM_ERR, wish, e);
}

int streams_open(struct streams *s, const struct stream_wish *wish, struct err *e) {
	streams_clear(s);
	for (enum stream i = STREAM_IN; i < STREAM_COUNT; i++) {
		if (check_open(i, wish->fds[i], e) != 0) {
			return -1;
		}
	}
	if (open_all(s, wish, e) != 0) {
		streams_started(s);
		streams_done(s);
		return -1;
	}
	return 0;
}

void streams_started(struct streams *s) {
	if (s->feed.to >= 0 && s->feed.from.seekable) {
		s->feed.unread = take_fd(&s->inside[STREAM_IN]);
	}
	for (size_t i = 0; i < ARRAY_LEN(s->inside); i++) {
		drop_fd(&s->inside[i]);
	}
}

int streams_attach(struct streams *s, int master, struct err *e) {
	struct feed *f = &s->feed;
	struct pump *p = &s->pumps[0];

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
	f->to = fcntl(master, F_DUPFD_CLOEXEC, 0);
	if (f->to < 0) {
		return err_sys(e, "run", "cannot duplicate the pty");
	}
	return chunk_new(&f->chunk, e);
}

void streams_poll(const struct streams *s, int64_t now, struct pollfd slots[STREAM_SLOTS]) {
	for (size_t i = 0; i < STREAM_SLOTS; i++) {
		slots[i] = (struct pollfd){.fd = -1};
	}
	feed_poll(&s->feed, now, &slots[0], &slots[1]);
	pump_poll(&s->pumps[0], now, &slots[2]);
	pump_poll(&s->pumps[1], now, &slots[3]);
}

bool streams_step(struct streams *s, int64_t now, const struct pollfd slots[STREAM_SLOTS]) {
	bool moved;

	feed_step(&s->feed, now, slots[0].revents, slots[1].revents);
	moved = pump_step(&s->pumps[0], now, slots[2].revents);
	moved |= pump_step(&s->pumps[1], now, slots[3].revents);
	if (s->feed.pty && s->pumps[0].from < 0) {
		feed_end(
			&s->feed); /* its copy of the pty would keep the hang-up from the command */
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
	return first;
}

bool streams_drain(struct streams *s) {
	bool waits = false;

	feed_done(&s->feed);
	for (size_t i = 0; i < ARRAY_LEN(s->pumps); i++) {
		waits |= pump_drain(&s->pumps[i]);
	}
	return waits;
}

void streams_done(struct streams *s) {
	streams_started(s);
	feed_done(&s->feed);
	pump_done(&s->pumps[0]);
	pump_done(&s->pumps[1]);
}
