/* SPDX-License-Identifier: Apache-2.0 */
/* corral_home_list() and corral_home_clean(): lists and removes private homes.
 *
 * Should:   list workspace, size and last use of each home.
 * Must not: follow a link or recurse without a bound: commands filled these trees; remove a
 *           home that a run uses (backend/home.h has the lock).
 * Fails:    closed: a home that cannot be locked is kept. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/remove_tree.h"
#include "base/str.h"
#include "lib/sized.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#define WHERE "home"

/* Removal begins with a rename, so that a home is complete or absent. */
#define GONE ".gone-"

/* One open directory a level.  Deeper levels, or more entries, are not measured. */
#define DEPTH_MAX 100
#define ENTRIES_MAX 20000000

/* The shortest accepted prefix of an id. */
#define PREFIX_MIN 6

struct home_line {
	const char *id, *workspace; /* NULL: no record */
	struct timespec used_at;
	uint64_t bytes;
	bool partial; /* not all of it was measured */
	bool gone;    /* the workspace does not exist */
	bool in_use;
	bool removed;
};

struct homes {
	struct arena arena;
	struct host host;
	int dir; /* the directory of all homes; -1: none */
	struct home_line *lines;
	size_t n, cap;
};

/* ---- find and measure ---- */

struct tally {
	uint64_t bytes, entries;
	bool partial;
};

/* Opens a subdirectory, or sets partial when it cannot. */
static DIR *descend(int dir, const char *name, struct tally *t) {
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	if (list == NULL) {
		drop_fd(&fd);
		t->partial = true;
	}
	return list;
}

