/* SPDX-License-Identifier: Apache-2.0 */
/* A world for tests of the plan: a host whose file system is a table of paths, an
 * ordinary policy, and questions about the plan that comes out. */
#ifndef CORRAL_TESTS_UNIT_PLAN_WORLD_H
#define CORRAL_TESTS_UNIT_PLAN_WORLD_H

#include "test.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/paths.h"
#include "plan/plan.h"

#include <limits.h>

/* ---- a host made of a table ---- */

struct node {
	const char *path;
	char kind; /* d f l s o; parents are directories without being named */
	const char *text;
	uint32_t mode; /* 0: 0644 or 0755 */
	bool closed;   /* the caller can neither read nor write it */
};

#define NODES_MAX 128

struct fake {
	struct node nodes[NODES_MAX];
	size_t n;
};

static inline const struct node *node_at(const struct fake *f, const char *path) {
	static struct node implied;
	for (size_t i = 0; i < f->n; i++) {
		if (streq(f->nodes[i].path, path)) {
			return &f->nodes[i];
		}
	}
	for (size_t i = 0; i < f->n; i++) {
		if (path_within(f->nodes[i].path, path)) {
			implied = (struct node){.path = path, .kind = 'd'};
			return &implied;
		}
	}
	return NULL;
}

/* Resolves all symlinks (the last one only when asked to); false: not there. */
static inline bool walk(const struct fake *f, const char *path, bool last, char *out) {
	struct arena a;
	arena_init(&a);
	char *todo = path_normal(&a, path);
	bool found = todo != NULL;
	for (int hops = 0; found && hops < 40; hops++) {
		const char *p = todo;
		const struct node *link = NULL;
		char *prefix = NULL;
		while (link == NULL && *p != '\0' && !streq(todo, "/")) {
			p += 1 + strcspn(p + 1, "/");
			prefix = arena_strndup(&a, todo, (size_t)(p - todo));
			const struct node *n = node_at(f, prefix);
			link = n != NULL && n->kind == 'l' && (*p != '\0' || last) ? n : NULL;
		}
		if (link == NULL) {
			break;
		}
		char *base = link->text[0] == '/'
				     ? arena_strdup(&a, link->text)
				     : arena_printf(&a, "%s/../%s", prefix, link->text);
		todo = path_normal(&a, arena_printf(&a, "%s%s", base, p));
	}
	found = found && node_at(f, todo) != NULL;
	if (found) {
		(void)snprintf(out, PATH_MAX, "%s", todo);
	}
	arena_done(&a);
	return found;
}

static inline struct look fake_look(void *ctx, const char *path) {
	const struct fake *f = ctx;
	char full[PATH_MAX];
	if (!walk(f, path, false, full)) {
		return (struct look){.kind = LOOK_NOTHING};
	}
	const struct node *n = node_at(f, full);
	uint64_t ino = 5381;
	for (const char *p = full; *p != '\0'; p++) {
		ino = ino * 33 + (unsigned char)*p;
	}
	struct look seen = {.dev = 1, .ino = ino, .mode = n->mode, .reachable = !n->closed};
	/* A file whose text is "linked" is one of two names of the same file. */
	if (n->kind == 'f' && n->text != NULL && streq(n->text, "linked")) {
		seen.ino = 7;
		seen.names = 2;
	}
	static const char kinds[] = "?fdlso";
	seen.kind = (enum look_kind)(strchr(kinds, n->kind) - kinds);
	if (seen.mode == 0) {
		seen.mode = seen.kind == LOOK_DIR ? 0755 : 0644;
	}
	return seen;
}

static inline bool fake_readlink(void *ctx, const char *path, char *out, size_t cap) {
	const struct node *n = node_at(ctx, path);
	if (n == NULL || n->kind != 'l') {
		return false;
	}
	(void)snprintf(out, cap, "%s", n->text);
	return true;
}

static inline bool fake_resolve(void *ctx, const char *path, char *out, size_t cap) {
	char full[PATH_MAX];
	if (!walk(ctx, path, true, full) || strlen(full) >= cap) {
		return false;
	}
	memcpy(out, full, strlen(full) + 1);
	return true;
}

static bool fake_folds(void *ctx, const char *path) {
	(void)ctx;
	(void)path;
	return false;
}

static inline bool fake_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
			     void *arg) {
	const struct fake *f = ctx;
	char names[NODES_MAX][64];
	size_t n = 0, skip = streq(path, "/") ? 0 : strlen(path);
	for (size_t i = 0; i < f->n; i++) {
		if (!path_within(f->nodes[i].path, path) || streq(f->nodes[i].path, path)) {
			continue;
		}
		const char *rest = f->nodes[i].path + skip + 1;
		(void)snprintf(names[n], sizeof names[n], "%.*s", (int)strcspn(rest, "/"), rest);
		bool seen = false;
		for (size_t k = 0; k < n; k++) {
			seen = seen || streq(names[k], names[n]);
		}
		n += !seen;
	}
	for (size_t i = 0; i < n; i++) {
		each(arg, names[i]);
	}
	return true;
}

