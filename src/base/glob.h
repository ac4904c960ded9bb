/* Patterns over paths, matched name by name.
 *
 * "*" and "?" and "[…]" stand for characters of one name, "**" as a whole name for
 * any number of names, "\" takes the meaning from the next character.  A pattern
 * that matches a directory holds for everything beneath it.
 *
 * A match is a walk over the names of a path with a set of places in the pattern
 * (one bit each): so it can stop at a directory, be compared with the set of
 * another directory, and go on. */
#ifndef CORRAL_BASE_GLOB_H
#define CORRAL_BASE_GLOB_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names in one pattern: places and the end have to fit into the bits of a set. */
#define GLOB_NAMES_MAX 62

enum glob_kind {
	GLOB_DEPTH,   /* "**" */
	GLOB_LITERAL, /* the text is the name */
	GLOB_ENDING,  /* "*" and a literal ending */
	GLOB_PATTERN,
};

struct glob_name {
	enum glob_kind kind;
	const char *text;
	size_t len;
};

struct glob {
	struct glob_name *names;
	size_t count;
	bool fold; /* the case of ASCII letters does not matter */
};

/* Whether the text needs a glob: it has a character with a meaning of its own. */
bool glob_has_magic(const char *text);

/* The text as a pattern that means itself; NULL when memory is out. */
char *glob_escape(struct arena *a, const char *text);

/* A pattern without a slash at its start; slashes at the end are left out.  Fails with
 * ERR_USAGE for an empty pattern, an open class, a brace, or "**" within a name. */
int glob_parse(struct arena *a, const char *text, bool fold, struct glob *ret, struct err *e);

typedef uint64_t glob_set;

/* Before the first name, behind one more name, and at a match. */
glob_set glob_start(const struct glob *g);
glob_set glob_step(const struct glob *g, glob_set at, const char *name, size_t len);

static inline bool glob_matched(const struct glob *g, glob_set at) {
	return (at >> g->count & 1) != 0;
}

/* A path taken apart, so that many patterns can be tried on it. */
#define GLOB_PATH_NAMES 64

struct glob_path {
	struct {
		const char *at;
		size_t len;
	} names[GLOB_PATH_NAMES];
	size_t count;
	bool deeper; /* it has more names than fit */
};

void glob_path_split(struct glob_path *p, const char *path);

/* Whether the pattern matches what follows the first `skip` names, or a directory above
 * it.  Not for a path that is deeper. */
bool glob_matches(const struct glob *g, const struct glob_path *p, size_t skip);

/* The set behind a relative path, which is empty for the start; after a match nothing
 * changes any more. */
glob_set glob_walk(const struct glob *g, const char *path);

#endif
