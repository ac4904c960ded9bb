/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes whole files, and closes ranges of descriptors.
 *
 * Should:   retry after EINTR and short writes.
 * Must not: return a part of a file as the whole: a file above the limit is EFBIG.
 * Fails:    with -1 and errno. */
#include "base/fd.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <limits.h>

int fd_write_all(int fd, const void *data, size_t len) {
	const char *p = data;
	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -1;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, size_t limit, struct buf *out) {
	char chunk[4096];
	size_t total = 0;
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -1;
		}
		if (n == 0) {
			break;
		}
		total += (size_t)n;
		if (total > limit) {
			errno = EFBIG;
			return -1;
		}
		buf_add(out, chunk, (size_t)n);
	}
	buf_add(out, "", 0); /* NUL-terminated also for an empty file */
	if (buf_failed(out)) {
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

int fd_read_file(const char *path, size_t limit, struct buf *out) {
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return -1;
	}
	return fd_read_all(fd, limit, out);
}

int fd_duplicate(int fd, int from) {
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from);
}

void fd_close_from(int first, const int *kept, size_t n) {
	unsigned from = (unsigned)first;

	for (;;) {
		unsigned next = UINT_MAX; /* the smallest kept descriptor from `from` on */

		for (size_t i = 0; i < n; i++) {
			if (kept[i] >= 0 && (unsigned)kept[i] >= from && (unsigned)kept[i] < next) {
				next = (unsigned)kept[i];
			}
		}
		if (next > from) {
			/* Since Linux 5.9.  On an older kernel they stay open until exit. */
			(void)syscall(SYS_close_range, from, next - 1, 0U);
		}
		if (next == UINT_MAX) {
			return;
		}
		from = next + 1;
	}
}

void fd_close_all_but(const int *kept, size_t n) {
	fd_close_from(0, kept, n);
}
