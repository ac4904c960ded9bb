/* SPDX-License-Identifier: Apache-2.0 */
/* The read and send tools.
 *
 * Should:   open regular files only, after the check of access.h.
 * Must not: block on a FIFO or device (F3); hold more than TOOL_BYTES_MAX.
 * Fails:    closed, with the path and the reason. */
#include "files/tools.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/storage.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>

static const char *kind_in_words(mode_t mode) {
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "not a regular file";
	}
}

int tool_check_regular(const char *path, mode_t mode, struct err *e) {
	if (S_ISREG(mode)) {
		return 0;
	}
	(void)err_set(e, ERR_FILE_KIND, "files", "%s is %s", path, kind_in_words(mode));
	return err_fix(e, "use a regular file%s", S_ISDIR(mode) ? ", or list the directory" : "");
}

/* The plan has the content of a file that every run creates. */
static int open_text(const char *text) {
	auto_fd fd = storage_memory();
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

static int open_place(const struct place *p, struct err *e) {
	if (p->kind == PLACE_MISSING) {
		return place_failed(ENOENT, "read", p->path, e);
	}
	if (p->kind == PLACE_FILE) {
		if (tool_check_regular(p->path, p->st.st_mode, e) != 0) {
			return -1;
		}
		int fd = beneath_reopen(p->fd, O_RDONLY);
		return fd < 0 ? place_failed(errno, "read", p->path, e) : fd;
	}
	if (p->kind == PLACE_TEXT) {
		int fd = open_text(p->tree->text);
		return fd < 0 ? place_failed(errno, "read", p->path, e) : fd;
	}
	return tool_check_regular(p->path, S_IFDIR, e);
}

int tool_open_to_read(const struct lens *v, const char *path, struct place *ret_place,
		      struct stat *ret, struct err *e) {
	struct place p;

	if (access_allowed(v, path, 0, ACCESS_READ, &p, e) != 0) {
		return -1;
	}
	auto_fd fd = open_place(&p, e);
	if (fd >= 0 && fstat(fd, ret) != 0) {
		drop_fd(&fd);
		(void)place_failed(errno, "read", p.path, e);
	}
	if (fd < 0) {
		place_done(&p);
		return -1;
	}
	*ret_place = p;
	return take_fd(&fd);
}

static int too_large(const char *path, const char *do_this, struct err *e) {
	(void)err_set(e, ERR_TOO_LARGE, "files", "%s is larger than %zu MiB", path,
		      TOOL_BYTES_MAX / 1024 / 1024);
	return err_fix(e, "%s", do_this);
}

/* Appends up to `most` bytes; -1 with errno. */
static int read_some(int fd, uint64_t offset, size_t most, struct buf *out) {
	char chunk[65536];
	size_t got = 0;

	while (got < most) {
		size_t want = most - got < sizeof chunk ? most - got : sizeof chunk;
		ssize_t n = pread(fd, chunk, want, (off_t)(offset + got));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -1;
		}
		if (n == 0) {
			break;
		}
		buf_add(out, chunk, (size_t)n);
		got += (size_t)n;
	}
	buf_add(out, "", 0); /* NUL-terminated also without content */
	return 0;
}

static int read_range(int fd, const char *path, struct range range, struct buf *out,
		      struct err *e) {
	size_t most = range.length == 0 ? TOOL_BYTES_MAX + 1 : range.length;
	size_t before = out->len;

	if (range.length > TOOL_BYTES_MAX) {
		(void)err_set(e, ERR_TOO_LARGE, "files",
			      "%zu bytes are more than one call can read", range.length);
		return err_fix(e, "read at most %zu bytes at once", TOOL_BYTES_MAX);
	}
	if (range.offset > (uint64_t)INT64_MAX - most) {
		return err_set(e, ERR_USAGE, "files", "the offset is out of range");
	}
	if (read_some(fd, range.offset, most, out) != 0) {
		return place_failed(errno, "read", path, e);
	}
	if (out->len - before > TOOL_BYTES_MAX) {
		return too_large(path, "read a part of it, by offset and length", e);
	}
	return buf_failed(out) ? err_memory(e, "files") : 0;
}

int tool_read(const struct lens *v, const char *path, struct range range, struct buf *out,
	      uint64_t *ret_size, struct err *e) {
	struct place p;
	struct stat st;
	auto_fd fd = tool_open_to_read(v, path, &p, &st, e);

	if (fd < 0) {
		return -1;
	}
	int rc = read_range(fd, p.path, range, out, e);
	if (rc == 0) {
		*ret_size = (uint64_t)st.st_size;
	}
	place_done(&p);
	return rc;
}

/* Scans the bytes in memory and returns the same bytes: the file may change meanwhile. */
int tool_send(const struct lens *v, const char *path, struct scanner scanner, struct buf *out,
	      struct err *e) {
	uint64_t size;

	if (tool_read(v, path, (struct range){0}, out, &size, e) != 0) {
		if (e->kind == ERR_TOO_LARGE) {
			(void)err_fix(e, "send a smaller file, or a part of it");
		}
		return -1;
	}
	if (scanner.scan != NULL && scanner.scan(scanner.arg, out->data, out->len) != 0) {
		(void)err_set(e, ERR_LEAK, "files",
			      "%s was not sent: the scanner refused its content", path);
		return err_fix(e, "remove the secrets that the scanner found");
	}
	return 0;
}
