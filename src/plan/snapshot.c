/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of recorded files, and the call-backs of struct host that answer from it.
 *
 * Should:   resolve paths as the kernel does: symlinks, "." and ".." of canonical directories.
 * Must not: make a system call; only the recorded host's call-backs do.
 * Fails:    closed: see snapshot.h. */
#include "plan/snapshot.h"

#include "base/hash.h"
#include "base/path.h"
#include "base/path_cursor.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define SLOTS_FIRST 1024

static void unknown(struct snapshot *s, const char *path) {
	if (s->unknown[0] == '\0') {
		(void)snprintf(s->unknown, sizeof s->unknown, "%s", path); /* may be cut */
	}
}

/* ---- the table ---- */

static size_t slot_of(const struct snapshot *s, const char *path) {
	size_t at = hash_fnv64(HASH_FNV64, path, strlen(path)) & (s->nslots - 1);
	while (s->slots[at] != 0 && !streq(s->entries[s->slots[at] - 1].path, path)) {
		at = (at + 1) & (s->nslots - 1);
	}
	return at;
}

static int widen(struct snapshot *s) {
	size_t n = s->nslots == 0 ? SLOTS_FIRST : 2 * s->nslots;
	uint32_t *slots = arena_array(s->a, n, sizeof *slots);
	if (slots == NULL) {
		return -1;
	}
	s->slots = slots;
	s->nslots = n;
	for (size_t i = 0; i < s->nentries; i++) {
		s->slots[slot_of(s, s->entries[i].path)] = (uint32_t)i + 1;
	}
	return 0;
}

static struct snapshot_entry *entry_at(const struct snapshot *s, const char *path) {
	uint32_t found = s->nslots == 0 ? 0 : s->slots[slot_of(s, path)];
	return found == 0 ? NULL : &s->entries[found - 1];
}

struct snapshot_entry *snapshot_add(struct snapshot *s, const char *path) {
	struct snapshot_entry *found = entry_at(s, path);
	if (found != NULL) {
		return found;
	}
	char *copy = arena_strdup(s->a, path);
	if (copy == NULL || (2 * s->nentries >= s->nslots && widen(s) != 0) ||
	    arena_grow(s->a, &s->entries, s->nentries, &s->entries_cap, sizeof *s->entries) != 0) {
		s->out_of_memory = true;
		return NULL;
	}
	s->entries[s->nentries] = (struct snapshot_entry){.path = copy};
	s->slots[slot_of(s, path)] = (uint32_t)s->nentries + 1;
	return &s->entries[s->nentries++];
}

void snapshot_add_name(struct snapshot *s, struct snapshot_entry *dir, const char *name) {
	char *copy = arena_strdup(s->a, name);
	if (copy == NULL ||
	    arena_grow(s->a, &dir->names, dir->nnames, &dir->names_cap, sizeof *dir->names) != 0) {
		s->out_of_memory = true;
		return;
	}
	dir->names[dir->nnames++] = copy;
}

/* ---- one entry ---- */

static void fetch(struct snapshot *s, struct snapshot_entry *n) {
	const struct host_fs *fs = &s->real->fs;
	char to[PATH_MAX];
	n->seen = fs->look(fs->ctx, n->path);
	if (n->seen.kind == LOOK_LINK && fs->readlink(fs->ctx, n->path, to, sizeof to)) {
		n->to = arena_strdup(s->a, to);
		s->out_of_memory = s->out_of_memory || n->to == NULL;
	}
}

static bool lists(const struct snapshot_entry *dir, const char *name) {
	for (size_t i = 0; i < dir->nnames; i++) {
		if (streq(dir->names[i], name)) {
			return true;
		}
	}
	return false;
}

bool snapshot_lacks(const struct snapshot *s, const char *path) {
	char parent[PATH_MAX] = "/";
	(void)path_parent(path, parent); /* false: the root */
	const struct snapshot_entry *dir = path[1] == '\0' ? NULL : entry_at(s, parent);
	return dir != NULL && dir->list_known == KNOWN_YES && !lists(dir, strrchr(path, '/') + 1);
}

/* The entry at a path whose directory is canonical and known; NULL: it does not exist. */
static struct snapshot_entry *entry_of(struct snapshot *s, const char *path) {
	struct snapshot_entry *n = entry_at(s, path);
	if (n == NULL && s->real != NULL) {
		n = snapshot_add(s, path);
		if (n != NULL) {
			fetch(s, n);
		}
	} else if (n == NULL && !snapshot_lacks(s, path)) {
		unknown(s, path);
	}
	return n == NULL || n->seen.kind == LOOK_NOTHING ? NULL : n;
}

/* ---- paths ---- */

struct walk {
	char done[PATH_MAX]; /* canonical, "" for the root */
	struct path_cursor c;
};

