/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the upper tree with the workspace, and lists the changes.
 *
 * A directory is read whole and closed before the next one is opened, by its path
 * from the root.  The directories of the current path are in an array, not on the stack: depth
 * costs neither stack nor descriptors, and the entries of a directory are freed after it.
 *
 * Should:   read only changed paths: a directory of the workspace is read only if all of it
 *           was deleted or replaced.
 * Must not: change anything except the mode of a directory in the upper tree that its owner
 *           cannot enter.
 * Fails:    with the path that cannot be read. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#define CHUNK ((size_t)64 * 1024)

/* The budget to detect files that were written with the old content; the walk runs at the end
 * of every run, after its time-out. */
#define COMPARE_BYTES ((uint64_t)4 << 30)
#define COMPARE_MS 10000

static const char *const kind_names[COW_KINDS] = {
	[COW_ADDED] = "added", [COW_CHANGED] = "changed", [COW_MODE] = "mode",
	[COW_TYPE] = "type",   [COW_DELETED] = "deleted", [COW_RENAMED] = "renamed",
};

const char *cow_kind_name(enum cow_kind kind) {
	return kind_names[kind];
}

/* One name of a directory, on both sides. */
struct entry {
	const char *name;
	bool in_upper, in_lower;
	struct stat upper, lower;
};

struct entries {
	struct entry *items;
	size_t n, cap;
};

/* A directory to visit. */
struct walk_position {
	const char *path;
	bool upper; /* it is in the upper tree */
	bool all;   /* entries of the workspace that are not in the upper tree are deleted */
};

/* A directory that is being visited. */
struct frame {
	struct walk_position p;
	struct arena own; /* of the entries */
	struct entries list;
	size_t at;
};

struct walk {
	struct cow *c;
	struct cow_changes *found;
	struct frame *frames;
	size_t depth, cap;
	struct cow_effort effort; /* for comparing files */
	char *chunk[2];
	struct err *e;
};

/* ---- reading ---- */

static int cannot_read(const struct walk *w, const char *path) {
	return err_sys_at(w->e, COW_WHERE, "cannot read", *path == '\0' ? "the top" : path);
}

static int add_name(struct walk *w, struct frame *f, const char *name) {
	struct entries *list = &f->list;
	if (arena_grow(&f->own, &list->items, list->n, &list->cap, sizeof *list->items) != 0) {
		return err_memory(w->e, COW_WHERE);
	}
	char *copy = arena_strdup(&f->own, name);
	if (copy == NULL) {
		return err_memory(w->e, COW_WHERE);
	}
	list->items[list->n++] = (struct entry){.name = copy};
	return 0;
}

static int read_names(struct walk *w, int fd, struct frame *f) {
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	auto_dir dir = own < 0 ? NULL : fdopendir(own);
	if (dir == NULL) {
		drop_fd(&own);
		return cannot_read(w, f->p.path);
	}
	for (;;) {
		errno = 0;
		struct dirent *d = readdir(dir);
		if (d == NULL) {
			return errno == 0 ? 0 : cannot_read(w, f->p.path);
		}
		if (!streq(d->d_name, ".") && !streq(d->d_name, "..") &&
		    add_name(w, f, d->d_name) != 0) {
			return -1;
		}
	}
}

