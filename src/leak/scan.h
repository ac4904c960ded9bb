/* SPDX-License-Identifier: Apache-2.0 */
/* The search in one window of a stream, in all views. */
#ifndef CORRAL_LEAK_SCAN_H
#define CORRAL_LEAK_SCAN_H

#include "leak/leak.h"
#include "leak/view.h"

/* A value with the window that the prefilter looks for. */
struct leak_exact {
	const char *name;          /* in `copy` */
	const unsigned char *data; /* in `copy`, or the caller's memory */
	unsigned char *copy;
	size_t copied; /* bytes of the value in `copy`; 0: the value is borrowed */
	size_t len;
	uint32_t folded;
	size_t at; /* of the window in the value */
};

/* Which instructions the prefilter uses. */
enum leak_simd { LEAK_PORTABLE, LEAK_AVX2, LEAK_AVX512 };

struct leak_scanner {
	const struct leak_tables *tables; /* leak_tables, or `own` with windows of values */
	struct leak_tables *own;
	uint64_t kinds[LEAK_KINDS_WORDS];
	struct leak_exact *exact;
	size_t nexact;
	unsigned char key[LEAK_KEY];
	char (*allow)[LEAK_FINGERPRINT];
	size_t nallow;
	size_t reach; /* of kinds and values */
	bool views;
	bool breaks;     /* a value contains white space that JSON escapes */
	unsigned groups; /* of struct leak_finder */
	enum leak_simd simd;
};

/* A match; indices are those of the window. */
struct leak_candidate {
	size_t start, end, secret, secret_end;
	size_t kind; /* from LEAK_KINDS_MAX on: a value */
	enum leak_view outer, inner;
	bool open, runs;
	char fingerprint[LEAK_FINGERPRINT];
};

#define LEAK_DEPTH 2

struct leak_search {
	const struct leak_scanner *scanner;
	size_t low;  /* matches that begin before are known */
	size_t live; /* the first byte that may begin a match that is not known yet */
	struct leak_candidate *found;
	size_t nfound, cap;
	bool failed;                        /* no memory */
	unsigned char *decoded[LEAK_DEPTH]; /* buffers as long as the window */
};

/* Finds every match that begins at `low` or later, and sets `live`. */
void leak_search_run(struct leak_search *s, const struct leak_text *window);

/* Keeps a match in memory of the stream; without memory the search has failed. */
void leak_search_add(struct leak_search *s, const struct leak_candidate *c);

/* ---- the prefilter ---- */

/* Positions base + at[0], ... of the text; the function may change the array. */
typedef void leak_hits_fn(void *arg, size_t base, uint16_t *at, size_t n);

struct leak_hits {
	leak_hits_fn *fn;
	void *arg;
};

/* Calls fn with the positions of the text, from `from` on, where four bytes are those of a window.
 * Few of them are not. */
void leak_prefilter(const struct leak_scanner *scanner, const struct leak_text *text, size_t from,
		    struct leak_hits to);

/* Adds a window to the tables of a scanner. */
void leak_prefilter_add(struct leak_tables *tables, const unsigned char window[LEAK_WINDOW]);

/* The best for this processor. */
enum leak_simd leak_prefilter_choose(void);

#endif
