/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_world.h"

#include "fuzz.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/profiles.h"

#include <limits.h>

/* ---- the file system ---- */

static const struct node *node_at(const struct world *w, const char *path) {
	static struct node implied = {.kind = 'd'};
	const struct node *found = NULL;
	for (size_t i = 0; i < w->n; i++) {
		if (streq(w->nodes[i].path, path)) {
			return &w->nodes[i];
		}
		if (path_within(w->nodes[i].path, path)) {
			found = &implied;
		}
	}
	return found;
}

/* The first link on the way, or NULL: nothing lies beneath a link, so there is
 * one at most. */
static const struct node *link_on(const struct world *w, const char *path, bool last) {
	for (size_t i = 0; i < w->n; i++) {
		const struct node *n = &w->nodes[i];
		if (n->kind == 'l' && path_within(path, n->path) &&
		    (last || !streq(path, n->path))) {
			return n;
		}
	}
	return NULL;
}

/* One step of resolution; false when there is nothing to resolve. */
static bool follow(struct world *w, char **path, bool last) {
	const struct node *n = link_on(w, *path, last);
	if (n == NULL) {
		return false;
	}
	const char *rest = *path + strlen(n->path);
	const char *to = path_join(&w->a, arena_printf(&w->a, "%s/..", n->path), n->text);
	*path = path_normal(&w->a, arena_printf(&w->a, "%s%s", to, rest));
	return true;
}

char *world_walk(struct world *w, const char *path, bool last) {
	char *at = path_normal(&w->a, path);
	for (int hops = 0; at != NULL && follow(w, &at, last); hops++) {
		if (hops == 40 || strlen(at) >= PATH_MAX) {
			return NULL;
		}
	}
	return at == NULL || node_at(w, at) == NULL ? NULL : at;
}

static struct look fake_look(void *ctx, const char *path) {
	static const char kinds[] = "?fdlso";
	struct world *w = ctx;
	const char *full = world_walk(w, path, false);
	struct look seen = {.kind = LOOK_NOTHING};
	if (full == NULL) {
		return seen;
	}
	const struct node *n = node_at(w, full);
	bool closed = n->kind == 'c';
	seen.kind = (enum look_kind)(strchr(kinds, closed ? 'f' : n->kind) - kinds);
	seen.mode = seen.kind == LOOK_DIR ? 0755 : closed ? 0600 : 0644;
	seen.reachable = !closed;
	seen.dev = seen.names = 1;
	for (const char *p = full; *p != '\0'; p++) {
		seen.ino = seen.ino * 33 + (unsigned char)*p;
	}
	return seen;
}

static bool fake_readlink(void *ctx, const char *path, char *out, size_t cap) {
	const struct node *n = node_at(ctx, path);
	if (n == NULL || n->kind != 'l' || strlen(n->text) >= cap) {
		return false;
	}
	memcpy(out, n->text, strlen(n->text) + 1);
	return true;
}

static bool fake_resolve(void *ctx, const char *path, char *out, size_t cap) {
	const char *full = world_walk(ctx, path, true);
	if (full == NULL || strlen(full) >= cap) {
		return false;
	}
	memcpy(out, full, strlen(full) + 1);
	return true;
}

static bool fake_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		      void *arg) {
	struct world *w = ctx;
	size_t skip = streq(path, "/") ? 0 : strlen(path);
	const char *names[NODES_MAX];
	size_t n = 0;
	for (size_t i = 0; i < w->n; i++) {
		const char *entry = w->nodes[i].path;
		if (!path_within(entry, path) || streq(entry, path)) {
			continue;
		}
		const char *name =
			arena_strndup(&w->a, entry + skip + 1, strcspn(entry + skip + 1, "/"));
		bool again = false;
		for (size_t k = 0; k < n; k++) {
			again = again || streq(names[k], name);
		}
		if (!again) {
			names[n++] = name;
			each(arg, name);
		}
	}
	return true;
}

static bool fake_folds(void *ctx, const char *path) {
	(void)ctx;
	return strstr(path, "fold") != NULL;
}

/* What follows a file's path is its text; '|' stands for the end of a line. */
static bool fake_read(void *ctx, const char *path, size_t limit, struct buf *out) {
	const struct node *n = node_at(ctx, path);
	if (n == NULL || n->kind != 'f') {
		return false;
	}
	for (const char *p = n->text == NULL ? "" : n->text; *p != '\0'; p++) {
		buf_puts(out, *p == '|' ? "\n" : (char[]){*p, '\0'});
	}
	buf_puts(out, "");
	return out->len <= limit;
}

/* ---- reading the text ---- */

