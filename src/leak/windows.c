/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the windows of a pattern: the rarest four successive positions that every match has.
 *
 * A pattern is a set of paths, one for each choice of alternatives.  A path is a list of cells: a
 * position with a set of bytes, or a gap of variable length.  Each path gets the window with the
 * lowest estimated frequency in source code and logs.
 *
 * Should:   prefer rare bytes and a known distance from the start of the match.
 * Must not: be linked into the library.
 * Fails:    by ending the build: a kind without a window would never be found. */
#include "leak/pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 600
#define COMBINATIONS_MAX 4096.0 /* entries of the hash table for one window */
#define SPREAD_MAX 80U          /* starts that the matcher tries at one window */

struct cell {
	bool gap;
	struct leak_set set;
	unsigned min, max; /* of a gap */
};

struct path {
	struct cell cells[CELLS_MAX];
	size_t n;
	bool full;
};

struct chooser {
	struct choices *out;
	size_t n;
	bool failed;
	double cost;
	bool branch; /* alternatives make paths; else they are gaps */
};

static double set_folded_size(const struct leak_set *set) {
	double n = 0;

	for (unsigned c = 0; c < 256; c++) {
		bool twin = (c & 0x20) == 0; /* counted with bit 5 set */
		n += (!twin &&
		      (leak_in(set, (unsigned char)c) || leak_in(set, (unsigned char)(c & ~0x20U))))
			     ? 1
			     : 0;
	}
	return n;
}

/* ---- paths ---- */

static void add_cell(struct path *p, const struct cell *c) {
	if (p->n == CELLS_MAX) {
		p->full = true;
		return;
	}
	p->cells[p->n++] = *c;
}

static void add_gap(struct path *p, const struct leak_set *begins, size_t min, size_t max) {
	if (max > 0) {
		add_cell(p, &(struct cell){true, *begins, (unsigned)min, (unsigned)max});
	}
}

/* A variable repetition has its gap before the last three positions, so that these and the
 * following literal make a window. */
static void add_set(struct path *p, const struct node *n) {
	unsigned after = n->max > n->min ? (n->min < 3 ? n->min : 3) : 0;

	for (unsigned i = 0; i < n->min - after; i++) {
		add_cell(p, &(struct cell){.set = n->set});
	}
	add_gap(p, &n->set, 0, n->max - n->min);
	for (unsigned i = 0; i < after; i++) {
		add_cell(p, &(struct cell){.set = n->set});
	}
}

static size_t longest_group(const struct node *n) {
	size_t most = 0;

	for (const struct node *s = n->alternatives; s != NULL; s = s->other) {
		size_t len = pattern_longest(s);
		most = len > most ? len : most;
	}
	return most;
}

static struct leak_set group_first(const struct node *n) {
	struct node one = *n;
	bool empty;

	one.next = one.other = NULL;
	return pattern_first(&one, &empty);
}

/* What remains of the pattern: the rest of a sequence, then the rest of the one around it. */
struct rest {
	const struct node *at;
	unsigned again; /* further copies of the group that `at` belongs to */
	const struct node *group;
	const struct rest *outer;
};

static void finish(struct chooser *c, const struct path *p);

static void walk(struct chooser *c, struct path *p, const struct rest *rest);

static void walk_group(struct chooser *c, struct path *p, const struct node *n, unsigned copies,
		       const struct rest *after) {
	size_t saved = p->n;

	for (const struct node *s = n->alternatives; s != NULL && !c->failed; s = s->other) {
		struct cell last = saved > 0 ? p->cells[saved - 1] : (struct cell){0};
		struct rest inner = {s, copies - 1, n, after};
		walk(c, p, &inner);
		p->n = saved;
		if (saved > 0) {
			p->cells[saved - 1] = last;
		}
	}
}

static void walk(struct chooser *c, struct path *p, const struct rest *rest) {
	const struct node *n = rest->at;

	while (n != NULL) {
		struct rest after = {n->next, rest->again, rest->group, rest->outer};
		bool branches = n->group && (n->alternatives->other == NULL || c->branch);
		if (!n->group) {
			add_set(p, n);
		} else if (n->min > 0 && branches && n->min <= 8) {
			walk_group(c, p, n, n->min, &after);
			return;
		} else {
			size_t least = SIZE_MAX;
			for (const struct node *s = n->alternatives; s != NULL; s = s->other) {
				size_t len = pattern_shortest(s);
				least = len < least ? len : least;
			}
			struct leak_set begins = group_first(n);
			add_gap(p, &begins, least * n->min, longest_group(n) * n->max);
		}
		n = n->next;
	}
	if (rest->again > 0) {
		walk_group(c, p, rest->group, rest->again, rest->outer);
	} else if (rest->outer != NULL) {
		if (rest->group != NULL && rest->group->max > rest->group->min) {
			struct leak_set begins = group_first(rest->group);
			add_gap(p, &begins, 0,
				longest_group(rest->group) * (rest->group->max - rest->group->min));
		}
		walk(c, p, rest->outer);
	} else {
		finish(c, p);
	}
}

