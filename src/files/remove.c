/* SPDX-License-Identifier: Apache-2.0 */
/* The delete tool.
 *
 * A tree is walked twice, by descriptor.  The first walk judges every entry and changes nothing: a
 * tree with a protected or hidden entry, or with a directory that cannot be emptied, is refused as
 * a whole.  The second removes, and judges each entry again, because the tree may have changed.
 *
 * Should:   remove a file, a symlink, an empty directory; a whole tree only if it was asked for.
 * Must not: follow a symlink, enter another mount, walk deeper than DEPTH_MAX, or check more than
 *           ENTRIES_MAX entries or longer than CHECK_MS.
 * Fails:    closed: a tree that cannot be checked completely stays.  A system call that fails
 * during the second walk ends it, and the rest stays. */
#include "files/remove.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "files/named.h"
#include "files/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* As in linux/broker/tree.h and preexisting.c: the moves that a command may make. */
#define DEPTH_MAX 128
#define ENTRIES_MAX 2000000U
#define CHECK_MS 30000

struct walk {
	const struct lens *v;
	struct place at; /* the entry: path, st; dir is lent by its level of the walk */
	const char *done;
	bool to_empty, removing;
	unsigned entries;
	size_t removed;
	int64_t deadline;
	struct err *e;
};

int remove_missing(const char *path, struct err *e) {
	(void)err_set(e, ERR_NOT_FOUND, "files", "%s does not exist", path);
	e->sys = ENOENT;
	return -1;
}

/* ---- failures ---- */

static int fail(const struct walk *w, int error) {
	(void)place_failed(error, w->removing ? "delete" : "search", w->at.path, w->e);
	return err_fix(w->e, "%s",
		       w->removing ? "a part of the tree may be deleted; list it"
				   : "every entry has to be checked first; nothing was done");
}

static int fail_by_size(const struct walk *w) {
	(void)err_set(w->e, ERR_TOO_LARGE, "files",
		      "%s: the tree is larger than a tool checks: %u entries, %d levels, %d s",
		      w->done, ENTRIES_MAX, DEPTH_MAX, CHECK_MS / 1000);
	return err_fix(w->e, "take smaller parts of it, or run a command: mv, rm");
}

/* ---- one entry ---- */

static int judge_entry(struct walk *w) {
	struct verdict verdict;

	access_judge_name(w->v, &w->at, &verdict);
	if (verdict.kind == ERR_NONE) {
		return 0;
	}
	(void)err_set(w->e, verdict.kind == ERR_OUTSIDE ? ERR_PROTECTED : verdict.kind, "files",
		      "%s: %s", w->removing ? "the rest stays" : w->done, verdict.reason);
	return err_fix(w->e, "%s", verdict.remedy);
}

static int walk_directory(struct walk *w, int parent, const char *name, int depth);

static int remove_entry(struct walk *w, int dir, const char *name, int flags) {
	if (unlinkat(dir, name, flags) != 0 && errno != ENOENT) {
		return fail(w, errno);
	}
	w->removed++;
	return 0;
}

static int visit(struct walk *w, int dir, const char *name, int depth) {
	w->at.dir = dir;
	if (fstatat(dir, name, &w->at.st, AT_SYMLINK_NOFOLLOW) != 0) {
		return errno == ENOENT ? 0 : fail(w, errno);
	}
	bool directory = S_ISDIR(w->at.st.st_mode);
	if (judge_entry(w) != 0 || (directory && walk_directory(w, dir, name, depth) != 0)) {
		return -1;
	}
	return w->removing ? remove_entry(w, dir, name, directory ? AT_REMOVEDIR : 0) : 0;
}

/* ---- one directory ---- */

