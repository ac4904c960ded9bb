/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the upper directory before a copy-on-write run, and counts the changes after it.
 *
 * Should:   check before the run that overlayfs accepts the upper directory, because
 *           mount(2) fails with EINVAL for every reason.
 * Must not: leave a directory without changes behind.
 * Fails:    closed: without an upper directory the command does not run. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/remove_tree.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

/* An upper bound for /proc/self/mountinfo. */
#define MOUNTS_MAX ((size_t)16 * 1024 * 1024)

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xFF534D42
#endif

const char *cow_dir_of(struct arena *a, const char *state_dir, const char *id) {
	const char *all = state_dir == NULL ? NULL : path_join(a, state_dir, "cow");
	return all == NULL ? NULL : path_join(a, all, id);
}

/* ---- whether overlayfs works here ---- */

/* File systems that overlayfs refuses as an upper directory. */
static const struct {
	unsigned long magic;
	const char *name;
} unfit[] = {
	{OVERLAYFS_SUPER_MAGIC, "overlayfs (a container's own root)"},
	{NFS_SUPER_MAGIC, "NFS"},
	{SMB_SUPER_MAGIC, "SMB"},
	{CIFS_SUPER_MAGIC, "SMB"},
	{FUSE_SUPER_MAGIC, "FUSE"},
	{V9FS_MAGIC, "9P"},
	{MSDOS_SUPER_MAGIC, "FAT"},
	{ECRYPTFS_SUPER_MAGIC, "eCryptfs"},
};

#define ELSEWHERE                                                                                  \
	"set XDG_STATE_HOME to a directory on ext4, xfs, btrfs or tmpfs, or run without --cow"

static int check_file_system(int upper, const char *dir, struct err *e) {
	struct statfs fs;
	if (fstatfs(upper, &fs) != 0) {
		return err_sys_at(e, COW_WHERE, "cannot read the file system type of", dir);
	}
	for (size_t i = 0; i < ARRAY_LEN(unfit); i++) {
		if ((unsigned long)fs.f_type == unfit[i].magic) {
			(void)err_set(
				e, ERR_SETUP, COW_WHERE,
				"cannot store changes in %s: it is on %s, which cannot be the "
				"upper layer of an overlay",
				dir, unfit[i].name);
			return err_fix(e, ELSEWHERE);
		}
	}
	if (fsetxattr(upper, "user.corral.probe", "", 0, 0) != 0) {
		(void)err_sys_at(e, COW_WHERE, "cannot set extended attributes in", dir);
		return err_fix(e, ELSEWHERE);
	}
	return fremovexattr(upper, "user.corral.probe") == 0
		       ? 0
		       : err_sys_at(e, COW_WHERE, "cannot remove an extended attribute in", dir);
}

/* Mountinfo escapes four characters in octal. */
static char next_char(const char **at) {
	static const struct {
		const char *text;
		char c;
	} escapes[] = {{"\\040", ' '}, {"\\011", '\t'}, {"\\012", '\n'}, {"\\134", '\\'}};
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		if (str_starts(*at, escapes[i].text)) {
			*at += strlen(escapes[i].text);
			return escapes[i].c;
		}
	}
	return *(*at)++;
}

/* The mount point of one line of mountinfo. */
static bool mount_point(const char *line, char out[PATH_MAX]) {
	size_t len = 0;
	for (int field = 0; field < 4; field++) {
		line = strchr(line, ' ');
		if (line == NULL) {
			return false;
		}
		line++;
	}
	while (*line != ' ' && *line != '\0' && len < PATH_MAX - 1) {
		out[len++] = next_char(&line);
	}
	out[len] = '\0';
	return true;
}

/* Overlayfs shows the directory below a mount point, not the mounted file system: files would
 * be missing in the sandbox without an error. */
static int check_mounts(const char *workspace, struct err *e) {
	struct buf text;
	char at[PATH_MAX];
	int rc = 0;

	buf_init(&text);
	if (fd_read_file("/proc/self/mountinfo", MOUNTS_MAX, &text) != 0) {
		rc = err_sys(e, COW_WHERE, "cannot read /proc/self/mountinfo");
	}
	for (char *line = text.data, *end; rc == 0 && line != NULL && *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		end += *end == '\n';
		if (mount_point(line, at) && !streq(at, workspace) && path_within(at, workspace)) {
			(void)err_set(
				e, ERR_SETUP, COW_WHERE,
				"%s is mounted in the workspace, and overlayfs would not show "
				"it",
				at);
			rc = err_fix(e, "unmount it, use a workspace without mounts, or run "
					"without --cow");
		}
	}
	buf_done(&text);
	return rc;
}

