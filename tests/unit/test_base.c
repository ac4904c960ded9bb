/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/emit.h"
#include "base/path.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "test.h"

#include <errno.h>
#include <time.h>

TEST(a_sibling_with_the_same_prefix_is_not_within) {
	CHECK(path_within("/ws", "/ws"));
	CHECK(path_within("/ws/a", "/ws"));
	CHECK(!path_within("/ws-evil", "/ws"));
	CHECK(!path_within("/w", "/ws"));
	CHECK(path_within("/anything", "/"));
}

TEST(a_path_is_moved_to_another_directory) {
	static const struct {
		const char *path, *dir, *to, *moved;
	} rows[] = {
		{"/ws/a/b", "/ws", "/home/u/p", "/home/u/p/a/b"},
		{"/ws", "/ws", "/p", "/p"},
		{"/ws", "/ws", "/", "/"},
		{"/ws/a", "/ws", "/", "/a"},
		{"/a/b", "/", "/p", "/p/a/b"},
		{"/", "/", "/p", "/p"},
		{"/", "/", "/", "/"},
		{"/a", "/", "/", "/a"},
	};
	char out[64];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK(path_rebase(rows[i].path, rows[i].dir, rows[i].to, out, sizeof out));
		CHECK_STR(out, rows[i].moved);
		size_t exact = strlen(rows[i].moved) + 1;
		CHECK(path_rebase(rows[i].path, rows[i].dir, rows[i].to, out, exact));
		CHECK(!path_rebase(rows[i].path, rows[i].dir, rows[i].to, out, exact - 1));
	}
	CHECK_STR(path_rest("/ws/a", "/ws"), "/a");
	CHECK_STR(path_rest("/ws", "/ws"), "");
	CHECK_STR(path_rest("/", "/"), "");
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

/* Each byte and each control that is written otherwise, to the letter. */
TEST(each_control_character_has_its_escape_in_json) {
	static const struct {
		const char *bytes, *json;
	} rows[] = {
		{"\b\f\n\r\t", "\\b\\f\\n\\r\\t"},
		{"\x1b[2J\x7f", "\\u001b[2J\\u007f"},
		{"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0"},
		{"\x80\x9b", "\xEF\xBF\xBD\xEF\xBF\xBD"},
		{"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c", "\\u202e\\u2066\\u200f\\u061c"},
		{"\xe2\x80\xa8\xe2\x80\x94", "\\u2028\xe2\x80\x94"},
		{"\xf3\xa0\x81\x81", "\\udb40\\udc41"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char want[64];
		struct buf b;
		struct emit j;
		buf_init(&b);
		emit_init(&j, &b, false);
		emit_string(&j, NULL, rows[i].bytes);
		(void)snprintf(want, sizeof want, "\"%s\"", rows[i].json);
		CHECK_STR(b.data, want);
		buf_done(&b);
	}
	for (unsigned char c = 1; c < 0x20; c++) {
		char bytes[2] = {(char)c, '\0'}, want[16];
		struct buf b;
		struct emit j;
		buf_init(&b);
		emit_init(&j, &b, false);
		emit_string(&j, NULL, bytes);
		(void)snprintf(want, sizeof want, "\"\\u%04x\"", c);
		CHECK(strchr("\b\f\n\r\t", c) != NULL || strcmp(b.data, want) == 0);
		buf_done(&b);
	}
}

/* A command that prints nothing else must not keep its caller waiting: this took 45 s. */
TEST(megabytes_of_control_bytes_are_written_at_once) {
	size_t len = (size_t)16 << 20;
	auto_free char *bytes = malloc(len);
	struct timespec begin, end;
	struct buf b;
	struct emit j;

	REQUIRE(bytes != NULL);
	memset(bytes, 1, len);
	buf_init(&b);
	emit_init(&j, &b, false);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	emit_bytes(&j, NULL, bytes, len);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	double took =
		(double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("# %.3f s\n", took);
	CHECK(took < 15);
	CHECK_INT(b.len, 6 * len + 2);
	buf_done(&b);
}

static const char *hidden(const char *text) {
	static char space[64];
	(void)snprintf(space, sizeof space, "%s", text);
	str_hide_controls(space, true);
	return space;
}

TEST(no_control_character_reaches_a_terminal) {
	CHECK_STR(hidden("a\x1b\x7f\n\t"), "a??\n?");
	CHECK_STR(hidden("\xc2\x9b"
			 "2J"),
		  "??2J");
	CHECK_STR(hidden("\x9b"
			 "2J"),
		  "?2J");                                  /* CSI in one byte */
	CHECK_STR(hidden("\xe2\x9b\x84"), "\xe2\x9b\x84"); /* it is also part of a snowman */
	CHECK_STR(hidden("\xe2\x9b"), "\xe2?");            /* and not of one that was cut */
	CHECK_STR(hidden("\xc0\x9b"), "\xc0?");            /* overlong */
	CHECK_STR(hidden("x\xe2\x80\xaey\xe2\x81\xa9"), "x???y???");
	CHECK_STR(hidden("\xc3\xa9\xf0\x9f\x98\x80"), "\xc3\xa9\xf0\x9f\x98\x80");
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

TEST(an_address_of_a_unix_socket_has_the_length_of_its_name) {
	struct sockaddr_un a;
	char name[sizeof a.sun_path];

	CHECK_INT(unix_address_set(&a, "/x", false), offsetof(struct sockaddr_un, sun_path) + 3);
	CHECK_STR(a.sun_path, "/x");
	CHECK_INT(unix_address_set(&a, "x", true), offsetof(struct sockaddr_un, sun_path) + 2);
	CHECK(a.sun_path[0] == '\0' && a.sun_path[1] == 'x');
	memset(name, 'x', sizeof name);
	name[sizeof name - 2] = '\0';
	CHECK_INT(unix_address_set(&a, name, true), sizeof a - 1);
	name[sizeof name - 2] = 'x';
	name[sizeof name - 1] = '\0';
	errno = 0;
	CHECK(unix_address_set(&a, name, true) == 0 && errno == ENAMETOOLONG);
}

TESTS_MAIN