/* ---- windows ---- */

/* The set of the byte at cell i.  In a gap it is the next byte after the cell before, whichever
 * part of the pattern that belongs to.  False at the end of the pattern. */
static bool next_set(const struct path *p, size_t i, struct leak_set *ret) {
	struct leak_set set = {{0}};

	for (; i < p->n; i++) {
		const struct cell *c = &p->cells[i];
		for (size_t w = 0; w < 4; w++) {
			set.bits[w] |= c->set.bits[w];
		}
		if (!c->gap || c->min > 0) {
			*ret = set;
			return true;
		}
	}
	return false;
}

/* The sets of the window at cell i.  Its last position may be in a gap. */
static bool window_sets(const struct path *p, size_t i, struct leak_set sets[LEAK_WINDOW]) {
	for (size_t k = 0; k + 1 < LEAK_WINDOW; k++) {
		if (p->cells[i + k].gap) {
			return false;
		}
		sets[k] = p->cells[i + k].set;
	}
	return next_set(p, i + LEAK_WINDOW - 1, &sets[LEAK_WINDOW - 1]);
}

/* A window far from the start of the match has to be waited for at each end of a piece. */
#define FAR_COST 2e-8

static double window_cost(const struct leak_set sets[LEAK_WINDOW], unsigned near, unsigned far) {
	double combinations = 1;
	unsigned spread = far - near;

	for (size_t i = 0; i < LEAK_WINDOW; i++) {
		combinations *= set_folded_size(&sets[i]);
	}
	if (combinations > COMBINATIONS_MAX || spread > SPREAD_MAX) {
		return INFINITY;
	}
	return frequency_of_window(sets) * (1 + spread) + combinations * 1e-8 + far * FAR_COST;
}

/* The byte of a set, with bit 5 set, if there is only one. */
static bool only_byte(const struct leak_set *set, unsigned *ret) {
	unsigned n = 0;

	for (unsigned c = 0; c < 256; c++) {
		if ((c & 0x20) != 0 &&
		    (leak_in(set, (unsigned char)c) || leak_in(set, (unsigned char)(c & ~0x20U)))) {
			*ret = c;
			n++;
		}
	}
	return n == 1;
}

/* 0xff for each byte that is not 0. */
static uint64_t differing(uint64_t bits) {
	uint64_t mask = 0;

	for (size_t k = 0; k < LEAK_CONTEXT; k++) {
		mask |= (bits >> (8 * k) & 0xff) != 0 ? (uint64_t)0xff << (8 * k) : 0;
	}
	return mask;
}

static void set_context(struct window *w, const struct path *p, size_t at) {
	for (size_t k = 0; k < LEAK_CONTEXT && at + k < p->n && !p->cells[at + k].gap; k++) {
		unsigned byte = 0;
		if (only_byte(&p->cells[at + k].set, &byte)) {
			w->mask |= (uint64_t)0xff << (8 * k);
			w->value |= (uint64_t)byte << (8 * k);
		}
	}
}

static const struct probe no_probe = {.set = {{~0ULL, ~0ULL, ~0ULL, ~0ULL}}, .cost = 1};

/* Keeps the most selective probes. */
static void add_probe(struct window *w, int at, const struct leak_set *set) {
	struct probe made = {at, *set, frequency_of(set)};

	for (size_t i = 0; i < LEAK_PROBES; i++) {
		if (made.cost < w->probes[i].cost) {
			struct probe less = w->probes[i];
			w->probes[i] = made;
			made = less;
		}
	}
}