/* ---- begin ---- */

static int make_parents(const char *dir, struct err *e) {
	char failed[PATH_MAX];

	if (dirs_make_parents(dir, failed) != 0) {
		(void)err_sys_at(e, COW_WHERE, "cannot create", failed);
		return err_fix(e, "make the state directory writable, set XDG_STATE_HOME, or run "
				  "without --cow");
	}
	return 0;
}

static int write_meta(int dir, const char *workspace, struct err *e) {
	struct stat st;
	struct timespec now;
	struct buf text;

	if (stat(workspace, &st) != 0) {
		return err_sys_at(e, COW_WHERE, "cannot stat the workspace", workspace);
	}
	/* CLOCK_REALTIME is never behind the coarse clock of file times. */
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	buf_init(&text);
	buf_printf(&text, "1 %" PRIu64 " %" PRId64 " %" PRId64 "\n%s", (uint64_t)st.st_ino,
		   (int64_t)now.tv_sec, (int64_t)now.tv_nsec, workspace);
	auto_fd fd = openat(dir, "meta", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = buf_failed(&text) ? err_memory(e, COW_WHERE) : 0;
	if (rc == 0 && (fd < 0 || fd_write_all(fd, text.data, text.len) != 0)) {
		rc = err_sys(e, COW_WHERE, "cannot write the record of the run");
	}
	buf_done(&text);
	return rc;
}

static int open_part(int dir, const char *name) {
	return mkdirat(dir, name, 0700) == 0
		       ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
		       : -1;
}

/* The root of the overlay has the mode of the upper directory. */
static int copy_mode(int upper, const char *workspace) {
	struct stat st;
	return stat(workspace, &st) == 0 ? fchmod(upper, st.st_mode & 0777) : -1;
}

static int make_upper(struct cow_run *r, const char *workspace, struct err *e) {
	r->lock = open(r->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->lock < 0 || flock(r->lock, LOCK_EX | LOCK_NB) != 0) {
		return err_sys_at(e, COW_WHERE, "cannot lock", r->dir);
	}
	r->upper = open_part(r->lock, "upper");
	r->work = open_part(r->lock, "work");
	if (r->upper < 0 || r->work < 0) {
		return err_sys_at(e, COW_WHERE, "cannot create the upper directory in", r->dir);
	}
	/* First: a workspace without permission to write makes the upper directory such a one. */
	if (check_file_system(r->upper, r->dir, e) != 0) {
		return -1;
	}
	if (copy_mode(r->upper, workspace) != 0) {
		return err_sys_at(e, COW_WHERE, "cannot set the mode of the upper directory in",
				  r->dir);
	}
	return write_meta(r->lock, workspace, e);
}

static int open_parent(const char *dir) {
	char path[PATH_MAX];
	return path_parent(dir, path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void run_close(struct cow_run *r) {
	drop_fd(&r->upper);
	drop_fd(&r->work);
	drop_fd(&r->lock);
}

int cow_begin(const char *dir, const char *workspace, struct cow_run *ret, struct err *e) {
	struct cow_run r = {
		.dir = dir, .id = strrchr(dir, '/') + 1, .lock = -1, .upper = -1, .work = -1};
	if (check_mounts(workspace, e) != 0 || make_parents(dir, e) != 0) {
		return -1;
	}
	if (mkdir(dir, 0700) != 0) {
		return err_sys_at(e, COW_WHERE, "cannot create", dir);
	}
	if (make_upper(&r, workspace, e) != 0) {
		run_close(&r);
		auto_fd parent = open_parent(dir);
		(void)remove_tree(parent, r.id); /* the first error is reported */
		return -1;
	}
	*ret = r;
	return 0;
}

/* ---- end ---- */

static int count(struct arena *a, struct cow_run *r, int64_t *ret, struct err *e) {
	struct cow c;
	struct cow_changes changes;
	int rc = cow_load(a, take_fd(&r->lock), r->id, &c, e);
	if (rc == 0) {
		rc = cow_walk(&c, &changes, e);
	}
	if (rc == 0 && changes.n == 0) {
		c.parent = open_parent(r->dir);
		rc = cow_remove(&c, e);
	}
	if (rc == 0) {
		*ret = (int64_t)changes.n;
	}
	cow_close(&c);
	return rc;
}

int cow_end(struct cow_run *r, int64_t *ret_changes, struct err *e) {
	struct arena a;
	arena_init(&a);
	drop_fd(&r->upper);
	drop_fd(&r->work);
	int rc = count(&a, r, ret_changes, e);
	arena_done(&a);
	return rc;
}