static int visit_all(struct walk *w, DIR *entries, int depth) {
	int dir = dirfd(entries);

	errno = 0;
	for (struct dirent *d; (d = readdir(entries)) != NULL; errno = 0) {
		if (streq(d->d_name, ".") || streq(d->d_name, "..")) {
			continue;
		}
		if (!w->removing && (++w->entries > ENTRIES_MAX || clock_ms() >= w->deadline)) {
			return fail_by_size(w);
		}
		if (w->to_empty && faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) != 0) {
			return fail(w, errno);
		}
		if (!path_push(w->at.path, sizeof w->at.path, d->d_name)) {
			return fail(w, ENAMETOOLONG);
		}
		if (visit(w, dir, d->d_name, depth) != 0) {
			return -1;
		}
		path_pop(w->at.path);
	}
	return errno == 0 || errno == ENOENT ? 0 : fail(w, errno);
}

/* Reads the directory again until nothing more is removed: some file systems skip entries when
 * others are removed meanwhile. */
static int walk_directory(struct walk *w, int parent, const char *name, int depth) {
	int fd = depth < DEPTH_MAX ? beneath_open_directory(parent, name, w->v->fast) : -1;
	auto_dir entries = fd < 0 ? NULL : fdopendir(fd);

	if (depth == DEPTH_MAX) {
		return fail_by_size(w);
	}
	if (entries == NULL) {
		int error = errno;
		drop_fd(&fd);
		return fail(w, error);
	}
	size_t before;
	do {
		before = w->removed;
		rewinddir(entries);
		if (visit_all(w, entries, depth + 1) != 0) {
			return -1;
		}
	} while (w->removing && w->removed > before);
	return 0;
}

/* ---- a tree ---- */

static int walk_tree(struct walk *w, const struct place *top) {
	memcpy(w->at.path, top->path, strlen(top->path) + 1);
	return walk_directory(w, top->dir, top->name, 0);
}

static struct walk walk_of(const struct lens *v, const struct place *top, struct err *e) {
	return (struct walk){.v = v,
			     .at = {.kind = PLACE_FILE, .fd = -1, .dir = -1, .tree = top->tree},
			     .deadline = clock_ms() + CHECK_MS,
			     .e = e};
}

int remove_check_tree(const struct lens *v, const struct place *top, bool to_empty,
		      const char *done, struct err *e) {
	struct walk w = walk_of(v, top, e);

	w.to_empty = to_empty;
	w.done = done;
	return walk_tree(&w, top);
}

static int remove_tree_of(const struct lens *v, const struct place *top, struct err *e) {
	static const char done[] = "nothing was deleted";

	if (remove_check_tree(v, top, true, done, e) != 0) {
		return -1;
	}
	if (!named_holds(top)) {
		return named_changed(top->path, e);
	}
	struct walk w = walk_of(v, top, e);
	w.removing = true;
	w.done = done;
	return walk_tree(&w, top);
}

/* ---- the tool ---- */

static int delete_entry(const struct lens *v, const struct place *p, bool recursive,
			struct err *e) {
	bool directory = S_ISDIR(p->st.st_mode);

	if (directory && recursive && remove_tree_of(v, p, e) != 0) {
		return -1;
	}
	if (unlinkat(p->dir, p->name, directory ? AT_REMOVEDIR : 0) == 0) {
		return 0;
	}
	(void)place_failed(errno, "delete", p->path, e);
	return e->sys == ENOTEMPTY || e->sys == EEXIST
		       ? err_fix(e, "delete its entries first, or the whole tree")
		       : -1;
}

int tool_delete(const struct lens *v, const char *path, bool recursive, struct err *e) {
	struct verdict verdict;
	struct place p;

	if (named_find(v, path, 0, &p, e) != 0) {
		return -1;
	}
	access_judge_name(v, &p, &verdict);
	int rc = access_fail(&verdict, e);
	if (rc == 0) {
		rc = p.kind == PLACE_MISSING ? remove_missing(p.path, e)
					     : delete_entry(v, &p, recursive, e);
	}
	place_done(&p);
	return rc;
}