static struct snapshot_entry *entry_done(struct snapshot *s, const struct walk *w) {
	return entry_of(s, w->done[0] == '\0' ? "/" : w->done);
}

/* Replaces the symlink at the end of `done` by its target. */
static bool follow(struct walk *w, const struct snapshot_entry *link) {
	if (link->to == NULL || path_cursor_count_link(&w->c) != 0 ||
	    path_cursor_splice(&w->c, link->to) != 0) {
		return false;
	}
	path_pop(w->done);
	if (link->to[0] == '/') {
		w->done[0] = '\0';
	}
	return true;
}

/* One component; NULL: it does not exist. */
static struct snapshot_entry *step(struct snapshot *s, struct walk *w) {
	const char *name = w->c.name;
	if (streq(name, "..")) {
		path_pop(w->done);
	} else if (!streq(name, ".") && !path_push(w->done, sizeof w->done, name)) {
		return NULL;
	}
	return entry_done(s, w);
}

/* The entry that a path leads to, through a symlink at its end only if `last`. */
static struct snapshot_entry *resolve(struct snapshot *s, const char *path, bool last,
				      struct walk *w) {
	struct snapshot_entry *at = entry_of(s, "/");
	int r = path_cursor_begin(&w->c, path);
	w->done[0] = '\0';
	while (r == 0 && at != NULL && (r = path_cursor_next(&w->c)) == 1) {
		if (at->seen.kind != LOOK_DIR) {
			return NULL;
		}
		at = step(s, w);
		if (at != NULL && at->seen.kind == LOOK_LINK && (last || !w->c.last)) {
			at = follow(w, at) ? entry_done(s, w) : NULL;
		}
		r = 0;
	}
	return r < 0 ? NULL : at;
}

/* ---- the call-backs ---- */

static struct look answer_look(void *ctx, const char *path) {
	struct walk w;
	const struct snapshot_entry *n = resolve(ctx, path, false, &w);
	struct look nothing = {.kind = LOOK_NOTHING};
	return n == NULL ? nothing : n->seen;
}

static bool answer_readlink(void *ctx, const char *path, char *out, size_t cap) {
	struct walk w;
	const struct snapshot_entry *n = resolve(ctx, path, false, &w);
	if (n == NULL || n->seen.kind != LOOK_LINK || n->to == NULL || strlen(n->to) >= cap) {
		return false;
	}
	memcpy(out, n->to, strlen(n->to) + 1);
	return true;
}

static bool answer_resolve(void *ctx, const char *path, char *out, size_t cap) {
	struct walk w;
	if (resolve(ctx, path, true, &w) == NULL) {
		return false;
	}
	const char *full = w.done[0] == '\0' ? "/" : w.done;
	if (strlen(full) >= cap) {
		return false;
	}
	memcpy(out, full, strlen(full) + 1);
	return true;
}

struct listing {
	struct snapshot *s;
	struct snapshot_entry *dir;
};

static void keep_name(void *arg, const char *name) {
	const struct listing *l = arg;
	snapshot_add_name(l->s, l->dir, name);
}

static bool answer_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
			void *arg) {
	struct snapshot *s = ctx;
	struct walk w;
	struct snapshot_entry *n = resolve(s, path, true, &w);
	if (n == NULL || n->seen.kind != LOOK_DIR) {
		return false;
	}
	if (n->list_known == KNOWN_NOT && s->real == NULL) {
		unknown(s, n->path);
		return false;
	}
	if (n->list_known == KNOWN_NOT) {
		struct listing l = {s, n};
		bool listed = s->real->fs.list(s->real->fs.ctx, n->path, keep_name, &l);
		n->list_known = listed ? KNOWN_YES : KNOWN_NO;
	}
	/* By number: a callback may add entries, which moves the array. */
	const char **names = n->names;
	size_t count = n->list_known == KNOWN_YES ? n->nnames : 0;
	bool listed = n->list_known == KNOWN_YES;
	for (size_t i = 0; i < count; i++) {
		each(arg, names[i]);
	}
	return listed;
}

static bool answer_folds(void *ctx, const char *path) {
	struct snapshot *s = ctx;
	struct walk w;
	struct snapshot_entry *n = resolve(s, path, true, &w);
	if (n == NULL || n->seen.kind != LOOK_DIR) {
		return false;
	}
	if (n->folds == KNOWN_NOT && s->real != NULL) {
		bool folds = s->real->fs.folds(s->real->fs.ctx, n->path);
		n->folds = folds ? KNOWN_YES : KNOWN_NO;
	}
	return n->folds == KNOWN_YES; /* a file has only those that fold */
}

