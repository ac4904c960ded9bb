/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include "base/auto.h"
#include "test.h"

#include <string.h>

static struct arena arena;

static bool matches_case(const char *pattern, const char *path, bool fold) {
	struct glob g;
	struct err e = {0};
	if (glob_parse(&arena, pattern, fold, &g, &e) != 0) {
		printf("# %s: %s\n", pattern, e.what);
		CHECK(false);
		return false;
	}
	bool matched = glob_matched(&g, glob_walk(&g, path));
	struct glob_path names;
	glob_path_split(&names, path);
	CHECK(glob_matches(&g, &names, 0) == matched);
	CHECK(!matched || glob_may_match(&g, &names));
	return matched;
}

static bool matches(const char *pattern, const char *path) {
	return matches_case(pattern, path, false);
}

TEST(a_star_stays_within_a_name) {
	CHECK(matches("*.pem", "a.pem"));
	CHECK(matches("*.pem", ".pem"));
	CHECK(!matches("*.pem", "a.pem.txt"));
	CHECK(!matches("*.pem", "d/a.pem"));
	CHECK(matches("a*c", "abbc"));
	CHECK(matches("a*b*c", "axbxbxc"));
	CHECK(!matches("a*b*c", "axbxbx"));
	CHECK(matches("*", ".hidden"));
	CHECK(matches("*secret*", "my-secret.txt"));
}

TEST(two_stars_are_any_number_of_names) {
	CHECK(matches("**/.env", ".env"));
	CHECK(matches("**/.env", "a/b/.env"));
	CHECK(!matches("**/.env", "a/.envrc"));
	CHECK(matches("a/**/b", "a/b"));
	CHECK(matches("a/**/b", "a/x/y/b"));
	CHECK(!matches("a/**/b", "a/x/y/c"));
	CHECK(matches("**/a/**/b/*.c", "x/a/y/a/b/z.c"));
}

TEST(what_ends_in_two_stars_is_beneath_and_not_the_directory) {
	CHECK(matches("a/**", "a/x"));
	CHECK(matches("a/**", "a/x/y"));
	CHECK(!matches("a/**", "a"));
}

TEST(a_directory_that_matches_covers_what_is_beneath) {
	CHECK(matches("a", "a/b/c"));
	CHECK(matches("**/node_modules", "x/node_modules/y/z"));
	CHECK(matches("a/b/", "a/b/c"));
}

TEST(classes) {
	CHECK(matches("[abc]", "b"));
	CHECK(!matches("[abc]", "d"));
	CHECK(matches("[!abc]", "d"));
	CHECK(matches("[^abc]", "d"));
	CHECK(matches("[a-c]x", "bx"));
	CHECK(matches("[]a]", "]"));
	CHECK(matches("[!]a]", "b"));
	CHECK(!matches("[!]a]", "]"));
	CHECK(matches("[a-]", "-"));
	CHECK(matches("[[:digit:]]*", "7up"));
	CHECK(!matches("[[:digit:]]*", "up"));
	CHECK(matches("[\\]]", "]"));
	CHECK(matches("[а-я]", "д"));
}

TEST(a_question_mark_is_one_character) {
	CHECK(matches("?", "a"));
	CHECK(matches("?", "é"));
	CHECK(matches("?", "\xff"));
	CHECK(!matches("?", "ab"));
	CHECK(!matches("a?", "a"));
}

TEST(a_backslash_takes_the_meaning) {
	CHECK(matches("\\*", "*"));
	CHECK(!matches("\\*", "a"));
	CHECK(matches("a\\[b", "a[b"));
	CHECK(matches("*\\?", "x?"));
	CHECK(!matches("*\\?", "xy"));
}

TEST(case_matters_unless_it_is_folded) {
	CHECK(!matches(".ENV", ".env"));
	CHECK(matches_case(".ENV", ".env", true));
	CHECK(matches_case("*.PEM", "a.pem", true));
	CHECK(matches_case("[A-C]x", "bX", true));
	CHECK(matches_case("[[:upper:]]?*", "soul", true));
}

TEST(what_could_match_nothing_by_mistake_is_an_error) {
	static const char *const wrong[] = {"",     "/",      "a[b",     "[",   "[!]",     "[]",
					    "a**b", "**.pem", "*.{a,b}", "a\\", "x/[a/b]", "[z-a]"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct glob g;
		struct err e = {0};
		CHECK_INT(glob_parse(&arena, wrong[i], false, &g, &e), -1);
		CHECK_INT(e.kind, ERR_USAGE);
		CHECK(e.fix[0] != '\0');
	}
}

TEST(a_pattern_has_as_many_names_as_a_set_has_places) {
	char text[2 * GLOB_NAMES_MAX + 1] = "";
	struct glob g;
	struct err e = {0};
	for (size_t i = 0; i < GLOB_NAMES_MAX; i++) {
		memcpy(text + 2 * i, "a/", 3);
	}
	CHECK_INT(glob_parse(&arena, text, false, &g, &e), -1);
	text[2 * (GLOB_NAMES_MAX - 1)] = '\0';
	CHECK_INT(glob_parse(&arena, text, false, &g, &e), 0);
	CHECK(glob_matched(&g, glob_walk(&g, text)));
}

TEST(directories_that_mean_the_same_have_the_same_set) {
	struct glob g;
	struct err e = {0};
	CHECK_INT(glob_parse(&arena, "**/.git/hooks", false, &g, &e), 0);
	CHECK(glob_walk(&g, "a/b") == glob_walk(&g, "c"));
	CHECK(glob_walk(&g, "a/.git") != glob_walk(&g, "a/g2"));
	CHECK(glob_walk(&g, "a/.git") == glob_walk(&g, "b/.git"));
	CHECK_INT(glob_parse(&arena, "src/*/key", false, &g, &e), 0);
	CHECK(glob_walk(&g, "src/a") == glob_walk(&g, "src/b"));
	CHECK(glob_walk(&g, "src/a") != glob_walk(&g, "lib/a"));
}

TEST(a_part_of_a_pattern_needs_its_own_names_only) {
	struct glob g;
	struct err e = {0};
	struct glob_path names;
	CHECK_INT(glob_parse(&arena, "a/b/**/key", true, &g, &e), 0);
	glob_path_split(&names, "x/KEY");
	CHECK(!glob_may_match(&g, &names));
	struct glob part = glob_from(&g, 2);
	CHECK(glob_may_match(&part, &names));
	CHECK(glob_matches(&part, &names, 0));
	struct glob none = glob_from(&g, g.count);
	CHECK(glob_may_match(&none, &names));
	CHECK(glob_matches(&none, &names, 0));
}

TEST(a_path_with_more_names_than_fit_may_match_anything) {
	char path[2 * GLOB_PATH_NAMES + 16] = "";
	struct glob g;
	struct err e = {0};
	struct glob_path names;
	for (size_t i = 0; i <= GLOB_PATH_NAMES; i++) {
		memcpy(path + 2 * i, "a/", 3);
	}
	memcpy(path + strlen(path), "key", 4);
	CHECK_INT(glob_parse(&arena, "**/key", false, &g, &e), 0);
	glob_path_split(&names, path);
	CHECK(names.deeper);
	CHECK(glob_may_match(&g, &names));
}

TEST(many_stars_take_no_more_than_the_product) {
	char name[256], pattern[128] = "";
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (size_t i = 0; i < 60; i++) {
		memcpy(pattern + 2 * i, "*a", 3);
	}
	pattern[120] = 'b';
	pattern[121] = '\0';
	for (int i = 0; i < 1000; i++) {
		CHECK(!matches(pattern, name));
	}
}

TESTS_MAIN
