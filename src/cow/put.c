/* SPDX-License-Identifier: Apache-2.0 */
/* Applies one change to the workspace, with one final system call each (W3).
 *
 * A new file, symlink or directory is created complete as a draft in the same directory, and
 * then renamed: with RENAME_NOREPLACE if there is no entry, over the entry that was checked,
 * or with RENAME_EXCHANGE for an entry of another type, which is then removed under the
 * draft's name.
 *
 * Should:   check again, right before that call, that the host's entry is the one that the
 *           conflict check saw.
 * Must not: follow a symlink (W1), set more than the nine permission bits (W5).
 * Fails:    with the path; the draft is removed here, or by the next apply through the
 *           journal. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

static int fail(struct err *e, const char *what, const char *path) {
	return err_sys_at(e, COW_WHERE, what, path);
}

static void step(const struct cow_put *p) {
	if (p->how->step != NULL) {
		p->how->step(p->how->step_arg);
	}
}

/* The parent directory of the last component, which *ret_name points to. */
static int parent_of(const struct cow_put *p, const char *path, const char **ret_name) {
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t len = slash == NULL ? 0 : (size_t)(slash - path);
	memcpy(dir, path, len); /* paths in a walk are shorter */
	dir[len] = '\0';
	*ret_name = slash == NULL ? path : slash + 1;
	return cow_open_beneath(p->c->lower, dir, O_PATH | O_DIRECTORY);
}

/* ---- drafts ---- */

struct draft {
	int parent;
	const char *name; /* the final name */
	char own[32];     /* the name of the draft */
};

static int draft_init(struct cow_put *p, const char *path, struct draft *ret, struct err *e) {
	struct draft d = {.parent = parent_of(p, path, &d.name)};
	if (d.parent < 0) {
		return fail(e, "cannot open the directory of", path);
	}
	(void)snprintf(d.own, sizeof d.own, ".corral-apply-%s", p->c->id);
	const char *noted = arena_printf(p->c->a, "%.*s%s", (int)(d.name - path), path, d.own);
	if (noted == NULL) {
		drop_fd(&d.parent);
		return err_memory(e, COW_WHERE);
	}
	if (p->last_draft == NULL || !streq(p->last_draft, noted)) {
		step(p);
		if (cow_note(p->c, COW_DRAFT, noted, e) != 0) {
			drop_fd(&d.parent);
			return -1;
		}
		p->last_draft = noted;
	}
	*ret = d;
	return 0;
}

static void draft_remove(int parent, const char *name) {
	if (unlinkat(parent, name, 0) != 0 && errno == EISDIR) {
		/* A directory that is not empty is not a draft. */
		(void)unlinkat(parent, name, AT_REMOVEDIR);
	}
}

void cow_remove_drafts(const struct cow *c) {
	struct cow_apply quiet = {0};
	struct cow_put p = {.c = c, .how = &quiet};
	for (size_t i = 0; i < c->ndrafts; i++) {
		const char *name;
		auto_fd parent = parent_of(&p, c->drafts[i], &name);
		if (parent >= 0 && *name != '\0') {
			draft_remove(parent, name);
		}
	}
}

