/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the option or verb nearest to a mistyped one, by Levenshtein distance.
 *
 * Should:   find the candidate for one or two wrong letters.
 * Must not: suggest an unrelated word.
 * Fails:    with no suggestion (best is NULL). */
#include "cli/cli.h"

#include <string.h>

/* No option or verb is longer. */
#define WORD_MAX 31

/* The largest distance that still counts as a typing error; 1 for words shorter than
 * SHORT_WORD. */
#define DISTANCE_MAX 2
#define SHORT_WORD 4

static size_t min3(size_t a, size_t b, size_t c) {
	size_t ab = a < b ? a : b;
	return ab < c ? ab : c;
}

static size_t distance(const char *a, const char *b) {
	size_t la = strlen(a), lb = strlen(b);
	size_t row[WORD_MAX + 1];

	if (la > WORD_MAX || lb > WORD_MAX) {
		return WORD_MAX;
	}
	for (size_t k = 0; k <= lb; k++) {
		row[k] = k;
	}
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t k = 1; k <= lb; k++) {
			size_t above = row[k];
			row[k] = min3(above + 1, row[k - 1] + 1, diagonal + (a[i - 1] != b[k - 1]));
			diagonal = above;
		}
	}
	return row[lb];
}

void nearest_init(struct nearest *n, const char *word) {
	size_t most = strlen(word) < SHORT_WORD ? 1 : DISTANCE_MAX;
	*n = (struct nearest){.word = word, .distance = most + 1};
}

void nearest_offer(struct nearest *n, const char *candidate) {
	size_t d = distance(n->word, candidate);
	/* A candidate with every letter replaced is no match: "-x" is not "-v". */
	if (d < n->distance && d < strlen(candidate)) {
		n->best = candidate;
		n->distance = d;
	}
}
