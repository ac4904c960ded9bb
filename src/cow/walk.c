/* What the upper tree says about the workspace, as a list of changes.
 *
 * A directory is read whole and closed before the next one is opened, by its path
 * from the root: nesting costs a small frame and no descriptor.
 *
 * Should:   look at what was changed and no further: a directory of the workspace is
 *           read only where all of it was deleted or replaced.
 * Must not: change a thing, but for the mode of a directory of the upper tree that
 *           its owner could not enter.
 * Fails:    with the path that cannot be read. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#define CHUNK ((size_t)64 * 1024)

static const char *const kind_names[COW_KINDS] = {
	[COW_ADDED] = "added", [COW_CHANGED] = "changed", [COW_MODE] = "mode",
	[COW_TYPE] = "type",   [COW_DELETED] = "deleted", [COW_RENAMED] = "renamed",
};

const char *cow_kind_name(enum cow_kind kind) {
	return kind_names[kind];
}

struct walk {
	struct cow *c;
	struct cow_changes *found;
	char *chunk[2];
	struct err *e;
};

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

/* A directory to look at. */
struct place {
	const char *path;
	bool upper; /* it is in the upper tree */
	bool all;   /* what the workspace has there is gone unless the upper tree has it */
};

static int walk_place(struct walk *w, struct place p);

/* ---- reading ---- */

static int cannot_read(const struct walk *w, const char *path) {
	return err_sys_at(w->e, COW_WHERE, "cannot read", *path == '\0' ? "the top" : path);
}

static int add_name(struct walk *w, struct entries *list, const char *name) {
	if (arena_grow(w->c->a, &list->items, list->n, &list->cap, sizeof *list->items) != 0) {
		return err_memory(w->e, COW_WHERE);
	}
	char *copy = arena_strdup(w->c->a, name);
	if (copy == NULL) {
		return err_memory(w->e, COW_WHERE);
	}
	list->items[list->n++] = (struct entry){.name = copy};
	return 0;
}

