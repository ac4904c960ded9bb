/* SPDX-License-Identifier: Apache-2.0 */
/* Glob patterns for paths, matched name by name.
 *
 * "*", "?" and "[…]" match characters of one name, "**" as a whole name matches any number
 * of names, "\" escapes the next character.  A pattern that matches a directory matches
 * everything beneath it.
 *
 * Matching runs a nondeterministic automaton over the names of a path; the set of its states
 * is a bit mask.  So a match can stop at a directory, be compared with the states of
 * another directory, and continue. */
#ifndef CORRAL_BASE_GLOB_H
#define CORRAL_BASE_GLOB_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names in one pattern: the states and the end must fit into the bits of a set. */
#define GLOB_NAMES_MAX 62

enum glob_kind {
	GLOB_DEPTH,   /* "**" */
	GLOB_LITERAL, /* compares with the text */
	GLOB_ENDING,  /* "*" and a literal ending */
	GLOB_PATTERN,
};

struct glob_name {
	enum glob_kind kind;
	const char *text;
	size_t len;
};

struct glob {
	const struct glob_name *names;
	size_t count;
	bool fold;     /* ignore the case of ASCII letters */
	uint64_t need; /* one bit for each literal name: no path without them all matches */
};

/* Whether the text has a special character. */
bool glob_has_magic(const char *text);

/* A pattern that matches exactly the text; NULL when memory is out. */
char *glob_escape(struct arena *a, const char *text);

/* Parses a pattern without a leading slash; trailing slashes are ignored.  Fails with
 * ERR_USAGE for an empty pattern, an open class, a brace, or "**" within a name. */
int glob_parse(struct arena *a, const char *text, bool fold, struct glob *ret, struct err *e);

/* The part of a pattern from one of its names on. */
struct glob glob_from(const struct glob *g, size_t first);

typedef uint64_t glob_set;

/* The states before the first name; after one more name; whether they are a match. */
glob_set glob_start(const struct glob *g);
glob_set glob_step(const struct glob *g, glob_set at, const char *name, size_t len);

static inline bool glob_matched(const struct glob *g, glob_set at) {
	return (at >> g->count & 1) != 0;
}

/* The character at s, and its length: a code point; a byte that is not UTF-8 counts as one
 * character above the last code point. */
#define GLOB_NOT_TEXT 0x110000U
unsigned glob_character(const char *s, size_t left, size_t *ret_len);

/* The length of the class "[…]" that begins at p, or 0 when it has no end or a range in it is
 * reversed.  *ret: whether it contains c. */
size_t glob_class(const char *p, size_t left, unsigned c, bool fold, bool *ret);

/* A path split into names once, to match many patterns. */
#define GLOB_PATH_NAMES 64

struct glob_path {
	struct {
		const char *at;
		size_t len;
	} names[GLOB_PATH_NAMES];
	size_t count;
	bool deeper;  /* the path has more names than fit */
	uint64_t has; /* the bits of its names; all if it is deeper */
};

void glob_path_split(struct glob_path *p, const char *path);

/* False for most patterns that do not match, by the bits of the names alone. */
static inline bool glob_may_match(const struct glob *g, const struct glob_path *p) {
	return (g->need & ~p->has) == 0;
}

/* Whether the pattern matches the path after its first `skip` names, or a directory above
 * it.  Not for a path with `deeper` set. */
bool glob_matches(const struct glob *g, const struct glob_path *p, size_t skip);

/* The states after a relative path ("": the start); a match stays a match. */
glob_set glob_walk(const struct glob *g, const char *path);

#endif
