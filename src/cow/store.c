/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, reads and removes the directories of pending changes ($state/cow/ID) and their records.
 *
 * Should:   let one process at a time work on a directory (W2).
 * Must not: use an id as a path unchecked, or expect a complete file: a run may have been
 *           killed during the write.
 * Fails:    closed: the error names the record that cannot be read, which stays unchanged. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/remove_tree.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

/* Removal renames the directory first, so that a partly removed one is not listed. */
#define GONE ".gone-"

/* The largest record: one line a changed path. */
#define FILE_MAX ((size_t)1024 * 1024 * 1024)

struct cow_fact cow_fact_of(const struct stat *st) {
	return (struct cow_fact){
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.sec = st->st_ctim.tv_sec,
		.nsec = st->st_ctim.tv_nsec,
		.mode = st->st_mode,
	};
}

/* ---- small files ---- */

static int read_here(const struct cow *c, const char *name, struct buf *out) {
	auto_fd fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : fd_read_all(fd, FILE_MAX, out);
}

/* Reads n numbers, separated by one blank; NULL for anything else. */
static const char *read_numbers(const char *text, int64_t *out, size_t n) {
	for (size_t i = 0; i < n; i++) {
		char *end = NULL;
		errno = 0;
		out[i] = (int64_t)strtoll(text, &end, 10);
		if (end == text || errno != 0 || (i + 1 < n && *end != ' ')) {
			return NULL;
		}
		text = end + (i + 1 < n);
	}
	return text;
}

