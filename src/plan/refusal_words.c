/* SPDX-License-Identifier: Apache-2.0 */
/* Writes paths for the remedies of plan/refusal.c.
 *
 * Should:   write a path so that a shell and the policy read exactly that path.
 * Must not: read the host.
 * Fails:    never; a path that is too long is cut, and the option of its remedy left out. */
#include "plan/refusal_words.h"

#include "base/auto.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void refusal_put_written(struct buf *out, const char *mark, const char *path) {
	char escaped[2 * PATH_MAX];
	size_t len = 0;

	for (; *path != '\0' && len + 2 < sizeof escaped; path++) {
		if (strchr("*?[\\", *path) != NULL) {
			escaped[len++] = '\\';
		}
		escaped[len++] = *path;
	}
	escaped[len] = '\0';
	buf_shell_word(out, mark, escaped);
}

void refusal_put_modules(struct buf *out, const char *dir) {
	static const char *const files[] = {".gitmodules", ".git/config"};
	int len = dir == NULL ? 0 : (int)(strlen(dir) - strlen(GIT_MODULES));
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		int n = snprintf(path, sizeof path, "%.*s/%s", len, len == 0 ? "" : dir, files[i]);
		bool whole = len > 0 && n > 0 && (size_t)n < sizeof path;
		buf_puts(out, i == 0 ? "--protect " : " --protect ");
		refusal_put_written(out, "!", whole ? path : files[i]);
	}
}
