#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/emit.h"
#include "base/str.h"
#include "test.h"

#include <errno.h>

TEST(a_sibling_with_the_same_prefix_is_not_within) {
	CHECK(path_within("/ws", "/ws"));
	CHECK(path_within("/ws/a", "/ws"));
	CHECK(!path_within("/ws-evil", "/ws"));
	CHECK(!path_within("/w", "/ws"));
	CHECK(path_within("/anything", "/"));
}

TEST(normal_form_has_no_dots_and_no_double_slashes) {
	struct arena a;
	arena_init(&a);
	CHECK_STR(path_normal(&a, "/a//b/./c/../d/"), "/a/b/d");
	CHECK_STR(path_normal(&a, "/../.."), "/");
	CHECK_STR(path_normal(&a, "/"), "/");
	CHECK_STR(path_normal(&a, "/..foo/..."), "/..foo/...");
	CHECK(path_normal(&a, "relative") == NULL);
	CHECK_STR(path_join(&a, "/ws", "../x"), "/x");
	CHECK_STR(path_join(&a, "/ws", "/abs"), "/abs");
	arena_done(&a);
}

TEST(a_directory_stands_before_what_lies_in_it) {
	CHECK(path_order("/a", "/a/b") < 0);
	CHECK(path_order("/a/b", "/a-b") < 0);
	CHECK(path_order("/a", "/a-b") < 0);
	CHECK(path_order("/a/b", "/a/\xff") < 0);
	CHECK_INT(path_order("/a/b", "/a/b"), 0);
}

TEST(the_parent_of_a_path) {
	char out[PATH_MAX] = "", deep[PATH_MAX + 8];
	CHECK(path_parent("/a/b/c", out));
	CHECK_STR(out, "/a/b");
	CHECK(!path_parent("/a", out));
	CHECK(!path_parent("/", out));
	memset(deep, 'x', sizeof deep);
	deep[0] = deep[PATH_MAX] = '/';
	deep[sizeof deep - 1] = '\0';
	CHECK(!path_parent(deep, out));
	CHECK_STR(out, "/a/b");
}

TEST(depth_counts_components) {
	CHECK_INT(path_depth("/"), 0);
	CHECK_INT(path_depth("/a"), 1);
	CHECK_INT(path_depth("/a/b"), 2);
}

TEST(any_bytes_become_valid_json) {
	struct buf b;
	struct emit j;
	buf_init(&b);
	emit_init(&j, &b, false);
	emit_object(&j, NULL);
	emit_bytes(&j, "k", "a\"\\\n\x01\xff\xc3\xa9\xed\xa0\x80\x00z", 13);
	emit_array(&j, "l");
	emit_int(&j, NULL, -5);
	emit_bool(&j, NULL, true);
	emit_null(&j, NULL);
	emit_end_array(&j);
	emit_object(&j, "o");
	emit_end_object(&j);
	emit_end_object(&j);
	CHECK_STR(b.data,
		  "{\"k\":"
		  "\"a\\\"\\\\\\n\\u0001\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
		  "\\u0000z\",\"l\":[-5,true,null],\"o\":{}}");
	buf_done(&b);
}

TEST(a_list_ends_at_its_length_or_at_its_end) {
	static const char *const list[] = {"a", "b", NULL};
	struct buf b;
	struct emit j;
	buf_init(&b);
	emit_init(&j, &b, false);
	emit_object(&j, NULL);
	emit_strings(&j, "none", list, 0);
	emit_strings(&j, "one", list, 1);
	emit_strings(&j, "all", list, SIZE_MAX);
	emit_end_object(&j);
	CHECK_STR(b.data, "{\"none\":[],\"one\":[\"a\"],\"all\":[\"a\",\"b\"]}");
	buf_done(&b);
}

TEST(an_error_names_layer_object_and_errno) {
	struct err e = {0};
	errno = EACCES;
	CHECK_INT(err_sys_at(&e, "mounts", "cannot open", "/x"), -1);
	CHECK_INT(e.sys, EACCES);
	CHECK_STR(e.where, "mounts");
	CHECK_STR(e.what, "cannot open /x");
	CHECK_INT(e.kind, ERR_SETUP);
}

TEST(a_long_error_is_cut_not_overrun) {
	struct err e = {0};
	char big[2000];
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	err_sys_at(&e, big, big, big);
	CHECK_INT(strlen(e.what), sizeof e.what - 1);
	CHECK_INT(strlen(e.where), sizeof e.where - 1);
}

TEST(an_arena_grows_arrays_and_keeps_their_items) {
	struct arena a;
	arena_init(&a);
	int *items = NULL;
	size_t cap = 0;
	for (size_t i = 0; i < 1000; i++) {
		REQUIRE(arena_grow(&a, &items, i, &cap, sizeof *items) == 0);
		items[i] = (int)i;
	}
	for (size_t i = 0; i < 1000; i++) {
		CHECK(items[i] == (int)i);
	}
	arena_done(&a);
}

TESTS_MAIN
