/* SPDX-License-Identifier: Apache-2.0 */
/* The call-backs with which a plan looks at the files of this host (struct host_fs, plan/host.h).
 *
 * Should:   look, resolve and read as the caller.
 * Must not: follow a final symlink where plan/host.h says so; wait for a FIFO; change anything.
 * Fails:    with the answer that nothing is there, or that it is unreadable. */
#include "linux/host_files.h"

#include "base/auto.h"
#include "base/dirent64.h"
#include "base/fd.h"
#include "base/read_link.h"
#include "base/str.h"
#include "linux/dir_names.h"
#include "linux/kernel_api.h"
#include "plan/look_kind.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The mode decides most cases without another system call: a successful lstat(2) shows that
 * every directory above can be searched.  An ACL shows in the group bits. */
static bool reachable(uid_t own, const char *path, const struct stat *st) {
	if ((st->st_mode & (S_IROTH | S_IWOTH)) != 0) {
		return true;
	}
	if (own == 0) {
		return true;
	}
	if (st->st_uid == own) {
		return (st->st_mode & (S_IRUSR | S_IWUSR)) != 0;
	}
	if ((st->st_mode & (S_IRGRP | S_IWGRP)) == 0) {
		return false;
	}
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ||
	       faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static struct look fs_look(void *ctx, const char *path) {
	const uid_t *own = ctx;
	struct stat st;
	if (lstat(path, &st) != 0) {
		return (struct look){.kind = LOOK_NOTHING};
	}
	return (struct look){
		.kind = look_kind(st.st_mode),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.uid = st.st_uid,
		.mode = st.st_mode & 07777,
		.names = st.st_nlink,
		.reachable = reachable(*own, path, &st),
	};
}

static bool fs_readlink(void *ctx, const char *path, char *out, size_t cap) {
	(void)ctx;
	return read_link(path, out, cap);
}

/* Most paths have no symlink, which one openat2(2) shows.  The plan's paths are in normal form,
 * without "." and "..". */
static bool is_canonical(const char *path) {
	auto_fd fd = sys_openat2(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS);
	return fd >= 0;
}

static bool fs_resolve(void *ctx, const char *path, char *out, size_t cap) {
	(void)ctx;
	char full[PATH_MAX];
	const char *from = is_canonical(path) ? path : realpath(path, full);
	if (from == NULL || strlen(from) >= cap) {
		return false;
	}
	memcpy(out, from, strlen(from) + 1);
	return true;
}

static bool fs_folds(void *ctx, const char *path) {
	(void)ctx;
	auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && dir_folds(fd);
}

static bool is_dot(const char *name) {
	return streq(name, ".") || streq(name, "..");
}

static bool list_entries(const char *path, bool links, void (*each)(void *arg, const char *name),
			 void *arg) {
	char space[4096]; /* opendir(3) would allocate one */
	auto_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;
	if (dir < 0) {
		return false;
	}
	while ((n = syscall(SYS_getdents64, dir, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(space + at)) {
			const char *name = dirent64_name(space + at);
			unsigned char type = dirent64_type(space + at);
			bool wanted = !links || type == DT_LNK || type == DT_UNKNOWN;
			if (wanted && !is_dot(name)) {
				each(arg, name);
			}
		}
	}
	return true;
}

static bool fs_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		    void *arg) {
	(void)ctx;
	return list_entries(path, false, each, arg);
}

static bool fs_links(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		     void *arg) {
	(void)ctx;
	return list_entries(path, true, each, arg);
}

static bool fs_read(void *ctx, const char *path, size_t limit, struct buf *out) {
	(void)ctx;
	struct stat st;
	/* O_NONBLOCK: a FIFO there must not block. */
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       fd_read_all(fd, limit, out) == 0;
}

static size_t fs_head(void *ctx, const char *path, char *out, size_t cap) {
	(void)ctx;
	struct stat st;
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, out, cap) : 0;
	return n < 0 ? 0 : (size_t)n;
}

int host_files(struct arena *a, uid_t uid, struct host_fs *ret, struct err *e) {
	uid_t *own = arena_alloc(a, sizeof *own);

	if (own == NULL) {
		return err_memory(e, "probe");
	}
	*own = uid;
	*ret = (struct host_fs){.ctx = own,
				.look = fs_look,
				.readlink = fs_readlink,
				.resolve = fs_resolve,
				.list = fs_list,
				.links = fs_links,
				.names = dir_names,
				.folds = fs_folds,
				.read = fs_read,
				.head = fs_head};
	return 0;
}