/* A file without a text is empty. */
static inline bool fake_read(void *ctx, const char *path, size_t limit, struct buf *out) {
	char full[PATH_MAX];
	const struct node *n = walk(ctx, path, false, full) ? node_at(ctx, full) : NULL;
	const char *text = n == NULL || n->text == NULL ? "" : n->text;
	if (n == NULL || n->kind != 'f' || n->closed || strlen(text) > limit) {
		return false;
	}
	buf_puts(out, text);
	return true;
}

/* ---- one test's world ---- */

struct world {
	struct arena a;
	struct fake fs;
	const char *environ[16];
	size_t nenviron;
	struct host h;
	struct policy p;
	struct plan plan;
	struct err e;
};

static const struct node common[] = {
	{"/usr/bin/sh", 'f', NULL, 0755, false},
	{"/usr/lib/x.so", 'f', NULL, 0, false},
	{"/etc/passwd", 'f', NULL, 0, false},
	{"/etc/hosts", 'f', NULL, 0, false},
	{"/etc/shadow", 'f', NULL, 0640, true},
	{"/etc/ssh/ssh_host_rsa_key", 'f', NULL, 0600, true},
	{"/etc/resolv.conf", 'l', "../run/systemd/resolve/stub-resolv.conf", 0, false},
	{"/run/systemd/resolve/stub-resolv.conf", 'f', NULL, 0, false},
	{"/run/docker.sock", 's', NULL, 0, false},
	{"/tmp/x", 'f', NULL, 0, false},
	{"/var/tmp/x", 'f', NULL, 0, false},
	{"/var/log/messages", 'f', NULL, 0, false},
	{"/dev/null", 'o', NULL, 0666, false},
	{"/dev/tty", 'o', NULL, 0666, false},
	{"/proc/sys/kernel/x", 'f', NULL, 0, false},
	{"/proc/kcore", 'f', NULL, 0400, true},
	{"/proc/keys", 'f', NULL, 0444, false},
	{"/proc/irq/0", 'f', NULL, 0, false},
	{"/sys/devices/system/cpu/online", 'f', NULL, 0, false},
	{"/home/ann/.ssh/id", 'f', NULL, 0600, false},
	{"/home/ann/.netrc", 'f', NULL, 0600, false},
	{"/home/ann/.config/corral/corral.toml", 'f', NULL, 0, false},
	{"/home/ann/.local/state/corral/trust", 'f', NULL, 0, false},
	{"/home/ann/work/app/src/main.c", 'f', NULL, 0, false},
	{"/home/bob/secret", 'f', NULL, 0, false},
};

static inline void node(struct world *w, const char *path, char kind, const char *text) {
	if (w->fs.n == NODES_MAX) {
		abort();
	}
	w->fs.nodes[w->fs.n++] = (struct node){.path = path, .kind = kind, .text = text};
}

static inline void variable(struct world *w, const char *entry) {
	w->environ[w->nenviron++] = entry;
}

static inline void set_num(struct world *w, enum key_id id, int64_t n) {
	w->p.values[id].set = true;
	w->p.values[id].num = n;
	w->p.values[id].origin = (struct origin){.kind = ORIGIN_OPTION, .name = "--test"};
}

static inline void set_str(struct world *w, enum key_id id, const char *s) {
	set_num(w, id, 0);
	w->p.values[id].str = s;
}

static inline struct item *add_item(struct world *w, enum key_id id, const char *s) {
	struct value *v = &w->p.values[id];
	if (arena_grow(&w->a, &v->items, v->count, &v->cap, sizeof *v->items) != 0) {
		abort();
	}
	v->set = true;
	v->items[v->count] =
		(struct item){.str = s, .origin = {.kind = ORIGIN_OPTION, .name = "--rule"}};
	return &v->items[v->count++];
}

static inline struct item *add_pattern(struct world *w, enum key_id id, const char *s) {
	struct item *it = add_item(w, id, s);
	it->kind = ITEM_PATTERN;
	return it;
}

