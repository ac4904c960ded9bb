/* SPDX-License-Identifier: Apache-2.0 */
/* The request of `corral session exec` to a supervisor.
 *
 * The arguments, the variables and the directory of a request that is read lie one after the other
 * in the message, up to its end, and are ASCII. */
#include "client/direct.h"

#include "fuzz.h"

/* The offset after a text that has to be at this one. */
static size_t pass_text(const char *bytes, size_t size, size_t at, const char *text) {
	HOLDS(at < size && text == bytes + at);
	for (; at < size && bytes[at] != '\0'; at++) {
		HOLDS((unsigned char)bytes[at] < 0x80);
	}
	HOLDS(at < size);
	return at + 1;
}

static void check_request(const uint8_t *data, size_t size) {
	struct direct_command c;
	const char **argv = NULL;
	char *bytes = malloc(size + 1);
	size_t at = sizeof(struct direct_request);

	HOLDS(bytes != NULL);
	memcpy(bytes, data, size);
	if (direct_request_read(bytes, size, &c, &argv) == 0) {
		HOLDS(c.argv == argv && argv[0] != NULL && c.timeout_ms >= 0);
		for (size_t i = 0; argv[i] != NULL; i++) {
			at = pass_text(bytes, size, at, argv[i]);
		}
		for (size_t i = 0; c.env != NULL && c.env[i] != NULL; i++) {
			at = pass_text(bytes, size, at, c.env[i]);
		}
		at = c.directory == NULL ? at : pass_text(bytes, size, at, c.directory);
		HOLDS(at == size);
		free(argv);
	}
	free(bytes);
}

/* The texts of an answer. */
static void check_answer(const uint8_t *data, size_t size) {
	char *bytes = malloc(size + 1);
	size_t at = 0, before = 0;

	HOLDS(bytes != NULL);
	memcpy(bytes, data, size);
	for (const char *text; (text = direct_text(bytes, size, &at)) != NULL; before = at) {
		HOLDS(text == bytes + before && at <= size && bytes[at - 1] == '\0');
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	check_request(data, size);
	check_answer(data, size);
	return 0;
}
