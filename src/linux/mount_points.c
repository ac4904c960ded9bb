/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and removes the mount points for grants in the private home; without namespaces, symlinks
 * in their place.
 *
 * Theory.  A grant in HOME (--read ~/data.csv) is mounted on a file of the private home, which
 * later runs without the grant would find there, empty.  So a mount point is removed when the
 * last run that uses the home has ended.  After a killed run the next one removes it: at its start,
 * if it has other mount points (home_set.c), or at its end.
 *
 * Without namespaces nothing is mounted, and HOME is the private home itself.  There a symlink to
 * the granted path makes the grant visible under the name that programs use (~/data.csv).
 *
 * A mount point is created as a draft outside the home, its inode number and birth time are
 * recorded, and it is moved into the home with RENAME_NOREPLACE.  So a record never names a
 * file of a command, whenever the process is killed.
 *
 * Should:   remove the recorded mount points, if the inode is the same and still empty, or still
 *           a symlink.
 * Must not: follow a symlink: the command controls the home's content.
 * Fails:    open: an empty file or directory stays in the private home; on a file system
 *           without birth times, all of them. */
#include "linux/mount_points.h"

#include "backend/home.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "data/keys.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define RECORDS "points"
#define DRAFT "point-"

/* The largest record file: one record a mount point. */
#define RECORDS_MAX ((size_t)16 * 1024 * 1024)

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1U
#endif

#define DIRECTORY (O_DIRECTORY | O_NOFOLLOW)

/* Distinguishes an inode from a later one with the same number. */
struct birth {
	uint64_t ino;
	int64_t sec;
	uint32_t nsec;
};

static bool find_birth(int dir, const char *name, struct birth *ret, struct file_status *ret_x) {
	const unsigned want = FILE_STATUS_BASIC | FILE_STATUS_BORN;
	if (sys_statx(dir, name, AT_SYMLINK_NOFOLLOW, want, ret_x) != 0 ||
	    (ret_x->mask & FILE_STATUS_BORN) == 0) {
		return false;
	}
	*ret = (struct birth){.ino = ret_x->ino, .sec = ret_x->born.sec, .nsec = ret_x->born.nsec};
	return true;
}

/* The parent directory of path, which is relative to the home. */
static int open_parent(int dir, const char *path, const char **ret_name) {
	int at = openat(dir, HOME_NAME, O_PATH | DIRECTORY | O_CLOEXEC);
	for (const char *slash; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		size_t len = (size_t)(slash - path);
		int next = -1;
		if (len <= NAME_MAX) {
			char name[NAME_MAX + 1];
			memcpy(name, path, len);
			name[len] = '\0';
			next = openat(at, name, O_PATH | DIRECTORY | O_CLOEXEC);
		}
		drop_fd(&at);
		at = next;
	}
	*ret_name = path;
	return at;
}

/* ---- creating ---- */

