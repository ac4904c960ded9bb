/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the disk blocks of the writable directories, as `du` does.
 *
 * Should:   count allocated blocks (st_blocks).
 * Must not: follow a symlink, leave the file system of a root, or change anything.
 * Fails:    closed: if there is a new unreadable directory, the loss of free space counts
 *           instead, also that of other programs. */
#include "linux/disk_growth.h"

#include "base/auto.h"
#include "base/dirent64.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define WHERE "limits"

/* One descriptor and one stack frame a level. */
#define DEPTH_MAX 256
#define SPACE_SIZE ((size_t)32 * 1024)
#define BLOCK 512 /* the unit of st_blocks */

struct walk {
	char *space;
	dev_t dev;
	int64_t bytes;
	size_t unread;
};

static int64_t entry_offset(const char *entry) {
	int64_t offset;
	memcpy(&offset, entry + DIRENT64_OFFSET, sizeof offset);
	return offset;
}

/* Divides the blocks among the hard links. */
static int64_t bytes_of(const struct stat *st) {
	int64_t bytes = (int64_t)st->st_blocks * BLOCK;

	return S_ISDIR(st->st_mode) || st->st_nlink < 2 ? bytes : bytes / (int64_t)st->st_nlink;
}

static int open_dir(int dir, const char *name) {
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static void walk_dir(struct walk *w, int dir, int depth);

/* True if a directory was entered: then the buffer has the entries of another directory. */
static bool walk_entry(struct walk *w, int dir, const char *name, int depth) {
	struct stat st;

	if (streq(name, ".") || streq(name, "..") ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return false; /* removed meanwhile */
	}
	w->bytes += st.st_dev == w->dev ? bytes_of(&st) : 0;
	if (!S_ISDIR(st.st_mode) || st.st_dev != w->dev) {
		return false;
	}
	auto_fd sub = depth < DEPTH_MAX ? open_dir(dir, name) : -1;
	if (sub < 0) {
		w->unread += depth == DEPTH_MAX || errno != ENOENT;
		return false;
	}
	walk_dir(w, sub, depth + 1);
	return true;
}

/* All levels share one buffer: after a subdirectory its parent is read again from that entry. */
static void walk_dir(struct walk *w, int dir, int depth) {
	long n;

	while ((n = syscall(SYS_getdents64, dir, w->space, SPACE_SIZE)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(w->space + at)) {
			int64_t next = entry_offset(w->space + at);
			if (walk_entry(w, dir, dirent64_name(w->space + at), depth)) {
				(void)syscall(SYS_lseek, dir, next, SEEK_SET); /* as seekdir(3) */
				break;
			}
		}
	}
	w->unread += n < 0 && errno != ENOENT;
}

static struct walk walk_all(const struct disk_growth *g) {
	struct walk w = {.space = g->space};

	for (size_t i = 0; i < g->count; i++) {
		struct stat st;
		auto_fd dir = open_dir(AT_FDCWD, g->roots[i].path);
		if (dir < 0 || fstat(dir, &st) != 0) {
			w.unread += errno != ENOENT; /* a directory of the run may not exist yet */
			continue;
		}
		w.dev = st.st_dev;
		walk_dir(&w, dir, 0);
	}
	return w;
}

/* ---- free space ---- */

static int64_t free_at(const struct disk_growth_root *r) {
	struct statfs fs;
	auto_fd dir = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir >= 0 && syscall(SYS_fstatfs, dir, &fs) == 0
		       ? (int64_t)fs.f_bfree * (int64_t)fs.f_bsize
		       : -1;
}

static int64_t fall(int64_t before, int64_t now) {
	return before > now && now >= 0 ? before - now : 0;
}

int64_t disk_growth_fall(const struct disk_growth *g) {
	int64_t sum = 0;

	for (size_t i = 0; i < g->count; i++) {
		const struct disk_growth_root *r = &g->roots[i];
		sum += r->same ? 0 : fall(r->free_then, free_at(r));
	}
	return sum;
}

int64_t disk_growth_measure(struct disk_growth *g) {
	int64_t fell = 0;

	/* First: files that are written during the walk count in the next one. */
	for (size_t i = 0; i < g->count; i++) {
		struct disk_growth_root *r = &g->roots[i];
		r->free_then = r->same ? 0 : free_at(r);
		fell += r->same ? 0 : fall(r->free_before, r->free_then);
	}
	struct walk w = walk_all(g);
	int64_t added = w.bytes > g->before ? w.bytes - g->before : 0;
	return w.unread > g->unread && fell > added ? fell : added;
}

/* ---- which directories ---- */

static bool is_kernels(const char *path) {
	return path_within(path, "/proc") || path_within(path, "/sys") || path_within(path, "/dev");
}

/* Keeps the roots disjoint.  "/" is not walked: if everything is writable, the workspace is
 * measured. */
static int add_root(struct disk_growth *g, const char *path, struct err *e) {
	size_t kept = 0;

	if (path == NULL || streq(path, "/") || is_kernels(path)) {
		return 0;
	}
	for (size_t i = 0; i < g->count; i++) {
		if (path_within(path, g->roots[i].path)) {
			return 0;
		}
	}
	for (size_t i = 0; i < g->count; i++) {
		if (!path_within(g->roots[i].path, path)) {
			g->roots[kept++] = g->roots[i];
		}
	}
	g->count = kept;
	if (g->count == GROWTH_ROOTS_MAX) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "limits.disk can measure at most %d writable directories",
			      GROWTH_ROOTS_MAX);
		return err_fix(e, "grant fewer with --write, or run without --disk");
	}
	g->roots[g->count++] = (struct disk_growth_root){.path = path};
	return 0;
}

static int add_mounts(struct arena *a, const struct plan *plan, struct disk_growth *g,
		      struct err *e) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		const char *path = m->source;
		if (m->kind == MOUNT_COW) {
			path = path_join(a, plan->cow_dir, "upper");
			if (path == NULL) {
				return err_memory(e, WHERE);
			}
		} else if (m->kind != MOUNT_BIND || !m->writable || m->is_file) {
			continue;
		}
		if (add_root(g, path, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static void note_devices(struct disk_growth *g) {
	for (size_t i = 0; i < g->count; i++) {
		struct disk_growth_root *r = &g->roots[i];
		struct stat st;
		r->dev = stat(r->path, &st) == 0 ? (uint64_t)st.st_dev : 0;
		for (size_t j = 0; j < i; j++) {
			r->same = r->same || g->roots[j].dev == r->dev;
		}
		r->free_before = free_at(r);
	}
}

int disk_growth_begin(struct arena *a, const struct plan *plan, struct disk_growth **ret,
		      struct err *e) {
	struct disk_growth *g = arena_alloc(a, sizeof *g);
	char *space = arena_alloc(a, SPACE_SIZE);

	if (g == NULL || space == NULL) {
		return err_memory(e, WHERE);
	}
	*g = (struct disk_growth){.space = space};
	if ((plan->cow_dir == NULL && add_root(g, plan->workspace, e) != 0) ||
	    add_mounts(a, plan, g, e) != 0 || add_root(g, plan->run_dir, e) != 0) {
		return -1;
	}
	note_devices(g);
	struct walk w = walk_all(g);
	g->before = w.bytes;
	g->unread = w.unread;
	*ret = g;
	return 0;
}