/* Sums the disk usage beneath a directory. */
static void measure(int dir, const char *name, struct tally *t) {
	DIR *way[DEPTH_MAX];
	size_t depth = 0;
	struct stat st;

	if ((way[0] = descend(dir, name, t)) != NULL) {
		depth = 1;
	}
	while (depth > 0) {
		struct dirent *d = readdir(way[depth - 1]);
		if (d == NULL || ++t->entries > ENTRIES_MAX) {
			t->partial = t->partial || d != NULL;
			(void)closedir(way[--depth]); /* opened for reading: no data is lost */
			continue;
		}
		if (streq(d->d_name, ".") || streq(d->d_name, "..") ||
		    fstatat(dirfd(way[depth - 1]), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
			continue;
		}
		t->bytes += (uint64_t)st.st_blocks * 512;
		if (!S_ISDIR(st.st_mode)) {
			continue;
		}
		if (depth == DEPTH_MAX) {
			t->partial = true;
		} else if ((way[depth] = descend(dirfd(way[depth - 1]), d->d_name, t)) != NULL) {
			depth++;
		}
	}
}

static const char *read_record(struct homes *h, int dir) {
	struct buf text;
	auto_fd fd = openat(dir, HOME_RECORD, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const char *workspace = NULL;
	buf_init(&text);
	if (fd >= 0 && fd_read_all(fd, PATH_MAX, &text) == 0 && text.data != NULL &&
	    text.data[0] == '/') {
		workspace = arena_strdup(&h->arena, text.data);
	}
	buf_done(&text);
	return workspace;
}

static bool is_gone(const char *path) {
	struct stat st;
	return path != NULL && lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Opens a home that the caller owns; -1 when it is none. */
static int open_home(const struct homes *h, const char *id) {
	struct stat st;
	auto_fd dir = openat(h->dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid() ? take_fd(&dir) : -1;
}

static int add_home(struct homes *h, const char *id, struct err *e) {
	auto_fd dir = open_home(h, id);
	struct stat st;
	if (dir < 0 || fstat(dir, &st) != 0) {
		return 0;
	}
	struct home_line line = {.id = arena_strdup(&h->arena, id),
				 .workspace = read_record(h, dir),
				 .used_at = st.st_mtim,
				 .in_use = flock(dir, LOCK_EX | LOCK_NB) != 0};
	line.gone = is_gone(line.workspace);
	if (line.id == NULL ||
	    arena_grow(&h->arena, &h->lines, h->n, &h->cap, sizeof *h->lines) != 0) {
		return err_memory(e, "library");
	}
	h->lines[h->n++] = line;
	return 0;
}

static int latest_first(const void *left, const void *right) {
	const struct home_line *a = left, *b = right;
	if (a->used_at.tv_sec != b->used_at.tv_sec) {
		return a->used_at.tv_sec > b->used_at.tv_sec ? -1 : 1;
	}
	return strcmp(a->id, b->id);
}

static int find_homes(struct homes *h, struct err *e) {
	const char *path = path_join(&h->arena, h->host.state_dir, "homes");
	if (path == NULL) {
		return err_memory(e, "library");
	}
	h->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int own = h->dir < 0 ? -1 : fcntl(h->dir, F_DUPFD_CLOEXEC, 3);
	auto_dir list = own < 0 ? NULL : fdopendir(own);
	for (struct dirent *d; list != NULL && (d = readdir(list)) != NULL;) {
		if (str_starts(d->d_name, GONE)) {
			(void)remove_tree(h->dir, d->d_name); /* left by a killed `home clean` */
		} else if (d->d_name[0] != '.' && add_home(h, d->d_name, e) != 0) {
			return -1;
		}
	}
	if (h->n > 1) {
		qsort(h->lines, h->n, sizeof *h->lines, latest_first);
	}
	return 0;
}

static int homes_init(struct homes *h, struct err *e) {
	*h = (struct homes){.dir = -1};
	arena_init(&h->arena);
	if (probe_host(&h->arena, &h->host, e) != 0) {
		return -1;
	}
	if (h->host.state_dir == NULL) {
		return 0;
	}
	return owner_check(h->host.state_dir, e) != 0 ? -1 : find_homes(h, e);
}

static void homes_done(struct homes *h) {
	drop_fd(&h->dir);
	arena_done(&h->arena);
}

/* ---- print ---- */

static void measure_line(const struct homes *h, struct home_line *line) {
	struct tally t = {0};
	auto_fd dir = open_home(h, line->id);
	if (dir >= 0) {
		measure(dir, HOME_NAME, &t);
	}
	line->bytes = t.bytes;
	line->partial = t.partial;
}

/* "12 KiB", "3.4 MiB"; with ">" before it if not all of it was measured. */
static const char *size_text(const struct home_line *line, char out[32]) {
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double n = (double)line->bytes / 1024.0;
	size_t unit = 0;
	for (; n >= 1024.0 && unit + 1 < ARRAY_LEN(units); unit++) {
		n /= 1024.0;
	}
	(void)snprintf(out, 32, "%s%.*f %s", line->partial ? ">" : "", unit == 0 ? 0 : 1, n,
		       units[unit]);
	return out;
}

static void print_home_json(struct emit *j, const struct home_line *line, bool cleaning) {
	char when[24];
	cow_time_text(line->used_at, when);
	emit_object(j, NULL);
	emit_string(j, "id", line->id);
	emit_string(j, "workspace", line->workspace);
	emit_bool(j, "workspace_exists", line->workspace != NULL && !line->gone);
	emit_bool(j, "in_use", line->in_use);
	emit_int(j, "bytes", (int64_t)line->bytes);
	emit_bool(j, "bytes_complete", !line->partial);
	emit_string(j, "last_used", when);
	if (cleaning) {
		emit_bool(j, "removed", line->removed);
	}
	emit_end_object(j);
}

static void print_home_text(struct buf *out, const struct home_line *line, const char *mark) {
	char when[24], size[32];
	cow_time_text(line->used_at, when);
	buf_printf(out, "%-*s  %10s  %s  ", 40, line->id, size_text(line, size), when);
	if (line->workspace == NULL) {
		buf_puts(out, "(no record of its workspace)");
	} else {
		cow_quote(out, "", line->workspace);
	}
	buf_printf(out, "%s%s%s\n", line->gone ? "  gone" : "", line->in_use ? "  in use" : "",
		   mark);
}

static void print_homes(struct homes *h, enum corral_format format, struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	if (format == CORRAL_JSON) {
		emit_object(&j, NULL);
		emit_int(&j, "version", 1);
		emit_array(&j, "homes");
	}
	for (size_t i = 0; i < h->n; i++) {
		measure_line(h, &h->lines[i]);
		if (format == CORRAL_JSON) {
			print_home_json(&j, &h->lines[i], false);
		} else {
			print_home_text(out, &h->lines[i], "");
		}
	}
	if (format == CORRAL_JSON) {
		emit_end_array(&j);
		emit_end_object(&j);
	} else if (h->n == 0) {
		buf_puts(out, "there are no private homes\n");
	}
}

int corral_home_list(enum corral_format format, char **text, struct corral_error *err) {
	struct homes h;
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = homes_init(&h, &e);
	if (rc == 0) {
		print_homes(&h, format, &out);
		rc = lib_give(&out, text, &e);
	}
	buf_done(&out);
	homes_done(&h);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

/* ---- remove ---- */

static bool is_path(const char *name) {
	return strchr(name, '/') != NULL || streq(name, ".") || streq(name, "..");
}

static bool is_named(const struct home_line *line, const char *name, const char *path) {
	if (path != NULL) {
		return line->workspace != NULL && streq(line->workspace, path);
	}
	return streq(line->id, name) || (strlen(name) >= PREFIX_MIN && str_starts(line->id, name));
}

/* The home with that id, or of that workspace, which need not exist. */
static struct home_line *find_named(struct homes *h, const char *name, struct err *e) {
	char real[PATH_MAX];
	struct home_line *found = NULL;
	const char *path = is_path(name) ? path_join(&h->arena, h->host.cwd, name) : NULL;

	if (path != NULL && realpath(path, real) != NULL) {
		path = real;
	}
	for (size_t i = 0; i < h->n; i++) {
		if (!is_named(&h->lines[i], name, path)) {
			continue;
		}
		if (found != NULL) {
			(void)err_set(e, ERR_USAGE, WHERE, "%s matches more than one private home",
				      name);
			(void)err_fix(e, "write more of the id; to list them: corral home list");
			return NULL;
		}
		found = &h->lines[i];
	}
	if (found == NULL) {
		(void)err_set(e, ERR_USAGE, WHERE, "no private home has the id or workspace %s",
			      name);
		(void)err_fix(e, "list them: corral home list");
	}
	return found;
}

/* 1: removed; 0: a run uses it; -1: it could not be removed. */
static int remove_home(const struct homes *h, const char *id, struct err *e) {
	char gone[NAME_MAX + 1];
	struct stat held, named;
	auto_fd dir = open_home(h, id);
	if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) != 0) {
		bool lost = dir < 0 && errno == ENOENT;
		return lost || (dir >= 0 && errno == EWOULDBLOCK)
			       ? lost
			       : err_sys_at(e, WHERE, "cannot lock the private home", id);
	}
	/* A rename needs the lock, which is held here: the name cannot change any more. */
	if (fstat(dir, &held) != 0 || fstatat(h->dir, id, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
	    held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
		return 1; /* another call was faster */
	}
	int n = snprintf(gone, sizeof gone, GONE "%d-%s", (int)getpid(), id);
	if (n < 0 || (size_t)n >= sizeof gone || renameat(h->dir, id, h->dir, gone) != 0) {
		return err_sys_at(e, WHERE, "cannot remove the private home", id);
	}
	drop_fd(&dir); /* a run that waits for the lock creates a new home */
	return remove_tree(h->dir, gone) == 0
		       ? 1
		       : err_sys_at(e, WHERE, "cannot remove all of the private home", id);
}

struct cleaning {
	const struct corral_home_options *how;
	enum corral_format format;
	struct home_line **chosen;
	size_t n, left;
};

static int choose(struct homes *h, struct cleaning *c, struct err *e) {
	const char *const *names = c->how->names;
	size_t max = h->n;
	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		max = i + 1;
	}
	c->chosen = arena_array(&h->arena, max + 1, sizeof(struct home_line *));
	if (c->chosen == NULL) {
		return err_memory(e, "library");
	}
	for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
		c->chosen[c->n] = find_named(h, names[i], e);
		if (c->chosen[c->n++] == NULL) {
			return -1; /* before anything is removed */
		}
	}
	for (size_t i = 0; names == NULL && i < h->n; i++) {
		if (c->how->all || h->lines[i].gone) {
			c->chosen[c->n++] = &h->lines[i];
		}
	}
	return 0;
}

static int clean_each(const struct homes *h, struct cleaning *c, struct err *e) {
	for (size_t i = 0; i < c->n; i++) {
		struct home_line *line = c->chosen[i];
		if (line->removed) {
			continue; /* named twice */
		}
		measure_line(h, line);
		int done = c->how->dry_run ? 0 : remove_home(h, line->id, e);
		if (done < 0) {
			return -1;
		}
		line->removed = done > 0;
		line->in_use = line->in_use || (!c->how->dry_run && done == 0);
		c->left += line->in_use && !line->removed;
	}
	return 0;
}

static void print_cleaned(const struct cleaning *c, struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	if (c->format == CORRAL_JSON) {
		emit_object(&j, NULL);
		emit_int(&j, "version", 1);
		emit_bool(&j, "dry_run", c->how->dry_run != 0);
		emit_array(&j, "homes");
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct home_line *line = c->chosen[i];
		if (c->format == CORRAL_JSON) {
			print_home_json(&j, line, true);
		} else {
			print_home_text(out, line,
					line->removed     ? "  removed"
					: c->how->dry_run ? ""
							  : "  kept");
		}
	}
	if (c->format == CORRAL_JSON) {
		emit_end_array(&j);
		emit_end_object(&j);
	}
	buf_puts(out, ""); /* allocates the empty text when no home was chosen */
}

int corral_home_clean(const struct corral_home_options *options, enum corral_format format,
		      char **text, size_t *left, struct corral_error *err) {
	struct corral_home_options how = {.size = sizeof how}; /* those whose workspace is gone */
	struct cleaning c = {.how = &how, .format = format};
	struct homes h;
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	if (sized_in(&sized_home_options, options, &how, &e) != 0) {
		return lib_fail(&e, err);
	}
	buf_init(&out);
	int rc = homes_init(&h, &e);
	if (rc == 0 && choose(&h, &c, &e) == 0 && clean_each(&h, &c, &e) == 0) {
		print_cleaned(&c, &out);
		rc = lib_give(&out, text, &e);
	} else {
		rc = -1;
	}
	if (rc == 0 && left != NULL) {
		*left = c.left;
	}
	buf_done(&out);
	homes_done(&h);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