static int name_order(const void *a, const void *b) {
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void sort_unique(struct entries *list) {
	size_t kept = list->n == 0 ? 0 : 1;
	if (list->n > 1) {
		qsort(list->items, list->n, sizeof *list->items, name_order);
	}
	for (size_t i = 1; i < list->n; i++) {
		if (!streq(list->items[i].name, list->items[kept - 1].name)) {
			list->items[kept++] = list->items[i];
		}
	}
	list->n = kept;
}

static bool stat_entry(int dir, const char *name, struct stat *ret) {
	return dir >= 0 && fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/* An apply closes a directory after everything in it is applied (W4). */
static bool was_closed(const struct cow *c, const char *path) {
	auto_fd fd = errno == EACCES ? cow_open_beneath(c->lower, path, O_PATH) : -1;
	struct stat st;
	return fd >= 0 && c->ndone > 0 && fstat(fd, &st) == 0 && (st.st_mode & 0500) != 0500;
}

static int read_directory(struct walk *w, struct frame *f) {
	const struct walk_position *p = &f->p;
	struct entries *ret = &f->list;
	int flags = O_RDONLY | O_DIRECTORY;
	auto_fd upper = p->upper ? cow_open_upper(w->c, p->path, flags) : -1;
	/* The workspace may have no directory at this path; then no entry exists there. */
	auto_fd lower = w->c->lower < 0 ? -1
					: cow_open_beneath(w->c->lower, p->path,
							   p->all ? flags : O_PATH | O_DIRECTORY);
	if (p->all && lower < 0 && errno != ENOENT && errno != ENOTDIR && w->c->lower >= 0 &&
	    !was_closed(w->c, p->path)) {
		return cannot_read(w, p->path);
	}
	if (p->upper && upper < 0) {
		return cannot_read(w, p->path);
	}
	if (p->upper && read_names(w, upper, f) != 0) {
		return -1;
	}
	if (p->all && lower >= 0 && read_names(w, lower, f) != 0) {
		return -1;
	}
	sort_unique(ret);
	for (size_t i = 0; i < ret->n; i++) {
		struct entry *it = &ret->items[i];
		it->in_upper = stat_entry(upper, it->name, &it->upper);
		it->in_lower = stat_entry(lower, it->name, &it->lower);
	}
	return 0;
}

/* ---- comparing ---- */

static ssize_t read_full(int fd, char *out) {
	size_t len = 0;
	while (len < CHUNK) {
		ssize_t n = read(fd, out + len, CHUNK - len);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? -1 : (ssize_t)len;
		}
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static bool same_content(struct walk *w, const char *path, const struct entry *it) {
	if (it->upper.st_size != it->lower.st_size) {
		return false;
	}
	if (!cow_effort_take(&w->effort, (uint64_t)it->upper.st_size)) {
		return false; /* the budget is used up */
	}
	auto_fd upper = cow_open_upper(w->c, path, O_RDONLY | O_NONBLOCK);
	auto_fd lower = cow_open_beneath(w->c->lower, path, O_RDONLY | O_NONBLOCK);
	while (upper >= 0 && lower >= 0) {
		ssize_t n = read_full(upper, w->chunk[0]), m = read_full(lower, w->chunk[1]);
		if (n < 0 || n != m || memcmp(w->chunk[0], w->chunk[1], (size_t)n) != 0 ||
		    !cow_effort_take(&w->effort, 0)) {
			return false;
		}
		if (n == 0) {
			return true;
		}
	}
	return false; /* unreadable: assume a difference */
}

static bool same_link(const struct walk *w, const char *path) {
	char upper[PATH_MAX], lower[PATH_MAX];
	auto_fd a = cow_open_beneath(w->c->upper, path, O_PATH);
	auto_fd b = cow_open_beneath(w->c->lower, path, O_PATH);
	ssize_t n = a < 0 ? -1 : readlinkat(a, "", upper, sizeof upper);
	ssize_t m = b < 0 ? -1 : readlinkat(b, "", lower, sizeof lower);
	return n >= 0 && n == m && memcmp(upper, lower, (size_t)n) == 0;
}

static bool same_mode(const struct entry *it) {
	return ((it->upper.st_mode ^ it->lower.st_mode) & 0777) == 0;
}

/* ---- one entry ---- */

static bool is_noted(const struct cow *c, const char *path) {
	size_t low = 0, high = c->ndone;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = path_order(path, c->done[mid]);
		if (order == 0) {
			return true;
		}
		if (order < 0) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	return false;
}

/* Whether it was applied, or is in a directory that was applied whole. */
static bool is_done(const struct cow *c, const char *path) {
	char above[PATH_MAX];
	if (c->ndone == 0 || is_noted(c, path)) {
		return c->ndone > 0;
	}
	for (const char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
		size_t len = (size_t)(p - path) + 1;
		if (len >= sizeof above) {
			return false;
		}
		memcpy(above, path, len);
		above[len] = '\0';
		if (is_noted(c, above)) {
			return true;
		}
	}
	return false;
}

static int add_change(struct walk *w, enum cow_kind kind, const char *path,
		      const struct entry *it) {
	struct cow_changes *found = w->found;
	struct cow_change change = {.kind = kind, .path = path};
	if (is_done(w->c, path)) {
		return 0;
	}
	if (it->in_lower) {
		change.was = cow_fact_of(&it->lower);
	}
	if (it->in_upper && !cow_is_whiteout(&it->upper)) {
		change.is = cow_fact_of(&it->upper);
	}
	bool special = change.is.mode != 0 && !S_ISREG(change.is.mode) &&
		       !S_ISDIR(change.is.mode) && !S_ISLNK(change.is.mode);
	change.cannot = special ? "it is a socket, a FIFO or a device" : NULL;
	if (arena_grow(w->c->a, &found->items, found->n, &found->cap, sizeof *found->items) != 0) {
		return err_memory(w->e, COW_WHERE);
	}
	found->items[found->n++] = change;
	return 0;
}

/* Records the workspace's entry for a path that the upper tree has or deletes. */
static int record_base(struct walk *w, const char *path, const struct entry *it) {
	struct cow *c = w->c;
	if (c->settled) {
		return 0;
	}
	if (arena_grow(c->a, &c->base, c->nbase, &c->base_cap, sizeof *c->base) != 0) {
		return err_memory(w->e, COW_WHERE);
	}
	struct cow_base_row row = {.path = path};
	if (it->in_lower) {
		row.fact = cow_fact_of(&it->lower);
	}
	c->base[c->nbase++] = row;
	return 0;
}

/* Visits the entries of a directory next. */
static int descend(struct walk *w, struct walk_position p) {
	if (arena_grow(w->c->a, &w->frames, w->depth, &w->cap, sizeof *w->frames) != 0) {
		return err_memory(w->e, COW_WHERE);
	}
	struct frame *f = &w->frames[w->depth++];
	*f = (struct frame){.p = p};
	arena_init(&f->own);
	return read_directory(w, f);
}

static int visit_deleted(struct walk *w, const char *path, const struct entry *it) {
	if (!it->in_lower) {
		return 0;
	}
	if (add_change(w, COW_DELETED, path, it) != 0) {
		return -1;
	}
	struct walk_position below = {.path = path, .all = true};
	return S_ISDIR(it->lower.st_mode) ? descend(w, below) : 0;
}

/* Both sides are directories, or only the upper one exists. */
static int visit_dir(struct walk *w, const char *path, struct entry *it, bool all) {
	auto_fd fd = cow_open_upper(w->c, path, O_RDONLY | O_DIRECTORY);
	struct walk_position below = {.path = path, .upper = true};
	if (fd < 0) {
		return cannot_read(w, path);
	}
	it->upper.st_mode = cow_true_mode(fd, it->upper.st_mode);
	below.all = it->in_lower && (all || cow_is_opaque(fd));
	drop_fd(&fd);
	bool changed = !it->in_lower || !same_mode(it);
	if (changed && add_change(w, it->in_lower ? COW_MODE : COW_ADDED, path, it) != 0) {
		return -1;
	}
	return descend(w, below);
}

static int visit_type(struct walk *w, const char *path, struct entry *it) {
	struct walk_position gone = {.path = path, .all = true},
			     made = {.path = path, .upper = true};
	if (S_ISDIR(it->upper.st_mode)) {
		auto_fd fd = cow_open_upper(w->c, path, O_RDONLY | O_DIRECTORY);
		if (fd < 0) {
			return cannot_read(w, path);
		}
		it->upper.st_mode = cow_true_mode(fd, it->upper.st_mode);
	}
	if (add_change(w, COW_TYPE, path, it) != 0) {
		return -1;
	}
	if (S_ISDIR(it->lower.st_mode)) {
		return descend(w, gone);
	}
	return S_ISDIR(it->upper.st_mode) ? descend(w, made) : 0;
}

static int visit_both(struct walk *w, const char *path, const struct entry *it) {
	mode_t type = it->upper.st_mode & S_IFMT;
	if (type == S_IFLNK) {
		return same_link(w, path) ? 0 : add_change(w, COW_CHANGED, path, it);
	}
	if (type != S_IFREG) {
		return 0; /* a socket or FIFO replaced by another one */
	}
	if (!same_content(w, path, it)) {
		return add_change(w, COW_CHANGED, path, it);
	}
	return same_mode(it) ? 0 : add_change(w, COW_MODE, path, it);
}

static int visit(struct walk *w, const char *path, struct entry *it, bool all) {
	if (record_base(w, path, it) != 0) {
		return -1;
	}
	if (!it->in_upper || cow_is_whiteout(&it->upper)) {
		return visit_deleted(w, path, it);
	}
	bool same_type = it->in_lower && ((it->upper.st_mode ^ it->lower.st_mode) & S_IFMT) == 0;
	if (S_ISDIR(it->upper.st_mode) && (same_type || !it->in_lower)) {
		return visit_dir(w, path, it, all);
	}
	if (!it->in_lower) {
		return add_change(w, COW_ADDED, path, it);
	}
	return same_type ? visit_both(w, path, it) : visit_type(w, path, it);
}

/* A path that is too long for a system call: listed, and never applied. */
static int too_deep(struct walk *w, const char *path, const struct entry *it) {
	size_t n = w->found->n;
	if (add_change(w, COW_ADDED, path, it) != 0) {
		return -1;
	}
	if (w->found->n > n) {
		w->found->items[n].cannot = "its path is longer than PATH_MAX";
	}
	return 0;
}

static int visit_next(struct walk *w, struct frame *f) {
	/* arena_grow() moves the frames: copy before descending. */
	struct entry *it = &f->list.items[f->at++];
	const struct walk_position p = f->p;
	const char *path =
		arena_printf(w->c->a, "%s%s%s", p.path, *p.path == '\0' ? "" : "/", it->name);
	if (path == NULL) {
		return err_memory(w->e, COW_WHERE);
	}
	bool deep = strlen(path) > PATH_MAX - NAME_MAX - 2;
	return deep ? too_deep(w, path, it) : visit(w, path, it, p.all);
}

static int walk_all(struct walk *w) {
	int rc = descend(w, (struct walk_position){.path = "", .upper = true});
	while (rc == 0 && w->depth > 0) {
		struct frame *f = &w->frames[w->depth - 1];
		if (f->at < f->list.n) {
			rc = visit_next(w, f);
		} else {
			arena_done(&f->own);
			w->depth--;
		}
	}
	while (w->depth > 0) {
		arena_done(&w->frames[--w->depth].own);
	}
	return rc;
}

int cow_walk(struct cow *c, struct cow_changes *ret, struct err *e) {
	struct cow_changes found = {0};
	char *chunks = arena_alloc(c->a, 2 * CHUNK);
	struct walk w = {.c = c, .found = &found, .chunk = {chunks, chunks + CHUNK}, .e = e};

	if (chunks == NULL) {
		return err_memory(e, COW_WHERE);
	}
	cow_effort_begin(&w.effort, COMPARE_BYTES, COMPARE_MS);
	if (walk_all(&w) != 0) {
		return -1;
	}
	if (!c->settled && found.n > 0 && cow_write_base(c, e) != 0) {
		return -1;
	}
	cow_find_conflicts(c, &found);
	if (cow_pair_renames(c, &found, e) != 0) {
		return -1;
	}
	*ret = found;
	return 0;
}

bool cow_selects(const char *const *paths, size_t npaths, const struct cow_change *change) {
	for (size_t i = 0; i < npaths; i++) {
		if (*paths[i] == '\0' || path_within(change->path, paths[i]) ||
		    (change->from != NULL && path_within(change->from, paths[i]))) {
			return true;
		}
	}
	return npaths == 0;
}
