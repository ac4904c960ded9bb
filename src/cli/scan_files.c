/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of a tree and scans them with several threads.
 *
 * Should:   scan every regular file that git does not ignore, binary files too.
 * Must not: follow symbolic links, or block on a FIFO.
 * Fails:    with a note for each file that cannot be read. */
#include "cli/scan.h"

#include "base/auto.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE ((size_t)256 * 1024)
#define THREADS_MAX 16
#define DEPTH_MAX 256

void targets_done(struct targets *t) {
	for (size_t i = 0; i < t->n; i++) {
		free(t->items[i].path);
		free(t->items[i].blob);
		free(t->items[i].hits);
	}
	free(t->items);
}

int targets_add(struct targets *t, char *path, char *blob, struct corral_error *err) {
	if (path != NULL && t->n == t->cap) {
		size_t cap = t->cap == 0 ? 256 : t->cap * 2;
		struct target *more = realloc(t->items, cap * sizeof *more);
		if (more != NULL) {
			t->items = more;
			t->cap = cap;
		}
	}
	if (path == NULL || t->n == t->cap) {
		free(path);
		free(blob);
		return memory_error(err);
	}
	t->items[t->n++] = (struct target){.path = path, .blob = blob};
	return 0;
}

/* ---- trees ---- */

static char *join(const char *dir, const char *name) {
	char *path = NULL;
	bool slash = dir[0] != '\0' && dir[strlen(dir) - 1] == '/';

	return asprintf(&path, "%s%s%s", dir, slash ? "" : "/", name) < 0 ? NULL : path;
}

/* The nearest directory with a .git entry: the directory itself, or one above.  NULL: none. */
static char *work_tree(const char *dir) {
	auto_free char *top = realpath(dir, NULL);

	while (top != NULL) {
		auto_free char *git = join(top, ".git");
		if (git != NULL && access(git, F_OK) == 0) {
			return take_ptr(top);
		}
		char *slash = strrchr(top, '/');
		if (git == NULL || slash[1] == '\0') {
			return NULL;
		}
		slash[slash == top] = '\0';
	}
	return NULL;
}

/* A directory that is ignored itself was named on purpose. */
static bool is_ignored(const char *dir, const char *top) {
	struct buf out;
	struct git_call call = {
		.dir = dir, .top = top, .args = {"check-ignore", "."}, .quiet = true};
	struct corral_error ignored;

	buf_init(&out);
	bool found = git_output(&call, &out, &ignored) == 0;
	buf_done(&out);
	return found;
}

static int walk(struct targets *t, const char *dir, unsigned depth, struct corral_error *err);

/* An entry of git's list.  A directory is a repository of its own: a submodule, or one that is not
 * tracked. */
static int add_listed(struct targets *t, char *path, unsigned depth, struct corral_error *err) {
	struct stat st;

	/* Tracked and deleted, or a link: nothing to read. */
	if (path != NULL &&
	    (lstat(path, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))) {
		free(path);
		return 0;
	}
	if (path == NULL || S_ISREG(st.st_mode)) {
		return targets_add(t, path, NULL, err);
	}
	size_t len = strlen(path);
	path[len - (path[len - 1] == '/')] = '\0';
	int rc = walk(t, path, depth + 1, err);
	free(path);
	return rc;
}

/* The files that git tracks or would add; 1 when this is no work tree. */
static int walk_git(struct targets *t, const char *dir, unsigned depth, struct corral_error *err) {
	auto_free char *top = work_tree(dir);
	struct buf out;
	struct git_call call = {.dir = dir,
				.top = top,
				.args = {"ls-files", "-z", "--cached", "--others",
					 "--exclude-standard", "--deduplicate"},
				.quiet = true};
	struct corral_error ignored;

	buf_init(&out);
	int rc = top != NULL && git_output(&call, &out, &ignored) == 0 ? 0 : 1;
	if (rc == 0 && out.len == 0 && is_ignored(dir, top)) {
		rc = 1;
	}
	for (size_t at = 0; rc == 0 && at < out.len; at += strlen(out.data + at) + 1) {
		rc = add_listed(t, join(dir, out.data + at), depth, err);
	}
	buf_done(&out);
	return rc;
}