static int read_names(struct walk *w, int fd, struct entries *list, const char *path) {
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	auto_dir dir = own < 0 ? NULL : fdopendir(own);
	if (dir == NULL) {
		drop_fd(&own);
		return cannot_read(w, path);
	}
	for (;;) {
		errno = 0;
		struct dirent *d = readdir(dir);
		if (d == NULL) {
			return errno == 0 ? 0 : cannot_read(w, path);
		}
		if (!streq(d->d_name, ".") && !streq(d->d_name, "..") &&
		    add_name(w, list, d->d_name) != 0) {
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

static bool look(int dir, const char *name, struct stat *ret) {
	return dir >= 0 && fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_place(struct walk *w, const struct place *p, struct entries *ret) {
	int flags = O_RDONLY | O_DIRECTORY;
	auto_fd upper = p->upper ? cow_open_upper(w->c, p->path, flags) : -1;
	/* It need not be there, nor be a directory; then nothing in it is. */
	auto_fd lower = w->c->lower < 0 ? -1
					: cow_open_beneath(w->c->lower, p->path,
							   p->all ? flags : O_PATH | O_DIRECTORY);
	if (p->upper && (upper < 0 || read_names(w, upper, ret, p->path) != 0)) {
		return cannot_read(w, p->path);
	}
	if (p->all && lower < 0 && errno != ENOENT && errno != ENOTDIR && w->c->lower >= 0) {
		return cannot_read(w, p->path);
	}
	if (p->all && lower >= 0 && read_names(w, lower, ret, p->path) != 0) {
		return -1;
	}
	sort_unique(ret);
	for (size_t i = 0; i < ret->n; i++) {
		struct entry *it = &ret->items[i];
		it->in_upper = look(upper, it->name, &it->upper);
		it->in_lower = look(lower, it->name, &it->lower);
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
	auto_fd upper = cow_open_upper(w->c, path, O_RDONLY | O_NONBLOCK);
	auto_fd lower = cow_open_beneath(w->c->lower, path, O_RDONLY | O_NONBLOCK);
	while (upper >= 0 && lower >= 0) {
		ssize_t n = read_full(upper, w->chunk[0]), m = read_full(lower, w->chunk[1]);
		if (n < 0 || n != m || memcmp(w->chunk[0], w->chunk[1], (size_t)n) != 0) {
			return false;
		}
		if (n == 0) {
			return true;
		}
	}
	return false; /* what cannot be read is not known to be the same */
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

static bool is_done(const struct cow *c, const char *path) {
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
	change.cannot = special ? "it is a socket, a pipe or a device" : NULL;
	if (arena_grow(w->c->a, &found->items, found->n, &found->cap, sizeof *found->items) != 0) {
		return err_memory(w->e, COW_WHERE);
	}
	found->items[found->n++] = change;
	return 0;
}

/* Of a path that is in the upper tree, or deleted by it. */
static int keep_base(struct walk *w, const char *path, const struct entry *it) {
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

static int visit_deleted(struct walk *w, const char *path, const struct entry *it) {
	if (!it->in_lower) {
		return 0;
	}
	if (add_change(w, COW_DELETED, path, it) != 0) {
		return -1;
	}
	struct place below = {.path = path, .all = true};
	return S_ISDIR(it->lower.st_mode) ? walk_place(w, below) : 0;
}

/* Both are directories, or there is only the upper one. */
static int visit_dir(struct walk *w, const char *path, struct entry *it, bool all) {
	auto_fd fd = cow_open_upper(w->c, path, O_RDONLY | O_DIRECTORY);
	struct place below = {.path = path, .upper = true};
	if (fd < 0) {
		return cannot_read(w, path);
	}
	it->upper.st_mode = cow_true_mode(fd, it->upper.st_mode);
	below.all = it->in_lower && (all || cow_is_opaque(fd));
	drop_fd(&fd);
	bool told = !it->in_lower || !same_mode(it);
	if (told && add_change(w, it->in_lower ? COW_MODE : COW_ADDED, path, it) != 0) {
		return -1;
	}
	return walk_place(w, below);
}

static int visit_type(struct walk *w, const char *path, struct entry *it) {
	struct place gone = {.path = path, .all = true}, made = {.path = path, .upper = true};
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
		return walk_place(w, gone);
	}
	return S_ISDIR(it->upper.st_mode) ? walk_place(w, made) : 0;
}

static int visit_both(struct walk *w, const char *path, const struct entry *it) {
	mode_t type = it->upper.st_mode & S_IFMT;
	if (type == S_IFLNK) {
		return same_link(w, path) ? 0 : add_change(w, COW_CHANGED, path, it);
	}
	if (type != S_IFREG) {
		return 0; /* a socket or a pipe in the place of another */
	}
	if (!same_content(w, path, it)) {
		return add_change(w, COW_CHANGED, path, it);
	}
	return same_mode(it) ? 0 : add_change(w, COW_MODE, path, it);
}

static int visit(struct walk *w, const char *path, struct entry *it, bool all) {
	if (keep_base(w, path, it) != 0) {
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

/* A path that no system call takes any more: shown, and never applied. */
static int too_deep(struct walk *w, const char *path, const struct entry *it) {
	size_t n = w->found->n;
	if (add_change(w, COW_ADDED, path, it) != 0) {
		return -1;
	}
	if (w->found->n > n) {
		w->found->items[n].cannot = "its path is longer than the system takes";
	}
	return 0;
}

static int walk_place(struct walk *w, struct place p) {
	struct entries list = {0};
	if (read_place(w, &p, &list) != 0) {
		return -1;
	}
	for (size_t i = 0; i < list.n; i++) {
		struct entry *it = &list.items[i];
		const char *path = arena_printf(w->c->a, "%s%s%s", p.path,
						*p.path == '\0' ? "" : "/", it->name);
		if (path == NULL) {
			return err_memory(w->e, COW_WHERE);
		}
		bool deep = strlen(path) > PATH_MAX - NAME_MAX - 2;
		if ((deep ? too_deep(w, path, it) : visit(w, path, it, p.all)) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- what the host did meanwhile ---- */

static const struct cow_fact *base_of(const struct cow *c, const char *path) {
	size_t low = 0, high = c->nbase;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = path_order(path, c->base[mid].path);
		if (order == 0) {
			return &c->base[mid].fact;
		}
		if (order < 0) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	return NULL;
}

static const char *conflict_of(const struct cow *c, const struct cow_change *change) {
	static const struct cow_fact nothing;
	const struct cow_fact *was = base_of(c, change->path), *now = &change->was;
	const struct timespec *began = &c->started;

	if (was == NULL) {
		was = &nothing;
	}
	/* Of two directories there is one in the end, with all that was put into either. */
	if (S_ISDIR(now->mode) && (S_ISDIR(was->mode) || S_ISDIR(change->is.mode))) {
		return NULL;
	}
	if (was->mode == 0 && now->mode != 0) {
		return "the host has made it too";
	}
	if (was->mode != 0 && now->mode == 0) {
		return "the host has deleted it";
	}
	if (now->mode == 0) {
		return NULL;
	}
	if (was->ino != now->ino || was->sec != now->sec || was->nsec != now->nsec) {
		return "the host has changed it since the run";
	}
	bool during = was->sec > began->tv_sec ||
		      (was->sec == began->tv_sec && was->nsec > began->tv_nsec);
	return during ? "the host has changed it during the run" : NULL;
}

int cow_walk(struct cow *c, struct cow_changes *ret, struct err *e) {
	struct cow_changes found = {0};
	char *chunks = arena_alloc(c->a, 2 * CHUNK);
	struct walk w = {.c = c, .found = &found, .chunk = {chunks, chunks + CHUNK}, .e = e};
	struct place top = {.path = "", .upper = true};

	if (chunks == NULL) {
		return err_memory(e, COW_WHERE);
	}
	if (walk_place(&w, top) != 0) {
		return -1;
	}
	if (!c->settled && found.n > 0 && cow_write_base(c, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < found.n; i++) {
		found.items[i].conflict = conflict_of(c, &found.items[i]);
	}
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