/* "1 INODE SECONDS NANOSECONDS\n" and the workspace, to the end of the file. */
static int load_meta(struct cow *c, struct err *e) {
	struct buf text;
	int64_t n[4] = {0};
	const char *rest = NULL;

	buf_init(&text);
	if (read_here(c, "meta", &text) == 0 && text.data != NULL) {
		rest = read_numbers(text.data, n, ARRAY_LEN(n));
	}
	bool fine = rest != NULL && n[0] == 1 && rest[0] == '\n' && rest[1] == '/';
	c->workspace = fine ? arena_strdup(c->a, rest + 1) : NULL;
	c->started = (struct timespec){.tv_sec = (time_t)n[2], .tv_nsec = (long)n[3]};
	buf_done(&text);
	if (!fine) {
		(void)err_set(e, ERR_SETUP, COW_WHERE,
			      "the pending changes %s have no valid record of their run", c->id);
		return err_fix(e, "to remove them: corral discard %s", c->id);
	}
	if (c->workspace == NULL) {
		return err_memory(e, COW_WHERE);
	}
	c->lower = open(c->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	c->replaced = c->lower >= 0 && (fstat(c->lower, &st) != 0 || st.st_ino != (uint64_t)n[1]);
	return 0;
}

static int base_row(struct cow *c, const char *line) {
	int64_t n[5];
	const char *rest = read_numbers(line, n, ARRAY_LEN(n));
	if (rest == NULL || *rest != ' ') {
		return 0; /* invalid: the path then counts as one that did not exist */
	}
	struct cow_base_row row = {
		.path = arena_strdup(c->a, rest + 1),
		.fact = {.ino = (uint64_t)n[0],
			 .size = (uint64_t)n[1],
			 .sec = n[2],
			 .nsec = n[3],
			 .mode = (uint32_t)n[4]},
	};
	if (row.path == NULL ||
	    arena_grow(c->a, &c->base, c->nbase, &c->base_cap, sizeof *c->base) != 0) {
		return -1;
	}
	c->base[c->nbase++] = row;
	return 0;
}

static int journal_row(struct cow *c, const char *line) {
	bool beneath = line[0] == COW_DONE_BENEATH, done = line[0] == COW_DONE || beneath;
	c->begun = true;
	if (line[0] == COW_BEGUN) {
		return 0;
	}
	const char ***list = done ? &c->done : &c->drafts;
	size_t *n = done ? &c->ndone : &c->ndrafts, *cap = done ? &c->done_cap : &c->drafts_cap;
	/* A trailing slash means everything in the directory. */
	char *path = arena_printf(c->a, "%s%s", line + (line[0] != '\0'), beneath ? "/" : "");
	if (path == NULL || arena_grow(c->a, list, *n, cap, sizeof **list) != 0) {
		return -1;
	}
	(*list)[(*n)++] = path;
	return 0;
}

/* Records end with a NUL byte; a write was interrupted in one without it. */
static int each_record(struct cow *c, const char *name, int (*row)(struct cow *, const char *),
		       struct err *e) {
	struct buf text;
	int rc = 0;

	buf_init(&text);
	if (read_here(c, name, &text) != 0 && errno != ENOENT) {
		rc = err_sys_at(e, COW_WHERE, "cannot read the record", name);
	}
	for (size_t at = 0; rc == 0 && at < text.len;) {
		const char *end = memchr(text.data + at, '\0', text.len - at);
		if (end == NULL) {
			break;
		}
		rc = row(c, text.data + at) == 0 ? 0 : err_memory(e, COW_WHERE);
		at = (size_t)(end - text.data) + 1;
	}
	buf_done(&text);
	return rc;
}

static int done_order(const void *a, const void *b) {
	return path_order(*(const char *const *)a, *(const char *const *)b);
}

int cow_load_journal(struct cow *c, struct err *e) {
	if (each_record(c, "journal", journal_row, e) != 0) {
		return -1;
	}
	if (c->ndone > 1) {
		qsort(c->done, c->ndone, sizeof *c->done, done_order);
	}
	return 0;
}

int cow_load(struct arena *a, int dir, const char *id, struct cow *ret, struct err *e) {
	*ret = (struct cow){.a = a, .parent = -1, .dir = dir, .upper = -1, .lower = -1};
	(void)snprintf(ret->id, sizeof ret->id, "%s", id);
	if (load_meta(ret, e) != 0) {
		return -1;
	}
	ret->upper = openat(dir, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->upper < 0) {
		return err_sys_at(e, COW_WHERE, "cannot open the pending changes", id);
	}
	ret->settled = faccessat(dir, "base", F_OK, 0) == 0;
	return each_record(ret, "base", base_row, e) == 0 ? cow_load_journal(ret, e) : -1;
}

/* Written whole, by rename(2): half of the base would make false conflicts. */
int cow_write_base(struct cow *c, struct err *e) {
	struct buf out;
	buf_init(&out);
	for (size_t i = 0; i < c->nbase; i++) {
		const struct cow_fact *f = &c->base[i].fact;
		buf_printf(&out, "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu32 " %s",
			   f->ino, f->size, f->sec, f->nsec, f->mode, c->base[i].path);
		buf_add(&out, "", 1);
	}
	auto_fd fd = openat(c->dir, "base.new",
			    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = buf_failed(&out) ? err_memory(e, COW_WHERE) : 0;
	if (rc == 0 && (fd < 0 || fd_write_all(fd, out.data, out.len) != 0 ||
			renameat(c->dir, "base.new", c->dir, "base") != 0)) {
		rc = err_sys(e, COW_WHERE, "cannot write the record of the workspace's state");
	}
	buf_done(&out);
	c->settled = rc == 0;
	return rc;
}

int cow_note(const struct cow *c, char kind, const char *path, struct err *e) {
	struct buf out;
	buf_init(&out);
	buf_add(&out, &kind, 1);
	buf_add(&out, path, strlen(path) + 1);
	auto_fd fd = openat(c->dir, "journal",
			    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = buf_failed(&out) ? err_memory(e, COW_WHERE) : 0;
	if (rc == 0 && (fd < 0 || fd_write_all(fd, out.data, out.len) != 0)) {
		rc = err_sys(e, COW_WHERE, "cannot write the journal");
	}
	buf_done(&out);
	return rc;
}

/* ---- all directories ---- */

static int open_all(struct arena *a, const char *state_dir) {
	const char *path = state_dir == NULL ? NULL : path_join(a, state_dir, "cow");
	if (path == NULL) {
		errno = ENOENT;
		return -1;
	}
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int unknown(const char *id, struct err *e) {
	(void)err_set(e, ERR_USAGE, COW_WHERE, "there are no pending changes called %s", id);
	return err_fix(e, "to list pending changes: corral diff");
}

static bool is_id(const char *text) {
	size_t n = 0;
	while (isalnum((unsigned char)text[n])) {
		n++;
	}
	return n > 0 && n < sizeof((struct cow *)NULL)->id && text[n] == '\0';
}

int cow_open(struct arena *a, const char *state_dir, const char *id, struct cow *ret,
	     struct err *e) {
	*ret = (struct cow){.parent = -1, .dir = -1, .upper = -1, .lower = -1};
	auto_fd all = open_all(a, state_dir);
	auto_fd dir = all >= 0 && is_id(id)
			      ? openat(all, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			      : -1;
	if (dir < 0) {
		return unknown(id, e);
	}
	if (flock(dir, LOCK_EX | LOCK_NB) != 0) {
		(void)err_set(e, ERR_REFUSED, COW_WHERE,
			      "the pending changes %s are in use by their run or another command",
			      id);
		return err_fix(e, "wait until it has ended; `corral ps` lists the runs");
	}
	/* Another process may have removed it between open and flock. */
	struct stat st;
	if (fstat(dir, &st) != 0 || st.st_nlink == 0) {
		return unknown(id, e);
	}
	/* On failure cow_remove() still works. */
	int rc = cow_load(a, take_fd(&dir), id, ret, e);
	ret->parent = take_fd(&all);
	return rc;
}

bool cow_is_abandoned(const struct cow *c) {
	struct stat st;
	/* A young directory may just be in creation. */
	return c->dir >= 0 && fstat(c->dir, &st) == 0 && time(NULL) - st.st_ctime > 10 &&
	       faccessat(c->dir, "meta", F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

void cow_close(struct cow *c) {
	drop_fd(&c->upper);
	drop_fd(&c->lower);
	if (c->dir >= 0) {
		/* Explicitly: pid 1 of an ended run may still have a copy of the descriptor
		 * while it exits. */
		(void)flock(c->dir, LOCK_UN);
	}
	drop_fd(&c->dir);
	drop_fd(&c->parent);
}

int cow_remove(struct cow *c, struct err *e) {
	char gone[32];
	cow_remove_drafts(c); /* their names are in the journal, which is removed next */
	(void)snprintf(gone, sizeof gone, GONE "%s", c->id);
	if ((renameat(c->parent, c->id, c->parent, gone) != 0 && errno != ENOENT) ||
	    remove_tree(c->parent, gone) != 0) {
		return err_sys_at(e, COW_WHERE, "cannot remove the changes", c->id);
	}
	return 0;
}

static int id_order(const void *a, const void *b) {
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int cow_ids(struct arena *a, const char *state_dir, const char ***ret, size_t *ret_n,
	    struct err *e) {
	const char **ids = NULL;
	size_t n = 0, cap = 0;
	auto_fd all = open_all(a, state_dir);
	int own = all < 0 ? -1 : fcntl(all, F_DUPFD_CLOEXEC, 3);
	auto_dir list = own < 0 ? NULL : fdopendir(own);
	for (struct dirent *d; list != NULL && (d = readdir(list)) != NULL;) {
		if (str_starts(d->d_name, GONE)) {
			(void)remove_tree(all, d->d_name); /* an interrupted removal */
		}
		if (!is_id(d->d_name)) {
			continue;
		}
		if (arena_grow(a, &ids, n, &cap, sizeof *ids) != 0 ||
		    (ids[n] = arena_strdup(a, d->d_name)) == NULL) {
			return err_memory(e, COW_WHERE);
		}
		n++;
	}
	if (n > 1) {
		qsort(ids, n, sizeof *ids, id_order);
	}
	*ret = ids;
	*ret_n = n;
	return 0;
}
