/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns as base/glob sees them, for globs.py to compare with its own idea of them.
 *
 * Should:   answer a line "FOLD PATTERN PATH..." with "error", or with one 0 or 1 for
 *           each path; all words but the first in hexadecimal, "-" for nothing.
 * Must not: know what a pattern means.
 * Fails:    with exit 2 at a line that is none. */
#include "base/arena.h"
#include "base/err.h"
#include "base/glob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *unhex(const char *word) {
	size_t n = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;
	char *text = calloc(n + 1, 1);

	for (size_t i = 0; text != NULL && i < n; i++) {
		const char digits[] = {word[2 * i], word[2 * i + 1], '\0'};
		text[i] = (char)strtoul(digits, NULL, 16);
	}
	if (text == NULL) {
		exit(2);
	}
	return text;
}

static void answer(const struct glob *g, char *rest) {
	for (char *word; (word = strsep(&rest, " ")) != NULL;) {
		char *path = unhex(word);
		putchar(glob_matched(g, glob_walk(g, path)) ? '1' : '0');
		free(path);
	}
	putchar('\n');
}

int main(void) {
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		struct arena a;
		struct err e = {0};
		struct glob g;
		char *rest = line;

		line[strcspn(line, "\n")] = '\0';
		const char *fold = strsep(&rest, " ");
		const char *word = strsep(&rest, " ");
		if (word == NULL || rest == NULL) {
			return 2;
		}
		char *pattern = unhex(word);
		arena_init(&a);
		if (glob_parse(&a, pattern, fold[0] == '1', &g, &e) != 0) {
			puts("error");
		} else {
			answer(&g, rest);
		}
		fflush(stdout);
		arena_done(&a);
		free(pattern);
	}
	free(line);
	return 0;
}
