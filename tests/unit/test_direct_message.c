/* SPDX-License-Identifier: Apache-2.0 */
/* client/direct_message.c: requests that are as described, and every prefix and change of one. */
#include "client/direct.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"printf", "", "a b", NULL};

/* A copy with no byte to spare, so that sanitizers see a read beyond it. */
static int read_copy(const char *bytes, size_t len, struct direct_command *ret, char **copy,
		     const char ***argv) {
	*copy = malloc(len == 0 ? 1 : len);
	CHECK(*copy != NULL);
	memcpy(*copy, bytes, len);
	int rc = direct_request_read(*copy, len, ret, argv);
	if (rc != 0) {
		free(*copy);
		*copy = NULL;
	}
	return rc;
}

TEST(a_request_is_read_as_it_was_written) {
	const struct direct_command rows[] = {
		{.argv = words}, {.argv = words, .directory = "/work", .timeout_ms = 1500}};

	for (size_t i = 0; i < 2; i++) {
		struct direct_command got;
		const char **argv = NULL;
		char *copy = NULL;
		struct buf out;

		buf_init(&out);
		CHECK(direct_fits(&rows[i]));
		direct_request_add(&out, &rows[i]);
		CHECK(read_copy(out.data, out.len, &got, &copy, &argv) == 0);
		for (size_t n = 0; n < 3; n++) {
			CHECK_STR(got.argv[n], words[n]);
		}
		CHECK(got.argv[3] == NULL && got.timeout_ms == rows[i].timeout_ms);
		CHECK((got.directory == NULL) == (rows[i].directory == NULL));
		free(argv);
		free(copy);
		/* No part of it is a request, and nothing may follow. */
		for (size_t len = 0; len < out.len; len++) {
			CHECK(read_copy(out.data, len, &got, &copy, &argv) != 0);
		}
		buf_add(&out, "x", 2);
		CHECK(read_copy(out.data, out.len, &got, &copy, &argv) != 0);
		buf_done(&out);
	}
}

TEST(a_head_with_another_value_is_refused) {
	const struct direct_request rows[] = {
		{.version = DIRECT_VERSION + 1, .argc = 1},
		{.version = DIRECT_VERSION},
		{.version = DIRECT_VERSION, .argc = 2},
		{.version = DIRECT_VERSION, .argc = UINT32_MAX},
		{.version = DIRECT_VERSION, .argc = 1, .has_directory = 1},
		{.version = DIRECT_VERSION, .argc = 1, .has_directory = 2},
		{.version = DIRECT_VERSION, .argc = 1, .unused = 1},
		{.version = DIRECT_VERSION, .argc = 1, .timeout_ms = -1},
		{.version = DIRECT_VERSION, .argc = 1, .timeout_ms = DIRECT_TIMEOUT_MS + 1},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char bytes[sizeof rows[0] + 5] = "";
		struct direct_command got;
		const char **argv = NULL;
		char *copy = NULL;

		memcpy(bytes, &rows[i], sizeof rows[i]);
		memcpy(bytes + sizeof rows[i], "true", 5);
		CHECK(read_copy(bytes, sizeof bytes, &got, &copy, &argv) != 0);
	}
}

TEST(long_and_other_texts_are_left_to_the_daemon) {
	static char text[DIRECT_BYTES];
	const char *argv[] = {"x", text, NULL};

	memset(text, 'a', sizeof text - 1);
	CHECK(!direct_fits(&(struct direct_command){.argv = argv}));
	text[sizeof text - 100] = '\0';
	CHECK(direct_fits(&(struct direct_command){.argv = argv}));
	CHECK(!direct_fits(&(struct direct_command){.argv = words, .directory = "/\xc3\xbc"}));
	CHECK(!direct_fits(&(struct direct_command){.argv = (const char *[]){"\xff", NULL}}));
}

TEST(a_request_that_is_not_ascii_is_refused) {
	const struct direct_command sent = {.argv = (const char *[]){"caf\xc3\xa9", NULL}};
	struct direct_command got;
	const char **argv = NULL;
	char *copy = NULL;
	struct buf out;

	buf_init(&out);
	direct_request_add(&out, &sent);
	CHECK(read_copy(out.data, out.len, &got, &copy, &argv) != 0);
	buf_done(&out);
}

TESTS_MAIN
