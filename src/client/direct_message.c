/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the short way; direct.h has their format.
 *
 * Should:   read any bytes.
 * Must not: accept a request with a text that is missing, cut, or too many.
 * Fails:    closed: a request that is not exactly as described is none. */
#include "client/direct.h"

#include <stdlib.h>
#include <string.h>

static bool add_ascii(const char *text, size_t *total) {
	size_t len = 0;

	for (; text[len] != '\0'; len++) {
		if ((unsigned char)text[len] >= 0x80) {
			return false;
		}
	}
	*total += len + 1;
	return *total <= DIRECT_BYTES;
}

bool direct_fits(const struct direct_command *c) {
	size_t total = sizeof(struct direct_request);

	for (const char *const *word = c->argv; *word != NULL; word++) {
		if (!add_ascii(*word, &total)) {
			return false;
		}
	}
	return c->directory == NULL || add_ascii(c->directory, &total);
}

void direct_request_add(struct buf *out, const struct direct_command *c) {
	struct direct_request q = {.version = DIRECT_VERSION,
				   .has_directory = c->directory != NULL,
				   .timeout_ms = c->timeout_ms};

	while (c->argv[q.argc] != NULL) {
		q.argc++;
	}
	buf_add(out, &q, sizeof q);
	for (uint32_t i = 0; i < q.argc; i++) {
		buf_add(out, c->argv[i], strlen(c->argv[i]) + 1);
	}
	if (c->directory != NULL) {
		buf_add(out, c->directory, strlen(c->directory) + 1);
	}
}

const char *direct_text(const char *bytes, size_t len, size_t *at) {
	const char *text = bytes + *at;
	const char *end = *at >= len ? NULL : memchr(text, '\0', len - *at);

	if (end == NULL) {
		return NULL;
	}
	*at = (size_t)(end - bytes) + 1;
	return text;
}

int direct_request_read(char *bytes, size_t len, struct direct_command *ret,
			const char ***ret_argv) {
	struct direct_request q;
	size_t at = sizeof q;

	if (len < sizeof q) {
		return -1;
	}
	memcpy(&q, bytes, sizeof q);
	/* A text has at least its NUL. */
	if (q.version != DIRECT_VERSION || q.has_directory > 1 || q.unused != 0 || q.argc == 0 ||
	    q.argc > len - sizeof q || q.timeout_ms < 0 || q.timeout_ms > DIRECT_TIMEOUT_MS) {
		return -1;
	}
	const char **argv = calloc((size_t)q.argc + 1, sizeof *argv);
	bool good = argv != NULL;
	for (uint32_t i = 0; good && i < q.argc; i++) {
		argv[i] = direct_text(bytes, len, &at);
		good = argv[i] != NULL;
	}
	const char *directory = good && q.has_directory ? direct_text(bytes, len, &at) : NULL;
	const struct direct_command c = {
		.argv = argv, .directory = directory, .timeout_ms = q.timeout_ms};
	if (!good || at != len || (directory == NULL && q.has_directory) || !direct_fits(&c)) {
		free(argv);
		return -1;
	}
	*ret = c;
	*ret_argv = argv;
	return 0;
}
