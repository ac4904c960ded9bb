/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a rename onto a file that is granted by itself, by copying the content.
 *
 * Theory.  Programs save by writing a new file and renaming it over the old one.  A file that
 * is granted by itself (--write FILE) is a mount point, or its directory is not writable, so
 * rename(2) fails with EBUSY, EXDEV or EROFS.  The broker then copies the new content into the
 * granted file, reserves the space first, flushes it, and only then removes the new file.
 * This is not a rename: FILE keeps its inode, mode and owner, a reader on the host may see a
 * mix of both contents for a moment, and a crash may leave such a mix.  The manual documents
 * that.
 *
 * Without namespaces the private home has a symlink to such a file (linux/mount_points.h).  A
 * rename onto the symlink is one onto the file, and refused where that is only readable.
 *
 * Should:   leave both files unchanged when there is no space.
 * Must not: read or change a file with another hard link: both files must have st_nlink 1.
 * Fails:    closed, with the refusal of rename(2). */
#include "linux/broker/replace.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/syscall.h>

/* sendfile(2) copies at most 2 GiB per call. */
#define COPY_STEP 0x40000000

#define OPENED (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

struct replacing {
	const struct resolved *from, *to;
	long refusal;
};

/* NULL: none. */
static const struct mount *file_at(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_BIND && m->is_file && streq(m->target, path)) {
			return m;
		}
	}
	return NULL;
}

static bool is_granted_file(const struct plan *plan, const char *path) {
	const struct mount *m = file_at(plan, path);
	return m != NULL && m->writable && m->reach == REACH_WRITE;
}

bool replace_leads_to_grant(const struct call *c, const struct resolved *to, char ret[PATH_MAX]) {
	const struct plan *plan = c->b->plan;
	char text[PATH_MAX];

	if (!plan_lacks_namespaces(plan) || plan->home_own == NULL || plan->home_at == NULL ||
	    !path_within(to->real, plan->home_at) ||
	    !path_rebase(to->real, plan->home_at, plan->home_own, ret, PATH_MAX) ||
	    file_at(plan, ret) == NULL) {
		return false;
	}
	ssize_t n = syscall(SYS_readlinkat, to->fd, to->name, text, sizeof text - 1);
	return n >= 0 && (size_t)n == strlen(ret) && memcmp(text, ret, (size_t)n) == 0;
}

static bool is_single(int fd, struct stat *ret) {
	return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_nlink == 1;
}

static long copy(int from, int to, off_t size) {
	off_t at = 0;

	if (size > 0 && syscall(SYS_fallocate, to, FALLOC_FL_KEEP_SIZE, (off_t)0, size) != 0 &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
		return -errno;
	}
	while (at < size) {
		ssize_t n = syscall(SYS_sendfile, to, from, &at, (size_t)COPY_STEP);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n == 0) {
			return -EIO; /* the file was truncated during the copy */
		}
	}
	if (syscall(SYS_ftruncate, to, size) != 0 || syscall(SYS_fsync, to) != 0) {
		return -errno;
	}
	return 0;
}

/* In a helper: copying a large file takes long, and fsync(2) may, too (K5). */
static long replace(const struct call *c, int fd, const void *arg) {
	const struct replacing *r = arg;
	struct stat st, old;
	(void)c;
	(void)fd;

	auto_fd from = openat(r->from->fd, r->from->name, O_RDONLY | O_CLOEXEC | OPENED);
	auto_fd to = openat(r->to->fd, r->to->name, O_WRONLY | O_CLOEXEC | OPENED);
	if (from < 0 || to < 0 || !is_single(from, &st) || !is_single(to, &old)) {
		return r->refusal;
	}
	long done = copy(from, to, st.st_size);
	if (done != 0) {
		return done;
	}
	return syscall(SYS_unlinkat, r->from->fd, r->from->name, 0) != 0 ? -errno : 0;
}

long replace_or_refuse(const struct call *c, const struct resolved *from, const struct resolved *to,
		       long refusal) {
	const struct replacing r = {.from = from, .to = to, .refusal = refusal};
	bool ours = (refusal == -EBUSY || refusal == -EXDEV || refusal == -EROFS) &&
		    is_granted_file(c->b->plan, to->real);

	if (!ours || verdict_remove(c, from) != 0 || verdict_change(c, to) != 0) {
		return refusal;
	}
	return helper_run(c, from->fd, to->fd, replace, &r);
}
