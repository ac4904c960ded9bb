/* SPDX-License-Identifier: Apache-2.0 */
/* Random rules, in any order, give the plan that is documented. */
#include "plan_world.h"
#include "base/path.h"

static uint64_t seed;

static unsigned roll(unsigned n) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

/* Directories of a small tree, inside the workspace and beside it. */
static const char *random_dir(struct world *w) {
	static const char *const names[] = {"a", "b", "ab"};
	const char *path = roll(3) == 0 ? "/data" : "/ws";
	for (unsigned depth = 1 + roll(3); depth > 0; depth--) {
		path = arena_printf(&w->a, "%s/%s", path, names[roll(3)]);
	}
	return path;
}

static void add_tree(struct world *w) {
	static const char *const names[] = {"a", "b", "ab"};
	for (size_t i = 0; i < 54; i++) {
		node(w,
		     arena_printf(&w->a, "%s/%s/%s/%s", i < 27 ? "/ws" : "/data", names[i % 3],
				  names[i / 3 % 3], names[i / 9 % 3]),
		     'd', NULL);
	}
	set_str(w, KEY_WORKSPACE, "/ws");
}

static void add_random_rules(struct world *w) {
	static const enum key_id ids[] = {KEY_FS_READ, KEY_FS_WRITE, KEY_FS_DENY, KEY_FS_DENY,
					  KEY_FS_PROTECT};
	for (unsigned n = 1 + roll(7); n > 0; n--) {
		add_item(w, ids[roll(ARRAY_LEN(ids))], random_dir(w));
	}
}

enum shown { HIDDEN, READABLE, WRITABLE };

/* The longest path among one list that holds this one; -1: none. */
static int longest(const struct world *w, enum key_id id, const char *path) {
	int best = -1;
	for (size_t i = 0; i < w->p.values[id].count; i++) {
		const char *rule = w->p.values[id].items[i].str;
		if (path_within(path, rule) && (int)strlen(rule) > best) {
			best = (int)strlen(rule);
		}
	}
	return best;
}

/* What the documentation says: the most specific rule decides, deny wins a
 * tie, then write; protect takes writing away wherever it reaches. */
static enum shown documented(const struct world *w, const char *path) {
	int deny = longest(w, KEY_FS_DENY, path), read = longest(w, KEY_FS_READ, path);
	int write = longest(w, KEY_FS_WRITE, path);
	if (path_within(path, "/ws") && write < (int)strlen("/ws")) {
		write = (int)strlen("/ws");
	}
	int grant = read > write ? read : write;
	if (grant < 0 || deny >= grant) {
		return HIDDEN;
	}
	return write >= read && longest(w, KEY_FS_PROTECT, path) < 0 ? WRITABLE : READABLE;
}

static enum shown planned(const struct world *w, const char *path) {
	const struct mount *m = seen_at(w, path);
	if (m == NULL || m->kind != MOUNT_BIND) {
		return HIDDEN;
	}
	return m->writable ? WRITABLE : READABLE;
}

TEST(random_rules_give_what_is_documented_for_every_path) {
	seed = 20240607;
	for (int round = 0; round < 400 && !test_failed; round++) {
		struct world w;
		world_init(&w);
		add_tree(&w);
		add_random_rules(&w);
		REQUIRE(build(&w) == 0);
		check_shape(&w);
		for (size_t i = 0; i < w.fs.n; i++) {
			char path[PATH_MAX];
			(void)snprintf(path, sizeof path, "%s", w.fs.nodes[i].path);
			if (!path_within(path, "/ws") && !path_within(path, "/data")) {
				continue;
			}
			for (char *end = path + strlen(path); end != path;
			     end = strrchr(path, '/')) {
				*end = '\0';
				if (planned(&w, path) != documented(&w, path)) {
					char *text = explained(&w, false);
					printf("# round %d, %s: planned %d, documented %d\n%s\n",
					       round, path, planned(&w, path), documented(&w, path),
					       text);
					free(text);
					test_failed = true;
					world_done(&w);
					return;
				}
			}
		}
		world_done(&w);
	}
}

static void shuffle(struct value *v) {
	for (size_t i = v->count; i > 1; i--) {
		size_t k = roll((unsigned)i);
		struct item kept = v->items[i - 1];
		v->items[i - 1] = v->items[k];
		v->items[k] = kept;
	}
}

TEST(the_order_of_rules_does_not_change_the_plan) {
	static const enum key_id ids[] = {KEY_FS_READ, KEY_FS_WRITE, KEY_FS_DENY, KEY_FS_PROTECT};
	seed = 77;
	for (int round = 0; round < 200 && !test_failed; round++) {
		struct world w;
		world_init(&w);
		add_tree(&w);
		node(&w, "/mnt/l", 'l', "/data/a");
		add_random_rules(&w);
		add_item(&w, KEY_FS_READ, "/mnt/l")->origin.line = 3;
		add_item(&w, KEY_FS_READ, "/data/a")->origin.line = 2;
		REQUIRE(build(&w) == 0);
		char *first = explained(&w, true);
		for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
			shuffle(&w.p.values[ids[i]]);
		}
		REQUIRE(build(&w) == 0);
		char *second = explained(&w, true);
		CHECK_STR(second, first);
		free(first);
		free(second);
		world_done(&w);
	}
}

TESTS_MAIN
