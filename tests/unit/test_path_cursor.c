/* SPDX-License-Identifier: Apache-2.0 */
/* A path that is resolved component by component. */
#include "test.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/path_cursor.h"

#include <errno.h>

/* Resolves against a table of symlinks, as the users of the cursor do with their files. */
static const struct {
	const char *at, *target;
} links[] = {
	{"/a/rel", "b/c"}, {"/a/up", "../x"},  {"/a/abs", "/y/z"},
	{"/a/dir", "b/"},  {"/loop", "loop"},  {"/empty", ""},
	{"/one", "two"},   {"/two", "three/"}, {"/a/root", "/"},
};

static const char *target_of(const char *path) {
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		if (strcmp(links[i].at, path) == 0) {
			return links[i].target;
		}
	}
	return NULL;
}

/* The resolved path, with a slash if the last component must be a directory. */
static int resolve(const char *path, char out[PATH_MAX]) {
	struct path_cursor c;
	int r = path_cursor_begin(&c, path);

	out[0] = '\0';
	while (r == 0 && (r = path_cursor_next(&c)) == 1) {
		r = 0;
		if (path_cursor_at_dots(&c)) {
			if (c.name[1] == '.') {
				path_pop(out);
			}
			continue;
		}
		if (!path_push(out, PATH_MAX, c.name)) {
			return -ENAMETOOLONG;
		}
		const char *target = target_of(out);
		if (target == NULL) {
			continue;
		}
		path_pop(out);
		r = path_cursor_count_link(&c);
		r = r == 0 ? path_cursor_splice(&c, target) : r;
		out[target[0] == '/' ? 0 : strlen(out)] = '\0';
	}
	if (r == 0 && path_cursor_needs_dir(&c)) {
		(void)path_push(out, PATH_MAX, "");
	}
	return r;
}

TEST(paths_are_resolved_as_the_kernel_does) {
	static const struct {
		const char *path, *resolved;
		int error;
	} rows[] = {
		{"/a/b", "/a/b", 0},
		{"//a///b", "/a/b", 0},
		{"/a/b/", "/a/b/", 0},
		{"/a/b//", "/a/b/", 0},
		{"/a/./b/../c", "/a/c", 0},
		{"/../../a", "/a", 0},
		{"/", "", 0},
		{"", "", 0},
		{"/a/rel", "/a/b/c", 0},
		{"/a/rel/", "/a/b/c/", 0},
		{"/a/rel/d", "/a/b/c/d", 0},
		{"/a/up/d", "/x/d", 0},
		{"/a/abs", "/y/z", 0},
		{"/a/abs/../d", "/y/d", 0},
		{"/a/dir", "/a/b/", 0}, /* the slash of the target */
		{"/one", "/three/", 0},
		{"/one/x", "/three/x", 0},
		{"/a/root/a/rel", "/a/b/c", 0},
		{"/loop", NULL, -ELOOP},
		{"/empty", NULL, -ENOENT},
	};
	char out[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(resolve(rows[i].path, out), rows[i].error);
		if (rows[i].error == 0) {
			CHECK_STR(out, rows[i].resolved);
		}
	}
}

/* As the kernel: 40 symlinks are followed. */
TEST(the_41st_symlink_is_one_too_many) {
	struct path_cursor c;

	REQUIRE(path_cursor_begin(&c, "/x") == 0);
	for (int i = 0; i < 40; i++) {
		CHECK_INT(path_cursor_count_link(&c), 0);
	}
	CHECK_INT(path_cursor_count_link(&c), -ELOOP);
	CHECK_INT(path_cursor_count_link(&c), -ELOOP);
}

TEST(what_is_too_long_fails_and_never_overruns) {
	struct path_cursor c;
	char name[NAME_MAX + 2], path[PATH_CURSOR_REST + 1];

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	REQUIRE(path_cursor_begin(&c, name) == 0);
	CHECK_INT(path_cursor_next(&c), -ENAMETOOLONG);
	REQUIRE(path_cursor_begin(&c, name + 1) == 0);
	CHECK_INT(path_cursor_next(&c), 1);
	CHECK_STR(c.name, name + 1);

	memset(path, '/', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	CHECK_INT(path_cursor_begin(&c, path), -ENAMETOOLONG);
	REQUIRE(path_cursor_begin(&c, path + 1) == 0);
	CHECK_INT(path_cursor_next(&c), 0);

	/* A target, a slash and the rest fill the buffer to its last byte, or do not fit. */
	for (size_t over = 0; over < 2; over++) {
		REQUIRE(path_cursor_begin(&c, "link/ab") == 0 && path_cursor_next(&c) == 1);
		size_t len = PATH_CURSOR_REST - strlen("/ab") - 1 + over;
		memset(path, 't', len);
		path[len] = '\0';
		CHECK_INT(path_cursor_splice(&c, path), over == 0 ? 0 : -ENAMETOOLONG);
		CHECK_INT(strlen(c.rest), over == 0 ? PATH_CURSOR_REST - 1 : 2);
	}
}

TEST(a_directory_is_put_before_the_rest) {
	struct path_cursor c;

	REQUIRE(path_cursor_begin(&c, "../x") == 0 && path_cursor_next(&c) == 1);
	CHECK(path_cursor_at_dots(&c));
	CHECK_INT(path_cursor_prepend(&c, "/a/b"), 0);
	CHECK_STR(c.rest, "/a/b/x");
	REQUIRE(path_cursor_begin(&c, "..") == 0 && path_cursor_next(&c) == 1);
	CHECK_INT(path_cursor_prepend(&c, "/a/b"), 0);
	CHECK_STR(c.rest, "/a/b/");
}

TEST(normal_paths_and_dots_are_told_apart) {
	static const struct {
		const char *path;
		bool normal, dots;
	} rows[] = {
		{"/a", true, false},      {"/a/b.c", true, false}, {"/...", true, false},
		{"/.a/..b", true, false}, {"/", false, false},     {"", false, false},
		{"a", false, false},      {"/a/", false, false},   {"//a", false, false},
		{"/a//b", false, false},  {"/./a", false, true},   {"/a/..", false, true},
		{"..", false, true},      {"a/./b", false, true},  {"//..//a", false, true},
		{"/a/.", false, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(path_is_normal(rows[i].path), rows[i].normal);
		CHECK_INT(path_has_dots(rows[i].path), rows[i].dots);
	}
}

TESTS_MAIN
