/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is matched with wildcards, against fnmatch(3).
 *
 * An input is a name.  As a variable: the row that speaks of it is the one with
 * its very name, else the longest prefix, among all rows that fnmatch takes.
 * As a path of a grant: what is accepted holds no live wildcard, so as a pattern
 * it matches the path that it became, and no other.  As a rule: a pattern that is
 * accepted can be matched, and one without "**" takes what fnmatch takes, name by name. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/glob.h"
#include "base/str.h"
#include "data/environment.h"
#include "policy/internal.h"

#include <fnmatch.h>

static const struct env_row *expect(const char *name) {
	const struct env_row *best = NULL;
	for (size_t i = 0; i < env_rows_count; i++) {
		const struct env_row *row = &env_rows[i];
		if (streq(row->pattern, name)) {
			return row;
		}
		if (fnmatch(row->pattern, name, 0) == 0 &&
		    (best == NULL || strlen(row->pattern) > strlen(best->pattern))) {
			best = row;
		}
	}
	return best;
}

static bool is_plain(const char *path) {
	return path[0] == '/' && strstr(path, "//") == NULL && strstr(path, "/.") == NULL &&
	       path[strlen(path) - 1] != '/';
}

static void as_grant(const char *text) {
	struct arena a;
	struct value v = {0};
	struct err e = {0};
	arena_init(&a);
	const struct where w = {.a = &a, .cwd = "/ws", .base = "/ws", .home = "/home/ann"};
	if (value_from_text(&w, &keys[KEY_FS_READ], text, &v, &e) == 0) {
		const struct item *item = &v.items[0];
		HOLDS(v.count == 1 && item->str[0] == '/');
		if (strstr(text, ":/") != NULL) {
			arena_done(&a); /* PATH:DEST */
			return;
		}
		auto_free char *pattern = strndup(text, strlen(text) - item->optional);
		auto_free char *longer = malloc(strlen(item->str) + 2);
		HOLDS(pattern != NULL && longer != NULL);
		(void)snprintf(longer, strlen(item->str) + 2, "%sx", item->str);
		HOLDS(!is_plain(pattern) || fnmatch(pattern, item->str, 0) == 0);
		HOLDS(!is_plain(pattern) || fnmatch(pattern, longer, 0) != 0);
	}
	arena_done(&a);
}

/* Without what the two read differently: classes, "{", and bytes that are no ASCII. */
static bool is_simple(const char *pattern) {
	for (const char *p = pattern; *p != '\0'; p++) {
		if (strchr("[{\\", *p) != NULL || (unsigned char)*p >= 0x80) {
			return false;
		}
	}
	return strstr(pattern, "**") == NULL;
}

static void as_rule(const char *text) {
	struct arena a;
	struct value v = {0};
	struct err e = {0};
	struct glob g;
	arena_init(&a);
	const struct where w = {.a = &a, .cwd = "/ws", .base = "/ws", .home = "/home/ann"};
	if (value_from_text(&w, &keys[KEY_FS_DENY], text, &v, &e) == 0) {
		const struct item *item = &v.items[0];
		HOLDS(v.count == 1);
		HOLDS(item->kind != ITEM_PLAIN || item->str[0] == '/');
		HOLDS(item->kind != ITEM_PATTERN || item->str[0] == '/' ||
		      str_starts(item->str, "**"));
		if (item->kind == ITEM_PATTERN && item->str[0] == '/' && is_simple(item->str)) {
			HOLDS(glob_parse(&a, item->str, false, &g, &e) == 0);
			static const char *const paths[] = {"/ws/a", "/ws/ab/c", "/a/b", "/ws/a.c"};
			for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
				bool same = fnmatch(item->str, paths[i], FNM_PATHNAME) == 0;
				HOLDS(!same || glob_matched(&g, glob_walk(&g, paths[i])));
			}
		}
	}
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *name = input_rest(&in);
	HOLDS(environment_row_for(name) == expect(name));
	as_grant(name);
	as_rule(name);
	return 0;
}