/* An unprivileged user on a merged-/usr host with everything the kernel has. */
static inline void world_init(struct world *w) {
	*w = (struct world){0};
	arena_init(&w->a);
	memcpy(w->fs.nodes, common, sizeof common);
	w->fs.n = ARRAY_LEN(common);
	node(w, "/bin", 'l', "usr/bin");
	node(w, "/lib", 'l', "usr/lib");
	w->h = (struct host){
		.uid = 1000,
		.gid = 1000,
		.user = "ann",
		.home = "/home/ann",
		.cwd = "/home/ann/work/app/src",
		.state_dir = "/home/ann/.local/state/corral",
		.userns = true,
		.seccomp = true,
		.notify = true,
		.sockets = true,
		.landlock_abi = 7,
		.cgroup = {.why = "no control group here"},
		.fs = {.look = fake_look,
		       .readlink = fake_readlink,
		       .resolve = fake_resolve,
		       .list = fake_list,
		       .folds = fake_folds,
		       .read = fake_read},
	};
	for (enum key_id id = KEY_LIMITS_TIMEOUT; id <= KEY_LIMITS_TMP_SIZE; id++) {
		w->p.values[id] = (struct value){.set = true, .num = LIMIT_NONE};
	}
	set_num(w, KEY_MODE, MODE_WORKSPACE_WRITE);
	set_str(w, KEY_WORKSPACE, "/home/ann/work/app");
	set_num(w, KEY_LEVEL, LEVEL_AUTO);
	set_num(w, KEY_MIN_LEVEL, LEVEL_STANDARD);
	set_num(w, KEY_FS_VIEW, VIEW_SYSTEM);
	w->p.values[KEY_FS_HOME] = (struct value){.set = true, .num = HOME_PERSISTENT};
	set_num(w, KEY_FS_TOOLCHAINS, 1);
	set_num(w, KEY_NET_MODE, NET_NONE);
	set_num(w, KEY_COMMANDS_DEFAULT, COMMANDS_ALLOW);
}

static inline void world_done(struct world *w) {
	arena_done(&w->a);
}

static inline int build(struct world *w) {
	w->h.environ = w->environ;
	w->h.fs.ctx = &w->fs;
	w->e = (struct err){0};
	int rc = plan_build(&w->a, &w->p, &w->h, &w->plan, &w->e);
	if (rc != 0 && w->e.what[0] == '\0') {
		printf("# an error without words\n");
		test_failed = true;
	}
	return rc;
}

static inline const struct mount *mount_at(const struct world *w, const char *target) {
	for (size_t i = 0; i < w->plan.nmounts; i++) {
		if (streq(w->plan.mounts[i].target, target)) {
			return &w->plan.mounts[i];
		}
	}
	return NULL;
}

/* What is seen at a path: the deepest mount that is not a mere pin. */
static inline const struct mount *seen_at(const struct world *w, const char *path) {
	const struct mount *best = NULL;
	for (size_t i = 0; i < w->plan.nmounts; i++) {
		const struct mount *m = &w->plan.mounts[i];
		if (m->kind != MOUNT_PIN && path_within(path, m->target) &&
		    (best == NULL || strlen(m->target) > strlen(best->target))) {
			best = m;
		}
	}
	return best;
}

static inline bool masked(const struct world *w, const char *path) {
	const struct mount *m = seen_at(w, path);
	return m != NULL && (m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE);
}

static inline bool kind_is(const struct world *w, const char *target, enum mount_kind kind) {
	const struct mount *m = mount_at(w, target);
	return m != NULL && m->kind == kind;
}

static inline const char *env_of(const struct world *w, const char *name) {
	size_t n = strlen(name);
	for (size_t i = 0; i < w->plan.nenv; i++) {
		if (strncmp(w->plan.env[i], name, n) == 0 && w->plan.env[i][n] == '=') {
			return w->plan.env[i] + n + 1;
		}
	}
	return NULL;
}

static inline bool has_note(const struct world *w, const char *part) {
	for (size_t i = 0; i < w->plan.nnotes; i++) {
		if (strstr(w->plan.notes[i], part) != NULL) {
			return true;
		}
	}
	return false;
}

static inline char *explained(const struct world *w, bool json) {
	struct buf out;
	buf_init(&out);
	plan_explain(&w->plan, &w->p, json, &out);
	return buf_take(&out);
}

/* L1, L4 and the rule of pins, for any plan. */
static inline void check_shape(const struct world *w) {
	const struct plan *plan = &w->plan;
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i], *outer = NULL;
		for (size_t k = 0; k < plan->nmounts; k++) {
			const struct mount *other = &plan->mounts[k];
			if (k == i || !path_within(m->target, other->target)) {
				continue;
			}
			CHECK(k < i);
			CHECK(!streq(m->target, other->target));
			if (other->kind != MOUNT_PIN &&
			    (outer == NULL || strlen(other->target) > strlen(outer->target))) {
				outer = other;
			}
		}
		bool own_home = outer != NULL && plan->home_source != NULL &&
				streq(outer->target, plan->home_at);
		bool tree = outer != NULL && outer->kind == MOUNT_BIND && !own_home;
		CHECK(!(tree && m->create));
		bool hidden = m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE;
		/* There is nothing to hide in what is hidden or our own. */
		CHECK(!hidden || tree || (outer != NULL && outer->kind == MOUNT_PROC));
		if (!tree || !outer->writable ||
		    !(hidden || (m->kind == MOUNT_BIND && !m->writable))) {
			continue;
		}
		for (const char *p = strchr(m->target + strlen(outer->target) + 1, '/'); p != NULL;
		     p = strchr(p + 1, '/')) {
			char dir[PATH_MAX];
			(void)snprintf(dir, sizeof dir, "%.*s", (int)(p - m->target), m->target);
			CHECK(mount_at(w, dir) != NULL);
		}
	}
}

#endif
