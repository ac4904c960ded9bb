/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a snapshot as JSON.
 *
 * A value that equals its default is left out.  In strings, "\" is written as "\\" and a byte that
 * is not UTF-8 as "\xNN": a path may hold any bytes but NUL.  Files that share an inode carry the
 * same "id"; inode and device numbers are not written.
 *
 * Should:   write the same bytes for the same recording.
 * Must not: write a text or a value without snapshot_mask.c, or the author's name and address, the
 *           settings and the ignore list of git: the plan needs to know only that they exist.
 * Fails:    as buf.h: an allocation failure stays in the buffer. */
#include "plan/snapshot.h"

#include "base/emit.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/snapshot_format.h"

#include <stdlib.h>

/* ---- strings ---- */

static void put_escaped(struct buf *out, const char *s, size_t len) {
	for (size_t i = 0, n; i < len; i += n) {
		n = s[i] == '\0' ? 0 : str_utf8_length((const unsigned char *)s + i, len - i);
		if (n == 0) {
			buf_printf(out, "\\x%02x", (unsigned)(unsigned char)s[i]);
			n = 1;
		} else if (s[i] == '\\') {
			buf_puts(out, "\\\\");
		} else {
			buf_add(out, s + i, n);
		}
	}
}

static void write_bytes(struct emit *j, const char *key, const char *s, size_t len) {
	struct buf text;
	buf_init(&text);
	put_escaped(&text, s, len);
	emit_bytes(j, key, text.data == NULL ? "" : text.data, text.len);
	j->out->failed = j->out->failed || buf_failed(&text);
	buf_done(&text);
}

static void write_string(struct emit *j, const char *key, const char *s) {
	if (s == NULL) {
		emit_null(j, key);
	} else {
		write_bytes(j, key, s, strlen(s));
	}
}

/* A text whose secrets are replaced; name: of the variable or program; NULL: a settings file. */
static void write_masked(struct emit *j, const char *name, const char *s, size_t len) {
	const char *key = name == NULL ? "text" : name;
	struct buf text;
	buf_init(&text);
	buf_add(&text, s, len);
	if (text.data != NULL && !buf_failed(&text)) {
		if (name == NULL) {
			snapshot_mask(text.data, text.len);
		} else {
			snapshot_mask_value(name, text.data, text.len);
		}
		write_bytes(j, key, text.data, text.len);
	} else {
		emit_string(j, key, "");
	}
	j->out->failed = j->out->failed || buf_failed(&text);
	buf_done(&text);
}

/* ---- facts ---- */

static void write_cgroup(struct emit *j, const char *key, const struct host_cgroup *c) {
	emit_object(j, key);
	emit_string(j, "kind", snapshot_cgroups[c->kind]);
	emit_bool(j, "memory", c->memory);
	emit_bool(j, "pids", c->pids);
	emit_bool(j, "cpu", c->cpu);
	emit_bool(j, "scope", c->scope);
	write_string(j, "why", c->why);
	emit_end_object(j);
}

static void write_kernel(struct emit *j, const struct snapshot *s) {
	const struct host *h = &s->host;
	emit_object(j, "kernel");
	write_string(j, "release", s->kernel);
	emit_int(j, "landlock_abi", h->landlock_abi);
	emit_bool(j, "seccomp", h->seccomp);
	if (h->seatbelt) {
		emit_bool(j, "seatbelt", true);
	}
	emit_bool(j, "user_namespaces", h->userns);
	write_string(j, "user_namespaces_why", h->userns_why);
	write_string(j, "proc_why", h->proc_why);
	emit_bool(j, "notify", h->notify);
	write_string(j, "notify_why", h->notify_why);
	emit_bool(j, "sockets", h->sockets);
	write_cgroup(j, "cgroup", &s->cgroup);
	write_cgroup(j, "scope", &s->scope);
	write_string(j, "sampling_why", s->sampling_why);
	emit_end_object(j);
}

