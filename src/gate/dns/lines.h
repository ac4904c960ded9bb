/* SPDX-License-Identifier: Apache-2.0 */
/* Splits /etc/hosts and resolv.conf into lines and words. */
#ifndef CORRAL_GATE_DNS_LINES_H
#define CORRAL_GATE_DNS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct line {
	const char *at;
	size_t left;
};

struct word {
	const char *at;
	size_t len;
};

/* Returns the next line of *text without its comment and advances *text.  comments: the bytes that
 * begin one.  False at the end. */
static inline bool lines_next(const char **text, const char *comments, struct line *ret) {
	if (**text == '\0') {
		return false;
	}
	*ret = (struct line){*text, 0};
	size_t len = strcspn(*text, "\n");
	/* Not strcspn(): it would search a file without comments to its end for each line. */
	while (ret->left < len && strchr(comments, ret->at[ret->left]) == NULL) {
		ret->left++;
	}
	*text += len + ((*text)[len] == '\n');
	return true;
}

static inline bool is_blank(char c) {
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Returns the next word and advances the line. */
static inline bool line_word(struct line *line, struct word *ret) {
	while (line->left > 0 && is_blank(*line->at)) {
		line->at++, line->left--;
	}
	*ret = (struct word){line->at, 0};
	while (line->left > 0 && !is_blank(*line->at)) {
		line->at++, line->left--, ret->len++;
	}
	return ret->len > 0;
}

#endif