/* Whether the entry is still the one that the conflict check saw. */
static bool unchanged(const struct draft *d, const struct cow_fact *was) {
	struct stat st;
	if (fstatat(d->parent, d->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return errno == ENOENT && was->mode == 0;
	}
	struct cow_fact now = cow_fact_of(&st);
	/* The ctime of a directory changes with its entries. */
	bool dir = S_ISDIR(now.mode) && S_ISDIR(was->mode);
	return now.ino == was->ino && (dir || (now.sec == was->sec && now.nsec == was->nsec));
}

/* For a file system without renameat2 flags: link(2) does not replace an entry either;
 * directories cannot be linked, and rename(2) replaces only an empty one. */
static int move_plainly(const struct draft *d, const struct cow_fact *was, unsigned flags) {
	if (flags == RENAME_NOREPLACE) {
		int rc = linkat(d->parent, d->own, d->parent, d->name, 0);
		if (rc == 0 || errno != EPERM) {
			return rc;
		}
	} else if (unlinkat(d->parent, d->name, S_ISDIR(was->mode) ? AT_REMOVEDIR : 0) != 0) {
		return -1;
	}
	return renameat(d->parent, d->own, d->parent, d->name);
}

static int move(const struct draft *d, const struct cow_fact *was, unsigned flags) {
	if (syscall(SYS_renameat2, d->parent, d->own, d->parent, d->name, flags) == 0) {
		return 0;
	}
	return errno == EINVAL && flags != 0 ? move_plainly(d, was, flags) : -1;
}

/* Renames the draft to its final name; then the draft's name is free again. */
static int draft_place(const struct cow_put *p, const struct cow_change *change,
		       const struct draft *d, const struct cow_fact *was, struct err *e) {
	unsigned flags = was->mode == 0 ? RENAME_NOREPLACE : 0;
	if (was->mode != 0 && ((was->mode ^ change->is.mode) & S_IFMT) != 0) {
		flags = RENAME_EXCHANGE;
	}
	step(p);
	if (!unchanged(d, was)) {
		draft_remove(d->parent, d->own);
		return err_set(e, ERR_REFUSED, COW_WHERE, "the host changed %s during the apply",
			       change->path);
	}
	if (move(d, was, flags) != 0) {
		(void)fail(e, "cannot rename the new file to", change->path);
		draft_remove(d->parent, d->own);
		return -1;
	}
	step(p);
	draft_remove(d->parent, d->own); /* exists only after RENAME_EXCHANGE */
	return 0;
}

/* ---- the draft's content ---- */

/* With read and write: copy_file_range(2) does not work between all file systems. */
static int copy_by_write(const struct cow_put *p, int from, int to, off_t at, off_t end) {
	while (at < end) {
		size_t want = end - at < (off_t)COW_CHUNK ? (size_t)(end - at) : COW_CHUNK;
		ssize_t n = pread(from, p->chunk, want, at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return (int)n; /* it became shorter: ftruncate() sets the final size */
		}
		if (lseek(to, at, SEEK_SET) != at || fd_write_all(to, p->chunk, (size_t)n) != 0) {
			return -1;
		}
		at += n;
	}
	return 0;
}

static int copy_segment(const struct cow_put *p, int from, int to, off_t at, off_t end) {
	off_t to_at = at;
	while (at < end) {
		ssize_t n = copy_file_range(from, &at, to, &to_at, (size_t)(end - at), 0);
		if (n <= 0) {
			return copy_by_write(p, from, to, at, end);
		}
	}
	return 0;
}

/* Copies data segments only, so that holes stay holes. */
static int copy_bytes(const struct cow_put *p, int from, int to, off_t size) {
	for (off_t at = 0; at < size;) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO) {
			break; /* a hole to the end */
		}
		off_t begin = data < 0 ? at : data; /* a file system without SEEK_DATA */
		off_t hole = data < 0 ? size : lseek(from, begin, SEEK_HOLE);
		off_t end = hole < 0 || hole > size ? size : hole;
		if (begin >= size) {
			break;
		}
		if (copy_segment(p, from, to, begin, end) != 0) {
			return -1;
		}
		at = end;
	}
	return ftruncate(to, size);
}