static int walk_entry(struct targets *t, const char *dir, const char *name, unsigned depth,
		      struct corral_error *err) {
	auto_free char *path = join(dir, name);
	struct stat st;

	if (path == NULL) {
		return memory_error(err);
	}
	if (lstat(path, &st) != 0) {
		return 0; /* gone meanwhile */
	}
	if (S_ISDIR(st.st_mode)) {
		return walk(t, path, depth + 1, err);
	}
	return S_ISREG(st.st_mode) ? targets_add(t, take_ptr(path), NULL, err) : 0;
}

static int unreadable(struct targets *t, const char *dir, int sys, struct corral_error *err) {
	if (targets_add(t, strdup(dir), NULL, err) != 0) {
		return -1;
	}
	t->items[t->n - 1].failed = sys;
	return 0;
}

/* All files of a directory that is no work tree; git lists a work tree beneath it. */
static int walk(struct targets *t, const char *dir, unsigned depth, struct corral_error *err) {
	auto_free char *git = join(dir, ".git");

	if (git == NULL) {
		return memory_error(err);
	}
	if (depth > DEPTH_MAX) {
		return unreadable(t, dir, ELOOP, err);
	}
	if (access(git, F_OK) == 0 || depth == 0) {
		int rc = walk_git(t, dir, depth, err);
		if (rc <= 0) {
			return rc;
		}
	}
	auto_dir d = opendir(dir);
	if (d == NULL) {
		return unreadable(t, dir, errno, err);
	}
	const struct dirent *entry;
	while ((entry = readdir(d)) != NULL) {
		if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
		    streq(entry->d_name, ".git")) {
			continue;
		}
		if (walk_entry(t, dir, entry->d_name, depth, err) != 0) {
			return -1;
		}
	}
	return 0;
}

int targets_walk(struct targets *t, const char *path, struct corral_error *err) {
	struct stat st;

	if (stat(path, &st) != 0) {
		int sys = errno;
		(void)usage_error(err, "", "cannot scan %s", path);
		err->sys_errno = sys;
		return -1;
	}
	return S_ISDIR(st.st_mode) ? walk(t, path, 0, err)
				   : targets_add(t, strdup(path), NULL, err);
}

/* ---- findings ---- */

void target_found(void *arg, const struct corral_finding *f) {
	struct target *t = arg;

	if (t->nhits == t->cap) {
		size_t cap = t->cap == 0 ? 4 : t->cap * 2;
		struct hit *more = realloc(t->hits, cap * sizeof *more);
		if (more == NULL) {
			t->failed = ENOMEM;
			return;
		}
		t->hits = more;
		t->cap = cap;
	}
	struct hit *h = &t->hits[t->nhits++];
	*h = (struct hit){.reason = f->reason, .offset = f->offset, .length = f->length};
	(void)snprintf(h->kind, sizeof h->kind, "%s", f->kind);
	(void)snprintf(h->view, sizeof h->view, "%s", f->view);
	(void)snprintf(h->fingerprint, sizeof h->fingerprint, "%s", f->fingerprint);
}

static int by_offset(const void *a, const void *b) {
	const struct hit *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static uint64_t newlines(const char *piece, size_t len) {
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++) {
		n += piece[i] == '\n';
	}
	return n;
}

/* Counts lines up to the findings, each byte once. */
struct line_count {
	uint64_t offset, line; /* the line at this offset */
	size_t hit;            /* the next one that has no line yet */
};

/* The findings come in the order of their offsets, but for private keys. */
static struct line_count line_count(struct target *t) {
	if (t->nhits > 1) {
		qsort(t->hits, t->nhits, sizeof t->hits[0], by_offset);
	}
	return (struct line_count){.line = 1};
}

static void count_lines(struct line_count *c, struct target *t, const char *piece, size_t len) {
	size_t at = 0;

	for (; c->hit < t->nhits && t->hits[c->hit].offset < c->offset + len; c->hit++) {
		size_t to = (size_t)(t->hits[c->hit].offset - c->offset);
		c->line += newlines(piece + at, to - at);
		t->hits[c->hit].line = c->line;
		at = to;
	}
	c->line += newlines(piece + at, len - at);
	c->offset += len;
}