/* Bytes after the window up to the first gap, and bytes before it if their distance is fixed. */
static void set_probes(struct window *w, const struct path *p, size_t at) {
	struct leak_set set;
	size_t k = LEAK_WINDOW - 1;

	for (size_t i = 0; i < LEAK_PROBES; i++) {
		w->probes[i] = no_probe;
	}
	while (k < LEAK_PROBE_MAX && next_set(p, at + k, &set)) {
		if (k >= LEAK_CONTEXT || (w->mask >> (8 * k) & 0xff) == 0) {
			add_probe(w, (int)k, &set);
		}
		if (p->cells[at + k].gap) {
			break;
		}
		k++;
	}
	for (k = 1; w->near == w->far && k <= at && k < LEAK_PROBE_MAX; k++) {
		if (p->cells[at - k].gap) {
			break;
		}
		add_probe(w, -(int)k, &p->cells[at - k].set);
	}
}

/* A probe of two windows accepts the bytes of both. */
static void merge_probes(struct window *have, const struct window *w) {
	for (size_t i = 0; i < LEAK_PROBES; i++) {
		struct probe *mine = &have->probes[i];
		const struct probe *other = NULL;
		for (size_t k = 0; k < LEAK_PROBES; k++) {
			other = w->probes[k].at == mine->at ? &w->probes[k] : other;
		}
		if (other == NULL || (mine->at < 0 && have->near != have->far)) {
			*mine = no_probe;
			continue;
		}
		for (size_t k = 0; k < 4; k++) {
			mine->set.bits[k] |= other->set.bits[k];
		}
	}
}

/* Two paths with the same best window share it. */
static void keep_choices(struct chooser *c, const struct choices *found) {
	const struct window *w = &found->windows[0];

	for (size_t i = 0; i < c->n; i++) {
		struct window *have = &c->out[i].windows[0];
		if (memcmp(have->sets, w->sets, sizeof w->sets) == 0) {
			have->near = w->near < have->near ? w->near : have->near;
			have->far = w->far > have->far ? w->far : have->far;
			have->mask &= w->mask & ~differing(have->value ^ w->value);
			have->value &= have->mask;
			merge_probes(have, w);
			c->out[i].n = 1;
			return;
		}
	}
	if (c->n == WINDOWS_MAX) {
		c->failed = true;
		return;
	}
	c->out[c->n++] = *found;
	c->cost += w->cost;
}

/* Windows that are rare enough, the rarest first. */
static void add_choice(struct choices *found, const struct window *w) {
	size_t at = found->n;

	while (at > 0 && found->windows[at - 1].cost > w->cost) {
		at--;
	}
	if (at == CHOICES_MAX) {
		return;
	}
	found->n += found->n < CHOICES_MAX;
	memmove(&found->windows[at + 1], &found->windows[at],
		(found->n - at - 1) * sizeof found->windows[0]);
	found->windows[at] = *w;
}

#define RARE 2e-7 /* a window that is rarer than this costs nothing */

static void finish(struct chooser *c, const struct path *p) {
	static struct choices found;
	unsigned near = 0, far = 0;

	found.n = 0;
	for (size_t i = 0; i + LEAK_WINDOW <= p->n; i++) {
		struct window w = {.near = near, .far = far};
		w.cost = window_sets(p, i, w.sets) ? window_cost(w.sets, near, far) : INFINITY;
		if (w.cost < INFINITY) {
			set_context(&w, p, i);
			set_probes(&w, p, i);
			add_choice(&found, &w);
		}
		near += p->cells[i].gap ? p->cells[i].min : 1;
		far += p->cells[i].gap ? p->cells[i].max : 1;
		if (pattern_set_breaks(&p->cells[i].set) && found.n > 0) {
			break; /* the windows precede the first line break */
		}
	}
	if (found.n == 0) {
		c->failed = true;
		return;
	}
	double most = found.windows[0].cost * 4 > RARE ? found.windows[0].cost * 4 : RARE;
	while (found.windows[found.n - 1].cost > most) {
		found.n--;
	}
	keep_choices(c, &found);
}

size_t windows_choose(const struct node *sequence, struct choices out[WINDOWS_MAX]) {
	static struct path path;
	static struct choices tried[2][WINDOWS_MAX];
	struct chooser c[2];

	for (int branch = 0; branch < 2; branch++) {
		c[branch] = (struct chooser){.out = tried[branch], .branch = branch == 1};
		path.n = 0;
		path.full = false;
		walk(&c[branch], &path, &(struct rest){.at = sequence});
	}
	int use = c[0].failed || (!c[1].failed && c[1].cost < c[0].cost * 0.8) ? 1 : 0;
	if (c[use].failed) {
		return 0;
	}
	memcpy(out, tried[use], c[use].n * sizeof out[0]);
	return c[use].n;
}