static void add_node(struct world *w, char kind, const char *path, const char *text) {
	const char *normal = path[0] == '/' ? path_normal(&w->a, path) : NULL;
	if (normal == NULL || streq(normal, "/") || w->n == NODES_MAX ||
	    (kind == 'l' && (text == NULL || text[0] == '\0'))) {
		return;
	}
	/* Beneath a file or a link there is nothing, and a name stands once. */
	for (size_t i = 0; i < w->n; i++) {
		bool ends = w->nodes[i].kind != 'd';
		if (streq(w->nodes[i].path, normal) ||
		    (ends && path_within(normal, w->nodes[i].path)) ||
		    (kind != 'd' && path_within(w->nodes[i].path, normal))) {
			return;
		}
	}
	w->nodes[w->n++] = (struct node){kind, normal, text};
}

static void set_key(struct world *w, const char *name, const char *value) {
	const struct where at = {.a = &w->a,
				 .origin = {.kind = ORIGIN_OPTION, .name = "--set"},
				 .cwd = "/home/ann/ws",
				 .base = "/home/ann/ws",
				 .home = w->h.home};
	const struct key *k = key_by_name(name);
	struct value v = {0};
	struct err e;
	if (k == NULL || value == NULL) {
		return;
	}
	/* On a copy: a refusal leaves what stood before. */
	v = w->p.values[k - keys];
	if (value_from_text(&at, k, value, &v, &e) == 0) {
		w->p.values[k - keys] = v;
	}
}

static void set_host(struct world *w, const char *word) {
	struct host *h = &w->h;
	const struct {
		const char *word;
		bool *flag, value;
	} flags[] = {
		{"root", &h->privileged, true},     {"nouserns", &h->userns, false},
		{"noseccomp", &h->seccomp, false},  {"memory", &h->cgroup.memory, true},
		{"pids", &h->cgroup.pids, true},    {"cpu", &h->cgroup.cpu, true},
		{"closed", &h->state_closed, true},
	};
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (streq(flags[i].word, word)) {
			*flags[i].flag = flags[i].value;
		}
	}
	if (str_starts(word, "abi")) {
		h->landlock_abi = (int)strtol(word + 3, NULL, 10) & 15;
	}
	h->notify = h->sockets = h->notify || streq(word, "broker");
	h->home = streq(word, "homeless") ? NULL : h->home;
	h->state_dir = streq(word, "no-state") ? NULL : h->state_dir;
	h->uid = h->privileged ? 0 : 1000;
}

static void read_line(struct world *w, char *line) {
	char *rest = strlen(line) > 2 && line[1] == ' ' ? line + 2 : NULL;
	if (rest == NULL) {
		return;
	}
	char *second = strchr(rest, ' ');
	if (line[0] == 'e' && strchr(rest, '=') != NULL && w->nenviron < VARIABLES_MAX) {
		w->environ[w->nenviron++] = rest;
	}
	if (line[0] == 'h') {
		set_host(w, rest);
	}
	if (second != NULL && strchr("klf", line[0]) != NULL) {
		*second++ = '\0';
	}
	if (line[0] == 'k') {
		set_key(w, rest, second);
	} else if (strchr("dflsoc", line[0]) != NULL) {
		add_node(w, line[0], rest, second);
	}
}

void world_init(struct world *w, const uint8_t *data, size_t size) {
	struct input in = {data, size};
	char *line;
	*w = (struct world){0};
	arena_init(&w->a);
	w->h = (struct host){
		.uid = 1000,
		.gid = 1000,
		.user = "ann",
		.home = "/home/ann",
		.cwd = "/home/ann/ws",
		.state_dir = "/home/ann/.local/state/corral",
		.userns = true,
		.seccomp = true,
		.landlock_abi = 7,
		.environ = w->environ,
		.cgroup = {.why = "no control group here"},
		.fs = {.ctx = w,
		       .look = fake_look,
		       .readlink = fake_readlink,
		       .resolve = fake_resolve,
		       .list = fake_list,
		       .folds = fake_folds,
		       .read = fake_read},
	};
	for (size_t i = 0; i < default_rows_count; i++) {
		set_key(w, keys[default_rows[i].key].name, default_rows[i].person);
	}
	set_key(w, "workspace", "/home/ann/ws");
	add_node(w, 'd', "/home/ann/ws", NULL);
	add_node(w, 'd', "/usr/bin", NULL);
	while ((line = input_until(&in, '\n')) != NULL) {
		read_line(w, arena_strdup(&w->a, line));
		free(line);
	}
	add_node(w, 'd', "/home/ann", NULL);
}
