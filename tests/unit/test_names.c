/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "base/str.h"
#include "data/agent_homes.h"
#include "data/name_globs.h"
#include "data/names.h"
#include "test.h"

static bool has(const char *set, const char *pattern) {
	const struct name_set *s = name_set_find(set);
	for (size_t i = 0; s != NULL && i < s->count; i++) {
		if (streq(s->rows[i].pattern, pattern)) {
			return true;
		}
	}
	return false;
}

static void check_rows(const struct name_set *s) {
	for (size_t i = 0; i < s->count; i++) {
		const char *pattern = s->rows[i].pattern;
		const char *before = i == 0 ? NULL : s->rows[i - 1].pattern;
		bool exception = pattern[0] == '!';

		CHECK(s->rows[i].reason != NULL && s->rows[i].reason[0] != '\0');
		/* The last match wins: an exception before its pattern would be none. */
		CHECK(before == NULL || before[0] != '!' || exception);
		CHECK(before == NULL || (before[0] == '!') != exception ||
		      strcmp(before, pattern) < 0);
		CHECK(!exception || i > 0);
		CHECK(strlen(pattern) > 1 && strchr(pattern, ' ') == NULL);
		CHECK(pattern[strlen(pattern) - 1] != '/' && strstr(pattern, "//") == NULL);
		/* Beneath a directory only from the workspace on: the core reads it so. */
		CHECK(pattern[0] == '/' || strchr(pattern, '/') == NULL);
	}
}

TEST(sets_are_sorted_unique_and_give_reasons) {
	for (size_t i = 0; i < name_sets_count; i++) {
		const struct name_set *s = &name_sets[i];
		CHECK(i == 0 || strcmp(name_sets[i - 1].name, s->name) < 0);
		CHECK(s->help != NULL && s->count > 0);
		CHECK(name_set_find(s->name) == s);
		check_rows(s);
	}
	CHECK(name_set_find("@git") == NULL && name_set_find("") == NULL);
}

/* What the plan would parse: the row in the workspace, or at any depth. */
static void check_globs(const struct name_set *s, const struct glob *globs) {
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < s->count; i++) {
		const char *row = s->rows[i].pattern + (s->rows[i].pattern[0] == '!');
		bool anywhere = row[0] != '/' && strncmp(row, "**/", 3) != 0;
		struct glob g = {0};
		struct err e = {0};
		CHECK_INT(glob_parse(&arena,
				     arena_printf(&arena, "%s%s", anywhere ? "**/" : "", row), true,
				     &g, &e),
			  0);
		CHECK(globs[i].count == g.count && globs[i].fold && globs[i].need == g.need);
		for (size_t k = 0; k < g.count && k < globs[i].count; k++) {
			const struct glob_name *x = &globs[i].names[k], *y = &g.names[k];
			CHECK(x->kind == y->kind && x->len == y->len);
			CHECK(strncmp(x->text, y->text, y->len) == 0 && x->text[x->len] == '\0');
		}
	}
	arena_done(&arena);
}

TEST(the_tables_of_the_build_have_the_parsed_rows) {
	for (size_t i = 0; i < name_sets_count; i++) {
		check_globs(&name_sets[i], name_set_globs[i]);
	}
	check_globs(&repository_names, repository_globs);
}

TEST(names_that_packages_contain_are_meant_in_the_workspace_alone) {
	static const char *const packaged[] = {".npmrc",      ".vscode", ".editorconfig",
					       ".gitmodules", ".idea",   ".yarnrc"};
	for (size_t i = 0; i < ARRAY_LEN(packaged); i++) {
		for (size_t s = 0; s < name_sets_count; s++) {
			CHECK(!has(name_sets[s].name, packaged[i]));
		}
	}
	CHECK(has("packages", "/.npmrc") && has("editors", "/.vscode"));
	CHECK(has("startup", ".envrc"));
}

TEST(what_agents_are_asked_to_write_is_in_no_set) {
	static const char *const written[] = {"/CLAUDE.md", "/AGENTS.md",      "/package.json",
					      "/Makefile",  "/.tool-versions", "/.gitignore"};
	for (size_t i = 0; i < ARRAY_LEN(written); i++) {
		for (size_t s = 0; s < name_sets_count; s++) {
			CHECK(!has(name_sets[s].name, written[i]));
		}
	}
}

TEST(the_broad_names_are_apart_from_the_data) {
	CHECK(has("secrets", "*secret*") && has("secrets", "*password*"));
	CHECK(!has("sensitive", "*secret*") && !has("sensitive", "*password*"));
	CHECK(has("sensitive", ".env") && has("sensitive", ".env.*") && has("sensitive", "*.pem"));
	CHECK(has("sensitive", "!*.example") && has("sensitive", "!cacert.pem"));
}

TEST(rows_of_agents_are_sorted_and_have_reasons) {
	for (size_t i = 0; i < agent_rows_count; i++) {
		const struct agent_row *row = &agent_rows[i], *before = row - 1;
		int order = i == 0 ? -1 : strcmp(before->dir, row->dir);
		CHECK(order < 0 || (order == 0 && strcmp(before->name, row->name) < 0));
		CHECK(strlen(row->reason) > 5 && strchr(row->name, '/') == NULL);
	}
}

TESTS_MAIN
