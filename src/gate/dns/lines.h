/* Lines and words of the host's small text files. */
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

/* The next line of *text, which is moved behind it, up to the first of the bytes that begin a
 * comment.  False at the end. */
static inline bool lines_next(const char **text, const char *comments, struct line *ret) {
	if (**text == '\0') {
		return false;
	}
	*ret = (struct line){*text, 0};
	size_t len = strcspn(*text, "\n");
	/* Within the line alone: a file without a comment would be searched to its end each time.
	 */
	while (ret->left < len && strchr(comments, ret->at[ret->left]) == NULL) {
		ret->left++;
	}
	*text += len + ((*text)[len] == '\n');
	return true;
}

static inline bool is_blank(char c) {
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of a line, which is moved behind it. */
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
