/* SPDX-License-Identifier: Apache-2.0 */
/* Files that no other user may read or write.
 *
 * Should:   check the file that was opened, not its name; put new files on the disk before they
 *           get their name.
 * Must not: follow a symbolic link at the end of a path; repair a mode: the content may already
 *           be someone else's.
 * Fails:    closed: a file or directory of another user, or writable by one, is an error. */
#include "vault/private.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#define WHERE "vault"

/* A user-private group has the uid as its gid, and no other member. */
static bool is_private_group(const struct stat *st) {
	return st->st_gid == getegid() && (uid_t)st->st_gid == geteuid();
}

static int refuse_mode(struct err *e, const char *path, const struct stat *st, const char *fix) {
	(void)err_set(e, ERR_REFUSED, WHERE, "%s is open to other users (mode %04o)", path,
		      (unsigned)st->st_mode & 07777U);
	return err_fix(e, "check whether another user changed or read it, then: chmod %s %s", fix,
		       path);
}

static int refuse_owner(struct err *e, const char *path, const struct stat *st) {
	return err_set(e, ERR_REFUSED, WHERE, "%s belongs to another user (uid %u)", path,
		       (unsigned)st->st_uid);
}

int private_check_dir(const char *path, struct err *e) {
	struct stat st;
	if (stat(path, &st) != 0) {
		(void)err_sys_at(e, WHERE, "cannot read the directory", path);
		return -1;
	}
	if (st.st_uid != geteuid()) {
		return refuse_owner(e, path, &st);
	}
	bool group = (st.st_mode & S_IWGRP) != 0 && !is_private_group(&st);
	return group || (st.st_mode & S_IWOTH) != 0 ? refuse_mode(e, path, &st, "go-w") : 0;
}

int private_open(const char *path, const char *what, struct err *e) {
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		(void)err_sys_at(e, WHERE, what, path);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		return err_set(e, ERR_REFUSED, WHERE, "%s is not a regular file", path);
	}
	if (st.st_uid != geteuid()) {
		return refuse_owner(e, path, &st);
	}
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
		return refuse_mode(e, path, &st, "600");
	}
	return take_fd(&fd);
}

long private_read(int fd, unsigned char *out, size_t cap) {
	size_t len = 0;
	while (len < cap) {
		ssize_t n = read(fd, out + len, cap - len);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -1;
		}
		if (n == 0) {
			break;
		}
		len += (size_t)n;
	}
	return (long)len;
}

int private_write(const char *path, const unsigned char *bytes, size_t len, struct err *e) {
	/* Of a writer that was killed; the lock keeps others away. */
	if (unlink(path) != 0 && errno != ENOENT) {
		(void)err_sys_at(e, WHERE, "cannot remove", path);
		return -1;
	}
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) != 0 || fd_write_all(fd, bytes, len) != 0 ||
	    fsync(fd) != 0) {
		(void)err_sys_at(e, WHERE, "cannot write", path);
		(void)unlink(path); /* the next writer removes it otherwise */
		return -1;
	}
	return 0;
}

int private_sync_dir(const char *dir, struct err *e) {
	auto_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0) {
		(void)err_sys_at(e, WHERE, "cannot write the directory", dir);
		return -1;
	}
	return 0;
}