static bool record(int dir, const struct birth *b, const char *path) {
	char head[80];
	struct buf line;
	(void)snprintf(head, sizeof head, "%" PRIu64 " %" PRId64 " %" PRIu32 " ", b->ino, b->sec,
		       b->nsec);
	buf_init(&line);
	buf_puts(&line, head);
	buf_add(&line, path, strlen(path) + 1);
	auto_fd fd =
		openat(dir, RECORDS, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool done = fd >= 0 && !buf_failed(&line) && fd_write_all(fd, line.data, line.len) == 0;
	buf_done(&line);
	return done;
}

/* The kind of file that is created at the end of a path. */
struct point {
	bool is_file;
	const char *link; /* the target of a symlink; NULL: a mount point */
};

static const struct point directory = {false, NULL};

static bool make_draft(int dir, const char *draft, struct point p) {
	if (p.link != NULL) {
		return symlinkat(p.link, dir, draft) == 0;
	}
	if (!p.is_file) {
		return mkdirat(dir, draft, 0755) == 0;
	}
	auto_fd fd = openat(dir, draft, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0;
}

/* Creates path, relative to the home; its last component is missing in `parent`. */
static bool make_point(int dir, int parent, const char *path, struct point p) {
	static _Atomic unsigned number;
	const char *slash = strrchr(path, '/');
	char draft[64];
	struct file_status x;
	struct birth b;

	(void)snprintf(draft, sizeof draft, DRAFT "%d-%u", (int)getpid(), number++);
	if (!make_draft(dir, draft, p)) {
		return false;
	}
	if (find_birth(dir, draft, &b, &x) && record(dir, &b, path) &&
	    syscall(SYS_renameat2, dir, draft, parent, slash == NULL ? path : slash + 1,
		    RENAME_NOREPLACE) == 0) {
		return true;
	}
	/* Or the sweep does it. */
	(void)unlinkat(dir, draft, p.is_file || p.link != NULL ? 0 : AT_REMOVEDIR);
	return false;
}

/* An empty directory, which an earlier command left there, would hide the link to a grant. */
static void make_room(int parent, const char *name, bool last, struct point p) {
	if (last && p.link != NULL) {
		(void)unlinkat(parent, name, AT_REMOVEDIR); /* any other file stays */
	}
}

/* Creates the missing components one after the other. */
static void make_path(int dir, const char *path, struct point p) {
	char part[PATH_MAX];
	for (size_t i = 1; i < sizeof part && path[i - 1] != '\0'; i++) {
		const char *name;
		struct stat st;
		if (path[i] != '/' && path[i] != '\0') {
			continue;
		}
		memcpy(part, path, i);
		part[i] = '\0';
		auto_fd parent = open_parent(dir, part, &name);
		if (parent < 0) {
			return;
		}
		make_room(parent, name, path[i] == '\0', p);
		if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			continue;
		}
		if (errno != ENOENT ||
		    !make_point(dir, parent, part, path[i] == '\0' ? p : directory)) {
			return;
		}
	}
}

/* Toolchains and the workspace are mounted in every run: their mount points stay. */
static bool is_granted(const struct mount *m) {
	return m->kind == MOUNT_BIND &&
	       (streq(m->note, keys[KEY_FS_READ].name) || streq(m->note, keys[KEY_FS_WRITE].name) ||
		streq(m->note, keys[KEY_NET_SOCKETS].name));
}

static bool is_beneath(const char *path, const char *home) {
	return home != NULL && path_within(path, home) && !streq(path, home);
}

void mount_points_make(const struct plan *plan, int dir) {
	bool links = plan_lacks_namespaces(plan);
	/* Where the caller's home is, as programs name it. */
	const char *home = links ? plan->home_own : plan->home_at;
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		struct point p = {m->is_file, links ? m->target : NULL};
		if (is_granted(m) && is_beneath(m->target, home) &&
		    (links ? !is_beneath(m->target, plan->home_at) : m->create)) {
			make_path(dir, m->target + strlen(home) + 1, p);
		}
	}
}

/* ---- removing ---- */

bool mount_points_left(int dir) {
	return faccessat(dir, RECORDS, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void remove_point(int dir, const struct birth *made, const char *path) {
	const char *name;
	struct file_status x;
	struct birth b;
	auto_fd parent = open_parent(dir, path, &name);
	if (parent < 0 || !find_birth(parent, name, &b, &x) || b.ino != made->ino ||
	    b.sec != made->sec || b.nsec != made->nsec) {
		return;
	}
	if (S_ISDIR(x.mode)) {
		(void)unlinkat(parent, name, AT_REMOVEDIR); /* fails if it is not empty */
	} else if (S_ISLNK(x.mode) || (S_ISREG(x.mode) && x.size == 0)) {
		(void)unlinkat(parent, name, 0); /* on failure an empty file or a link stays */
	}
}

static void remove_recorded(int dir, const char *line) {
	struct birth b = {0};
	char *end = NULL;
	b.ino = strtoull(line, &end, 10);
	b.sec = strtoll(end, &end, 10);
	b.nsec = (uint32_t)strtoul(end, &end, 10);
	if (*end == ' ' && end[1] != '\0' && end[1] != '/') {
		remove_point(dir, &b, end + 1);
	}
}

/* From the last to the first: a directory after the mount points in it. */
static void remove_all(int dir, const struct buf *text) {
	for (size_t end = text->len; end > 0;) {
		size_t at = end - 1; /* the NUL at the end of the record */
		while (at > 0 && text->data[at - 1] != '\0') {
			at--;
		}
		remove_recorded(dir, text->data + at);
		end = at;
	}
}

/* Removes the drafts of processes that were killed before the rename. */
static void remove_drafts(int dir) {
	int own = openat(dir, ".", O_RDONLY | DIRECTORY | O_CLOEXEC);
	auto_dir list = own < 0 ? NULL : fdopendir(own);
	for (struct dirent *d; list != NULL && (d = readdir(list)) != NULL;) {
		if (str_starts(d->d_name, DRAFT) && unlinkat(dir, d->d_name, 0) != 0) {
			(void)unlinkat(dir, d->d_name,
				       AT_REMOVEDIR); /* the next sweep tries again */
		}
	}
}

void mount_points_sweep(int dir) {
	struct buf text;
	auto_fd fd = openat(dir, RECORDS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	buf_init(&text);
	/* A record that a full disk truncated has no NUL; the buffer has one after it. */
	if (fd >= 0 && fd_read_all(fd, RECORDS_MAX, &text) == 0 && text.data != NULL) {
		remove_all(dir, &text);
	}
	buf_done(&text);
	remove_drafts(dir);
	(void)unlinkat(dir, RECORDS,
		       0); /* its mount points are removed, or the command uses them */
}
