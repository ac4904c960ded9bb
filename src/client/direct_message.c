/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the short way; direct.h has their format.
 *
 * Should:   read any bytes.
 * Must not: accept a request with a text that is missing, cut, or too many.
 * Fails:    closed: a request that is not exactly as described is none. */
#include "client/direct.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Appends a text with its NUL; false: there is no room for it, or it is not ASCII. */
static bool write_ascii(char *ret, size_t *at, const char *text) {
	for (;; text++) {
		if ((unsigned char)*text >= 0x80 || *at >= DIRECT_BYTES) {
			return false;
		}
		ret[(*at)++] = *text;
		if (*text == '\0') {
			return true;
		}
	}
}

size_t direct_request_write(char ret[DIRECT_BYTES], const struct direct_command *c) {
	struct direct_request q = {.version = DIRECT_VERSION,
				   .has_directory = c->directory != NULL,
				   .timeout_ms = c->timeout_ms};
	size_t at = sizeof q;

	for (; c->argv[q.argc] != NULL; q.argc++) {
		if (!write_ascii(ret, &at, c->argv[q.argc])) {
			return 0;
		}
	}
	for (; c->env != NULL && c->env[q.nenv] != NULL; q.nenv++) {
		if (!write_ascii(ret, &at, c->env[q.nenv])) {
			return 0;
		}
	}
	if (c->directory != NULL && !write_ascii(ret, &at, c->directory)) {
		return 0;
	}
	memcpy(ret, &q, sizeof q);
	return at;
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

static bool is_ascii(const char *bytes, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)bytes[i] >= 0x80) {
			return false;
		}
	}
	return true;
}

/* Reads so many texts, and a NULL after them; false: some are missing. */
static bool read_list(const char *bytes, size_t len, size_t *at, const char **ret, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		ret[i] = direct_text(bytes, len, at);
		if (ret[i] == NULL) {
			return false;
		}
	}
	ret[n] = NULL;
	return true;
}

static bool head_is_good(const struct direct_request *q, size_t texts) {
	/* A text has at least its NUL. */
	return q->version == DIRECT_VERSION && q->has_directory <= 1 && q->argc > 0 &&
	       q->argc <= texts && q->nenv <= texts - q->argc && q->timeout_ms >= 0 &&
	       q->timeout_ms <= DIRECT_TIMEOUT_MS;
}

int direct_request_read(char *bytes, size_t len, struct direct_command *ret,
			const char ***ret_list) {
	struct direct_request q;
	size_t at = sizeof q;

	if (len < sizeof q) {
		return -1;
	}
	memcpy(&q, bytes, sizeof q);
	if (!head_is_good(&q, len - sizeof q)) {
		return -1;
	}
	const char **list = calloc((size_t)q.argc + q.nenv + 2, sizeof *list);
	const char **env = list == NULL ? NULL : list + q.argc + 1;
	bool good = list != NULL && read_list(bytes, len, &at, list, q.argc) &&
		    read_list(bytes, len, &at, env, q.nenv);
	const char *directory = good && q.has_directory ? direct_text(bytes, len, &at) : NULL;
	if (!good || at != len || (directory == NULL && q.has_directory) ||
	    !is_ascii(bytes + sizeof q, len - sizeof q)) {
		free(list);
		return -1;
	}
	*ret = (struct direct_command){.argv = list,
				       .env = q.nenv == 0 ? NULL : env,
				       .directory = directory,
				       .timeout_ms = q.timeout_ms};
	*ret_list = list;
	return 0;
}
