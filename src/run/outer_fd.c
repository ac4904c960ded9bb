/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the caller's descriptors, whose open file description others share.
 *
 * Should:   read and write without blocking.
 * Must not: change the flags of the caller's open file description (R1); so pipes and
 *           terminals are reopened, and sockets use MSG_DONTWAIT for each call.
 * Fails:    with errno, as read(2) and write(2) do. */
#include "run/streams.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

bool outer_fd_try_later(void) {
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int outer_fd_reopen(int fd, int flags) {
	char path[32];
	int had = fcntl(fd, F_GETFL);
	int mode = flags & O_ACCMODE;

	/* Reopening through /proc checks the inode's mode: do not gain an access mode that the
	 * caller's descriptor does not have. */
	if (had < 0 || ((had & O_ACCMODE) != mode && (had & O_ACCMODE) != O_RDWR)) {
		return -1;
	}
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* always fits */
	/* O_NONBLOCK at first: open() of a FIFO without its other end would block. */
	auto_fd again = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (again < 0) {
		return -1;
	}
	if ((flags & O_NONBLOCK) == 0 && fcntl(again, F_SETFL, 0) != 0) {
		return -1;
	}
	return take_fd(&again);
}

void outer_fd_init(struct outer_fd *s, int fd, int mode) {
	outer_fd_examine(s, fd);
	outer_fd_own(s, mode);
}

void outer_fd_own(struct outer_fd *s, int mode) {
	if ((s->pipe || s->terminal) && !s->owned && !s->may_block) {
		int again = outer_fd_reopen(s->fd, mode | O_NONBLOCK);
		s->owned = again >= 0;
		s->may_block = again < 0;
		s->fd = again >= 0 ? again : s->fd;
	}
}

void outer_fd_examine(struct outer_fd *s, int fd) {
	struct stat st = {0};

	*s = (struct outer_fd){.fd = fd};
	if (fstat(fd, &st) != 0) {
		return; /* the first read or write returns the error */
	}
	s->socket = S_ISSOCK(st.st_mode);
	s->pipe = S_ISFIFO(st.st_mode);
	s->terminal = S_ISCHR(st.st_mode) && isatty(fd);
	s->seekable = S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) >= 0;
}

void outer_fd_done(struct outer_fd *s) {
	if (s->owned) {
		(void)close(s->fd); /* only a reopened description; no data is lost */
	}
	*s = (struct outer_fd){.fd = -1};
}

ssize_t outer_fd_read(const struct outer_fd *s, char *data, size_t len) {
	if (s->socket) {
		/* recv() drops SCM_RIGHTS descriptors. */
		return recv(s->fd, data, len, MSG_DONTWAIT);
	}
	return read(s->fd, data, len);
}

ssize_t outer_fd_write(const struct outer_fd *s, const char *data, size_t len) {
	if (s->socket) {
		return send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return write(s->fd, data, s->may_block && len > PIPE_BUF ? PIPE_BUF : len);
}
