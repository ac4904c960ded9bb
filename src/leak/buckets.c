/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the windows of all kinds into the buckets of the prefilter's tables, while the project is
 * built.
 *
 * A table maps a byte at one position of a window to one bit for each bucket.  Four bytes are a
 * candidate when a bucket has all four bits.  Two kinds of tables have the same windows: halves of
 * a byte (AVX2), and its low six bits (AVX-512).  Each accepts more bytes than the windows have;
 * windows that are alike share a bucket, so that few other texts are candidates.
 *
 * Should:   choose for each window the bucket, and of its choices the window, with which the
 *           estimated number of candidates is least.
 * Must not: be linked into the library.
 * Fails:    never: a bad choice costs time at run time. */
#include "leak/pattern.h"

#include <stdlib.h>

#define BUCKETS ((size_t)8 * LEAK_GROUPS)
#define ROUNDS 2U
#define HIT_COST 10.0 /* of a window, against a candidate that is none */

/* The bytes that a table accepts for a set. */
typedef struct leak_set accepted_fn(const struct leak_set *set);

struct bucket {
	struct leak_set sets[LEAK_WINDOW]; /* accepted bytes */
	double cost;
};

struct filling {
	accepted_fn *accepted;
	const struct choices *choices;
	size_t n;
	size_t *choice; /* the choice that was taken */
	size_t *bucket_of;
	struct bucket buckets[BUCKETS];
};

static struct leak_set accepted_halves(const struct leak_set *set) {
	struct leak_set made = {{0}};
	unsigned lo = 0, hi = 0;

	for (unsigned c = 0; c < 256; c++) {
		if (leak_in(set, (unsigned char)c)) {
			lo |= 1U << (c & 15);
			hi |= 1U << (c >> 4);
		}
	}
	for (unsigned c = 0; c < 256; c++) {
		made.bits[c >> 6] |= (uint64_t)(lo >> (c & 15) & hi >> (c >> 4) & 1) << (c & 63);
	}
	return made;
}

static struct leak_set accepted_low6(const struct leak_set *set) {
	uint64_t any = set->bits[0] | set->bits[1] | set->bits[2] | set->bits[3];

	return (struct leak_set){{any, any, any, any}};
}

static struct bucket bucket_with(const struct filling *f, size_t b, const struct window *w) {
	struct bucket made = f->buckets[b];

	for (size_t k = 0; k < LEAK_WINDOW; k++) {
		for (size_t i = 0; i < 4; i++) {
			made.sets[k].bits[i] |= w->sets[k].bits[i];
		}
		made.sets[k] = f->accepted(&made.sets[k]);
	}
	made.cost = frequency_of_window(made.sets);
	return made;
}

/* The bucket and the choice with which the candidates grow least. */
static void place(struct filling *f, size_t i) {
	double least = 1e9;
	struct bucket best = {.cost = 0};

	for (size_t b = 0; b < BUCKETS; b++) {
		for (size_t c = 0; c < f->choices[i].n; c++) {
			const struct window *w = &f->choices[i].windows[c];
			if (HIT_COST * w->cost >= least) {
				break; /* the windows are sorted by cost */
			}
			struct bucket made = bucket_with(f, b, w);
			double grows = made.cost - f->buckets[b].cost + HIT_COST * w->cost;
			if (grows < least) {
				least = grows;
				best = made;
				f->bucket_of[i] = b;
				f->choice[i] = c;
			}
		}
	}
	f->buckets[f->bucket_of[i]] = best;
}

static void remove_from_bucket(struct filling *f, size_t i) {
	size_t b = f->bucket_of[i];

	f->buckets[b] = (struct bucket){.cost = 0};
	f->bucket_of[i] = BUCKETS;
	for (size_t k = 0; k < f->n; k++) {
		if (f->bucket_of[k] == b) {
			f->buckets[b] = bucket_with(f, b, &f->choices[k].windows[f->choice[k]]);
		}
	}
}

static const struct choices *sorted; /* for by_cost() */

static int by_cost(const void *a, const void *b) {
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	double x = sorted[i].windows[0].cost, y = sorted[k].windows[0].cost;

	return x > y ? -1 : x < y ? 1 : i < k ? -1 : i > k;
}

/* Greedy, the most frequent windows first; then each window is placed again.  Returns the estimated
 * candidates a byte. */
static double fill(struct filling *f) {
	static size_t order[WINDOWS_ALL];
	double sum = 0;

	for (size_t i = 0; i < f->n; i++) {
		order[i] = i;
		f->bucket_of[i] = BUCKETS;
	}
	sorted = f->choices;
	qsort(order, f->n, sizeof order[0], by_cost);
	for (size_t i = 0; i < f->n; i++) {
		place(f, order[i]);
	}
	for (size_t i = 0; i < ROUNDS * f->n; i++) {
		remove_from_bucket(f, order[i % f->n]);
		place(f, order[i % f->n]);
	}
	for (size_t b = 0; b < BUCKETS; b++) {
		sum += f->buckets[b].cost;
	}
	return sum;
}

static void put_halves(struct leak_tables *t, const struct filling *f, size_t b, size_t k) {
	struct leak_nibbles *n = &t->nibbles[b / 8][k];

	for (unsigned c = 0; c < 256; c++) {
		if (leak_in(&f->buckets[b].sets[k], (unsigned char)c)) {
			n->lo[c & 15] |= (unsigned char)(1U << (b % 8));
			n->hi[c >> 4] |= (unsigned char)(1U << (b % 8));
		}
	}
}

static void put_low6(struct leak_tables *t, const struct filling *f, size_t b, size_t k) {
	for (unsigned c = 0; c < 64; c++) {
		if (leak_in(&f->buckets[b].sets[k], (unsigned char)c)) {
			t->low6[b / 8][k][c] |= (unsigned char)(1U << (b % 8));
		}
	}
}

/* Choices with one window each: those that were taken. */
static void take_choices(const struct filling *f, struct choices *ret) {
	for (size_t i = 0; i < f->n; i++) {
		ret[i].windows[0] = f->choices[i].windows[f->choice[i]];
		ret[i].n = 1;
	}
}

struct candidates buckets_fill(struct leak_tables *t, struct choices *choices, size_t n) {
	static size_t choice[WINDOWS_ALL], bucket_of[WINDOWS_ALL];
	struct filling f = {accepted_low6, choices, n, choice, bucket_of, {{.cost = 0}}};
	struct candidates sum = {.low6 = fill(&f)};

	for (size_t b = 0; b < BUCKETS; b++) {
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			put_low6(t, &f, b, k);
		}
	}
	take_choices(&f, choices);
	f = (struct filling){accepted_halves, choices, n, choice, bucket_of, {{.cost = 0}}};
	sum.halves = fill(&f);
	for (size_t b = 0; b < BUCKETS; b++) {
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			put_halves(t, &f, b, k);
		}
	}
	return sum;
}
