/* Names that mean something wherever a project keeps them: data that is secret,
 * and files that somebody else's program obeys later.
 *
 * A policy refers to a set as "@name".  Rows are patterns of fs.deny and
 * fs.protect: without a slash they match at any depth, with a leading slash
 * directly in the workspace; "!" makes an exception, and the last match wins. */
#ifndef CORRAL_DATA_NAMES_H
#define CORRAL_DATA_NAMES_H

#include <stddef.h>

struct name_row {
	const char *pattern;
	const char *reason;
};

/* Patterns first, then exceptions; each part sorted and unique. */
struct name_set {
	const char *name;
	const char *help;
	const struct name_row *rows;
	size_t count;
};

extern const struct name_set name_sets[];
extern const size_t name_sets_count;

/* What runs code in any repository that was there before, its submodules and linked work
 * trees included; part of "@git" where that protects. */
extern const struct name_set repository_names;

/* The set of this name, without "@"; NULL when there is none. */
const struct name_set *name_set_find(const char *name);

#endif