static void find_lines(struct target *t, int fd, char *piece) {
	struct line_count c = line_count(t);
	ssize_t n;

	while (c.hit < t->nhits && (n = pread(fd, piece, PIECE, (off_t)c.offset)) > 0) {
		count_lines(&c, t, piece, (size_t)n);
	}
}

/* ---- threads ---- */

struct work {
	struct targets *targets;
	const struct corral_scanner *scanner;
	atomic_size_t next;
};

struct worker {
	struct target *target; /* of the stream's findings */
};

static void worker_found(void *arg, const struct corral_finding *f) {
	target_found(((struct worker *)arg)->target, f);
}

static int scan_fd(struct target *t, struct corral_scan_stream *s, char *piece) {
	struct stat st;
	auto_fd fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) != 0) {
		return errno;
	}
	if (!S_ISREG(st.st_mode)) {
		return S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	}
	for (;;) {
		ssize_t n = read(fd, piece, PIECE);
		if (n < 0 && errno != EINTR) {
			return errno;
		}
		if (n == 0) {
			break;
		}
		if (n > 0 && corral_scan_feed(s, piece, (size_t)n, NULL) != 0) {
			return ENOMEM;
		}
	}
	if (corral_scan_end(s, NULL) != 0) {
		return ENOMEM;
	}
	find_lines(t, fd, piece);
	return 0;
}

static int scan_blob(struct target *t, struct corral_scan_stream *s) {
	struct buf content;
	struct corral_error err;
	struct git_call call = {.args = {"cat-file", "blob", t->blob}};
	int sys = 0;

	buf_init(&content);
	if (git_output(&call, &content, &err) != 0) {
		sys = EIO;
	} else if ((content.len > 0 && corral_scan_feed(s, content.data, content.len, NULL) != 0) ||
		   corral_scan_end(s, NULL) != 0) {
		sys = ENOMEM;
	} else {
		struct line_count c = line_count(t);
		count_lines(&c, t, content.data, content.len);
	}
	buf_done(&content);
	return sys;
}

static void *work_on(void *arg) {
	struct work *w = arg;
	struct worker me = {0};
	struct corral_scan_calls calls = {.size = sizeof calls, .found = worker_found, .arg = &me};
	struct corral_scan_stream *s = NULL;
	auto_free char *piece = malloc(PIECE);
	bool ready = piece != NULL && corral_scan_open(w->scanner, &calls, &s, NULL) == 0;

	for (;;) {
		size_t i = atomic_fetch_add(&w->next, 1);
		if (i >= w->targets->n) {
			break;
		}
		struct target *t = me.target = &w->targets->items[i];
		if (t->failed == 0) {
			int sys = !ready            ? ENOMEM
				  : t->blob != NULL ? scan_blob(t, s)
						    : scan_fd(t, s, piece);
			t->failed = t->failed != 0 ? t->failed : sys;
			(void)corral_scan_again(s, NULL); /* s is NULL only if nothing is ready */
		}
	}
	corral_scan_close(s);
	return NULL;
}

static int by_path(const void *a, const void *b) {
	return strcmp(((const struct target *)a)->path, ((const struct target *)b)->path);
}

int targets_scan(struct targets *t, const struct corral_scanner *scanner,
		 struct corral_error *err) {
	struct work w = {.targets = t, .scanner = scanner};
	pthread_t threads[THREADS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = processors < 1 ? 1 : (size_t)processors, started = 0;

	(void)err;
	n = n > THREADS_MAX ? THREADS_MAX : n;
	n = n > t->n ? t->n : n;
	if (t->n > 0) {
		qsort(t->items, t->n, sizeof t->items[0], by_path);
	}
	/* This thread works too; a thread that cannot be created is not needed. */
	while (started + 1 < n && pthread_create(&threads[started], NULL, work_on, &w) == 0) {
		started++;
	}
	(void)work_on(&w);
	for (size_t i = 0; i < started; i++) {
		(void)pthread_join(threads[i], NULL); /* cannot fail: each is joined once */
	}
	return 0;
}