/* A path may stay; any other value is replaced, but for hosts of URLs. */
static void write_variable(struct emit *j, const char *entry, enum variable_use use) {
	size_t n = strcspn(entry, "=");
	char name[256];
	const char *value = entry + n + 1;
	if (n >= sizeof name) {
		return;
	}
	memcpy(name, entry, n);
	name[n] = '\0';
	if (use == VARIABLE_PASSED) {
		emit_string(j, name, "");
	} else if (use == VARIABLE_READ && value[0] == '/') {
		write_string(j, name, value);
	} else {
		write_masked(j, name, value, strlen(value));
	}
}

/* The first of several entries of a name counts. */
static bool is_first(const char *const *list, size_t i) {
	size_t n = strcspn(list[i], "=") + 1;
	size_t k = 0;
	while (k < i && strncmp(list[k], list[i], n) != 0) {
		k++;
	}
	return k == i;
}

static void write_caller(struct emit *j, const struct host *h) {
	emit_object(j, "caller");
	emit_int(j, "uid", h->uid);
	emit_int(j, "gid", h->gid);
	write_string(j, "user", h->user);
	write_string(j, "home", h->home);
	write_string(j, "cwd", h->cwd);
	write_string(j, "state_dir", h->state_dir);
	emit_bool(j, "state_closed", h->state_closed);
	write_string(j, "run_dir", h->run_dir);
	emit_object(j, "environ");
	for (size_t i = 0; h->environ != NULL && h->environ[i] != NULL; i++) {
		enum variable_use use = h->environ_used == NULL
						? VARIABLE_UNUSED
						: (enum variable_use)h->environ_used[i];
		if (use != VARIABLE_UNUSED && is_first(h->environ, i)) {
			write_variable(j, h->environ[i], use);
		}
	}
	emit_end_object(j);
	emit_end_object(j);
}

static void write_git(struct emit *j, const struct host *h) {
	const struct git_obeyed *o = &h->git_obeyed;
	emit_object(j, "git");
	emit_bool(j, "name", h->git.name[0] != '\0');
	emit_bool(j, "email", h->git.email[0] != '\0');
	emit_bool(j, "settings", h->git_settings != NULL);
	emit_bool(j, "ignores", h->git_ignores != NULL);
	emit_bool(j, "more", o->more);
	emit_array(j, "hooks");
	for (size_t i = 0; i < o->nhooks; i++) {
		write_string(j, NULL, o->hooks[i]);
	}
	emit_end_array(j);
	emit_array(j, "files");
	for (size_t i = 0; i < o->nfiles; i++) {
		emit_object(j, NULL);
		write_string(j, "path", o->files[i]);
		emit_bool(j, "linked", o->linked[i]);
		emit_end_object(j);
	}
	emit_end_array(j);
	emit_end_object(j);
}

/* ---- files ---- */

static int by_path(const void *a, const void *b) {
	const struct snapshot_entry *const *left = a, *const *right = b;
	return path_order((*left)->path, (*right)->path);
}

static int by_inode(const void *a, const void *b) {
	const struct look *left = &(*(const struct snapshot_entry *const *)a)->seen;
	const struct look *right = &(*(const struct snapshot_entry *const *)b)->seen;
	int order = (left->dev > right->dev) - (left->dev < right->dev);
	return order != 0 ? order : (left->ino > right->ino) - (left->ino < right->ino);
}

static const struct snapshot_entry **sorted(const struct snapshot *s,
					    int (*order)(const void *a, const void *b)) {
	const struct snapshot_entry **all = calloc(s->nentries + 1, sizeof *all);
	for (size_t i = 0; all != NULL && i < s->nentries; i++) {
		all[i] = &s->entries[i];
	}
	if (all != NULL && s->nentries > 1) {
		qsort(all, s->nentries, sizeof *all, order);
	}
	return all;
}

/* Numbers the inodes that several entries have; 0 for the others.  By index of the entry. */
static void number_inodes(const struct snapshot *s, const struct snapshot_entry **all,
			  uint32_t *ids) {
	uint32_t next = 0;
	for (size_t i = 1; i < s->nentries; i++) {
		bool same =
			all[i]->seen.kind != LOOK_NOTHING && by_inode(&all[i - 1], &all[i]) == 0;
		uint32_t *before = &ids[all[i - 1] - s->entries];
		if (same && *before == 0) {
			*before = ++next;
		}
		ids[all[i] - s->entries] = same ? *before : 0;
	}
}