static int draft_file(const struct cow_put *p, const struct cow_change *change,
		      const struct draft *d) {
	auto_fd from = cow_open_upper(p->c, change->path, O_RDONLY | O_NONBLOCK);
	step(p);
	auto_fd to = from < 0 ? -1
			      : openat(d->parent, d->own,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st, host;
	if (to < 0 || fstat(from, &st) != 0) {
		return -1;
	}
	step(p);
	if (copy_bytes(p, from, to, st.st_size) != 0) {
		return -1;
	}
	cow_copy_attributes(from, to);
	if (fstatat(d->parent, d->name, &host, AT_SYMLINK_NOFOLLOW) == 0) {
		/* Keeps the group of a shared file; the owner becomes this user. */
		(void)!fchown(to, (uid_t)-1, host.st_gid);
	}
	const struct timespec times[] = {st.st_atim, st.st_mtim};
	/* fchmod last: write(2) and chown(2) clear mode bits. */
	return futimens(to, times) != 0 || fchmod(to, change->is.mode & 0777) != 0 ? -1 : 0;
}

static int draft_link(const struct cow_put *p, const struct cow_change *change,
		      const struct draft *d) {
	char text[PATH_MAX];
	auto_fd from = cow_open_beneath(p->c->upper, change->path, O_PATH);
	ssize_t n = from < 0 ? -1 : readlinkat(from, "", text, sizeof text - 1);
	if (n < 0) {
		return -1;
	}
	text[n] = '\0';
	step(p);
	return symlinkat(text, d->parent, d->own);
}

/* Accessible to the owner until it is filled; cow_put_mode() sets the final mode. */
static int draft_dir(const struct cow_put *p, const struct cow_change *change,
		     const struct draft *d) {
	step(p);
	if (mkdirat(d->parent, d->own, 0700) != 0) {
		return -1;
	}
	auto_fd fd = openat(d->parent, d->own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		return -1;
	}
	/* Keeps a set-group-id bit that is inherited from the parent directory. */
	return fchmod(fd, (st.st_mode & 02000) | (change->is.mode & 0777) | 0700);
}

int cow_put(struct cow_put *p, const struct cow_change *change, struct err *e) {
	static const struct cow_fact nothing;
	const struct cow_fact *was = change->kind == COW_RENAMED ? &nothing : &change->was;
	mode_t type = change->is.mode & S_IFMT;
	struct draft d;
	if (draft_init(p, change->path, &d, e) != 0) {
		return -1;
	}
	auto_fd parent = d.parent;
	draft_remove(parent, d.own); /* left by an earlier apply in this directory */
	int rc = type == S_IFDIR   ? draft_dir(p, change, &d)
		 : type == S_IFLNK ? draft_link(p, change, &d)
				   : draft_file(p, change, &d);
	if (rc != 0) {
		(void)fail(e, "cannot create", change->path);
		draft_remove(parent, d.own);
		return -1;
	}
	return draft_place(p, change, &d, was, e);
}

int cow_put_delete(struct cow_put *p, const struct cow_change *change, struct err *e) {
	const char *path = change->from != NULL ? change->from : change->path;
	struct draft d = {.parent = parent_of(p, path, &d.name)};
	auto_fd parent = d.parent;
	if (parent < 0) {
		return errno == ENOENT ? 0 : fail(e, "cannot open the directory of", path);
	}
	step(p);
	if (!unchanged(&d, &change->was)) {
		struct stat st;
		if (fstatat(parent, d.name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
			return 0; /* it is already deleted */
		}
		return err_set(e, ERR_REFUSED, COW_WHERE, "the host changed %s during the apply",
			       path);
	}
	if (unlinkat(parent, d.name, S_ISDIR(change->was.mode) ? AT_REMOVEDIR : 0) != 0) {
		return fail(e, "cannot delete", path);
	}
	return 0;
}

int cow_put_mode(struct cow_put *p, const char *path, uint32_t mode, struct err *e) {
	auto_fd fd = cow_open_beneath(p->c->lower, path, O_PATH);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		return fail(e, "cannot open", path);
	}
	if (((st.st_mode ^ mode) & S_IFMT) != 0) {
		errno = ESTALE;
		return fail(e, "the host replaced", path);
	}
	if (((st.st_mode ^ mode) & 0777) == 0) {
		return 0;
	}
	step(p);
	if (cow_chmod(fd, (st.st_mode & 07000) | (mode & 0777)) != 0) {
		return fail(e, "cannot change the mode of", path);
	}
	return 0;
}
