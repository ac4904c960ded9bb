/* SPDX-License-Identifier: Apache-2.0 */
/* client/direct_message.c: requests that are as described, and every prefix and change of one. */
#include "client/direct.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static char request[DIRECT_BYTES];
static const char *const words[] = {"printf", "", "a b", NULL};
static const char *const variables[] = {"A=b c", "EMPTY=", NULL};

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
		{.argv = words},
		{.argv = words, .directory = "/work", .timeout_ms = 1500},
		{.argv = words, .env = variables},
		{.argv = words, .env = variables, .directory = "/work"}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct direct_command got;
		const char **argv = NULL;
		char *copy = NULL;
		size_t sent = direct_request_write(request, &rows[i]);

		CHECK(sent > 0);
		CHECK(read_copy(request, sent, &got, &copy, &argv) == 0);
		for (size_t n = 0; n < 3; n++) {
			CHECK_STR(got.argv[n], words[n]);
		}
		CHECK(got.argv[3] == NULL && got.timeout_ms == rows[i].timeout_ms);
		CHECK((got.env == NULL) == (rows[i].env == NULL));
		for (size_t n = 0; got.env != NULL && n < 2; n++) {
			CHECK_STR(got.env[n], variables[n]);
		}
		CHECK(got.env == NULL || got.env[2] == NULL);
		CHECK((got.directory == NULL) == (rows[i].directory == NULL));
		free(argv);
		free(copy);
		/* No part of it is a request, and nothing may follow. */
		for (size_t len = 0; len < sent; len++) {
			CHECK(read_copy(request, len, &got, &copy, &argv) != 0);
		}
		memcpy(request + sent, "x", 2);
		CHECK(read_copy(request, sent + 2, &got, &copy, &argv) != 0);
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
		{.version = DIRECT_VERSION, .argc = 1, .nenv = 1},
		{.version = DIRECT_VERSION, .argc = 1, .nenv = UINT32_MAX},
		{.version = DIRECT_VERSION, .argc = 1, .nenv = 1, .has_directory = 1},
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
	const struct direct_command rows[] = {
		{.argv = words, .directory = "/\xc3\xbc"},
		{.argv = (const char *[]){"\xff", NULL}},
	};

	memset(text, 'a', sizeof text - 1);
	CHECK(direct_request_write(request, &(struct direct_command){.argv = argv}) == 0);
	/* The longest one, and one byte more. */
	text[DIRECT_BYTES - sizeof(struct direct_request) - sizeof "x" - 1] = '\0';
	CHECK(direct_request_write(request, &(struct direct_command){.argv = argv}) ==
	      DIRECT_BYTES);
	text[DIRECT_BYTES - sizeof(struct direct_request) - sizeof "x" - 1] = 'a';
	text[DIRECT_BYTES - sizeof(struct direct_request) - sizeof "x"] = '\0';
	CHECK(direct_request_write(request, &(struct direct_command){.argv = argv}) == 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		CHECK(direct_request_write(request, &rows[i]) == 0);
	}
}

TEST(a_request_that_is_not_ascii_is_refused) {
	const struct direct_command sent = {.argv = (const char *[]){"cafe", NULL}};
	struct direct_command got;
	const char **argv = NULL;
	char *copy = NULL;
	size_t len = direct_request_write(request, &sent);

	CHECK(read_copy(request, len, &got, &copy, &argv) == 0);
	free(argv);
	free(copy);
	request[len - 2] = '\xe9';
	CHECK(read_copy(request, len, &got, &copy, &argv) != 0);
}

TESTS_MAIN