static void read_real(struct snapshot *s, struct snapshot_entry *n, size_t limit) {
	struct buf text;
	buf_init(&text);
	bool got = s->real->fs.read(s->real->fs.ctx, n->path, limit, &text);
	n->text_known = got ? KNOWN_YES : KNOWN_NO;
	n->text_limit = limit;
	if (got) {
		n->text_len = text.len;
		n->text = text.len == 0 ? "" : arena_strndup(s->a, text.data, text.len);
	}
	s->out_of_memory = s->out_of_memory || buf_failed(&text) || (got && n->text == NULL);
	buf_done(&text);
}

static bool answer_read(void *ctx, const char *path, size_t limit, struct buf *out) {
	struct snapshot *s = ctx;
	struct walk w;
	struct snapshot_entry *n = resolve(s, path, false, &w);
	if (n == NULL || n->seen.kind != LOOK_FILE) {
		return false;
	}
	bool again = n->text_known == KNOWN_NO && limit > n->text_limit;
	if (s->real != NULL && (n->text_known == KNOWN_NOT || again)) {
		read_real(s, n, limit);
	}
	if (n->text_known == KNOWN_NOT) {
		unknown(s, n->path);
	}
	if (n->text_known != KNOWN_YES || n->text == NULL || n->text_len > limit) {
		return false;
	}
	buf_add(out, n->text, n->text_len);
	return true;
}

/* ---- programs ---- */

static void keep_output(struct snapshot *s, const char *name, const struct buf *text, bool got) {
	struct snapshot_output o = {.name = arena_strdup(s->a, name)};
	if (got && text->len > 0) {
		o.text = arena_strndup(s->a, text->data, text->len);
	}
	if (o.name == NULL || (got && text->len > 0 && o.text == NULL) ||
	    arena_grow(s->a, &s->outputs, s->noutputs, &s->outputs_cap, sizeof *s->outputs) != 0) {
		s->out_of_memory = true;
		return;
	}
	s->outputs[s->noutputs++] = o;
}

static const struct snapshot_output *output_of(const struct snapshot *s, const char *name) {
	for (size_t i = 0; i < s->noutputs; i++) {
		if (streq(s->outputs[i].name, name)) {
			return &s->outputs[i];
		}
	}
	return NULL;
}

/* host.ask has a const context for the real host; a snapshot's is the snapshot. */
union context {
	const void *given;
	struct snapshot *s;
};

static bool answer_ask(const void *ctx, const struct program_query *q, struct buf *out) {
	union context context;
	context.given = ctx;
	struct snapshot *s = context.s;
	if (output_of(s, q->name) == NULL && s->real != NULL && s->real->ask != NULL) {
		struct buf text;
		buf_init(&text);
		bool got = s->real->ask(s->real->ask_ctx, q, &text);
		keep_output(s, q->name, &text, got);
		buf_done(&text);
	}
	const struct snapshot_output *o = output_of(s, q->name);
	if (o == NULL) {
		unknown(s, q->program);
	}
	if (o == NULL || o->text == NULL) {
		return false;
	}
	buf_puts(out, o->text);
	return true;
}

/* ---- a snapshot ---- */

void snapshot_init(struct snapshot *s, struct arena *a) {
	*s = (struct snapshot){.a = a};
	s->host.fs = (struct host_fs){.ctx = s,
				      .look = answer_look,
				      .readlink = answer_readlink,
				      .resolve = answer_resolve,
				      .list = answer_list,
				      .folds = answer_folds,
				      .read = answer_read};
	s->host.ask = answer_ask;
	s->host.ask_ctx = s;
}

void snapshot_record(struct snapshot *s, struct arena *a, const struct host *real) {
	snapshot_init(s, a);
	struct host_fs fs = s->host.fs;
	s->host = *real;
	s->host.fs = fs;
	s->host.ask = real->ask == NULL ? NULL : answer_ask;
	s->host.ask_ctx = s;
	s->real = real;
}

int snapshot_find(void *ctx, const char *path, char *ret_real, bool *ret_dir) {
	struct walk w;
	const struct snapshot_entry *n = resolve(ctx, path, true, &w);
	if (n == NULL) {
		return ENOENT;
	}
	*ret_dir = n->seen.kind == LOOK_DIR;
	if (ret_real != NULL) {
		const char *full = w.done[0] == '\0' ? "/" : w.done;
		memcpy(ret_real, full, strlen(full) + 1);
	}
	return 0;
}

int snapshot_check(const struct snapshot *s, struct err *e) {
	if (s->out_of_memory) {
		return err_memory(e, "snapshot");
	}
	if (s->unknown[0] == '\0') {
		return 0;
	}
	char path[sizeof s->unknown];
	memcpy(path, s->unknown, sizeof path);
	str_hide_controls(path, false);
	(void)err_set(e, ERR_USAGE, "snapshot", "the snapshot has no answer about %.300s", path);
	return err_fix(e, "record it with the options that you explain: corral status --snapshot "
			  "OPTIONS");
}