static void write_attributes(struct emit *j, const struct snapshot_entry *n, uint32_t id) {
	emit_string(j, "kind", snapshot_kinds[n->seen.kind]);
	if (n->seen.mode != snapshot_modes[n->seen.kind]) {
		static const char digits[] = "01234567";
		char mode[5] = "";
		for (int i = 0; i < 4; i++) {
			mode[i] = digits[n->seen.mode >> (9 - 3 * i) & 7];
		}
		emit_string(j, "mode", mode);
	}
	if (n->seen.uid != 0) {
		emit_int(j, "uid", n->seen.uid);
	}
	if (n->seen.kind == LOOK_FILE && n->seen.names > 1) {
		emit_int(j, "names", (int64_t)n->seen.names);
	}
	if (id != 0) {
		emit_int(j, "id", id);
	}
	if (!n->seen.reachable) {
		emit_bool(j, "reachable", false);
	}
}

static void write_entry(struct emit *j, const struct snapshot_entry *n, uint32_t id) {
	struct buf path;
	buf_init(&path);
	put_escaped(&path, n->path, strlen(n->path));
	emit_object(j, path.data == NULL ? "" : path.data);
	j->out->failed = j->out->failed || buf_failed(&path);
	buf_done(&path);
	write_attributes(j, n, id);
	if (n->seen.kind == LOOK_LINK) {
		write_string(j, "to", n->to);
	}
	if (n->text_known == KNOWN_YES && n->text != NULL) {
		write_masked(j, NULL, n->text, n->text_len);
	} else if (n->text_known == KNOWN_NO) {
		emit_bool(j, "unreadable", true);
	}
	if (n->folds == KNOWN_YES) {
		emit_bool(j, "folds", true);
	}
	if (n->list_known == KNOWN_NO) {
		emit_bool(j, "unlistable", true);
	} else if (n->list_known == KNOWN_YES) {
		emit_array(j, "entries");
		for (size_t i = 0; i < n->nnames; i++) {
			write_string(j, NULL, n->names[i]);
		}
		emit_end_array(j);
	}
	emit_end_object(j);
}

static void write_files(struct emit *j, const struct snapshot *s) {
	const struct snapshot_entry **all = sorted(s, by_inode);
	uint32_t *ids = calloc(s->nentries + 1, sizeof *ids);
	if (all == NULL || ids == NULL) {
		j->out->failed = true;
	} else {
		number_inodes(s, all, ids);
		qsort(all, s->nentries, sizeof *all, by_path);
		emit_array(j, "absent");
		for (size_t i = 0; i < s->nentries; i++) {
			if (all[i]->seen.kind == LOOK_NOTHING && !snapshot_lacks(s, all[i]->path)) {
				write_string(j, NULL, all[i]->path);
			}
		}
		emit_end_array(j);
		emit_object(j, "files");
		for (size_t i = 0; i < s->nentries; i++) {
			if (all[i]->seen.kind != LOOK_NOTHING) {
				write_entry(j, all[i], ids[all[i] - s->entries]);
			}
		}
		emit_end_object(j);
	}
	free(ids);
	free(all);
}

void snapshot_write(const struct snapshot *s, struct buf *out) {
	struct emit j;
	emit_init(&j, out, true);
	emit_object(&j, NULL);
	emit_int(&j, "corral_snapshot", SNAPSHOT_VERSION);
	write_kernel(&j, s);
	write_caller(&j, &s->host);
	write_git(&j, &s->host);
	emit_object(&j, "outputs");
	for (size_t i = 0; i < s->noutputs; i++) {
		const struct snapshot_output *o = &s->outputs[i];
		if (o->text == NULL) {
			emit_null(&j, o->name);
		} else {
			write_masked(&j, o->name, o->text, strlen(o->text));
		}
	}
	emit_end_object(&j);
	write_files(&j, s);
	emit_end_object(&j);
	buf_puts(out, "\n");
}
