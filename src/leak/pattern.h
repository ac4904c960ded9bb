/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of data/leak_kinds.h as trees: only the generator of the tables uses them. */
#ifndef CORRAL_LEAK_PATTERN_H
#define CORRAL_LEAK_PATTERN_H

#include "leak/program.h"

/* A set, or a group of alternatives, each a list of nodes; repeated min to max times. */
struct node {
	bool group, captures;
	struct leak_set set;
	struct node *alternatives; /* of a group: list of lists, linked by `other` */
	unsigned min, max;
	struct node *next; /* in the same sequence */
	struct node
		*other; /* of a sequence's head (group with one alternative): next alternative */
};

/* Parses a pattern; on a fault it prints the pattern and exits: a fault stops the build. */
struct node *pattern_parse(const char *pattern);

size_t pattern_longest(const struct node *sequence);
size_t pattern_shortest(const struct node *sequence);

/* A line break, and not just white space. */
bool pattern_set_breaks(const struct leak_set *set);

/* True when a match may contain such a set. */
bool pattern_has_break(const struct node *sequence);

/* Appends the program of a pattern to ops and returns the number of its ops. */
struct program_builder {
	struct leak_op *ops;
	size_t nops, cap;
	struct leak_set *sets;
	size_t nsets;
};
unsigned pattern_add_set(struct program_builder *b, const struct leak_set *set);
size_t pattern_compile(struct program_builder *b, const struct node *sequence, unsigned after,
		       bool *ret_open);

/* The set of bytes with which a match can begin. */
struct leak_set pattern_first(const struct node *sequence, bool *ret_empty);

/* The bytes that a match of the program may have at a place; all bytes when it may be shorter. */
struct leak_set pattern_byte(const struct program_builder *b, const struct leak_op *program,
			     unsigned place);

/* A byte near to a window; see struct leak_probe. */
struct probe {
	int at;
	struct leak_set set;
	double cost; /* the part of ordinary text that passes */
};

/* A window of a pattern. */
struct window {
	struct leak_set sets[LEAK_WINDOW];
	unsigned near, far;
	uint64_t mask, value; /* of struct leak_window */
	struct probe probes[LEAK_PROBES];
	double cost; /* estimated hits a byte in ordinary text */
};
#define WINDOWS_MAX 64
#define WINDOWS_ALL 4000 /* of all kinds */
#define CHOICES_MAX 12
/* Windows of which one is enough; the best is the first. */
struct choices {
	struct window windows[CHOICES_MAX];
	size_t n;
};
/* Every match contains a window of one of the returned choices, whichever window is taken. */
size_t windows_choose(const struct node *sequence, struct choices out[WINDOWS_MAX]);

/* Takes one window of each choice, and fills the tables of the prefilter. */
struct candidates {
	double halves, low6; /* estimated candidates a byte, with each table */
};
struct candidates buckets_fill(struct leak_tables *tables, struct choices *choices, size_t n);

/* Estimated frequency of the bytes of a set in source code and logs, and of four in a row. */
double frequency_of(const struct leak_set *set);
double frequency_of_window(const struct leak_set sets[LEAK_WINDOW]);

#endif
