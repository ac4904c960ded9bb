/* SPDX-License-Identifier: Apache-2.0 */
/* The "@" sets of fs.deny and fs.protect: files with secrets, and files that other programs
 * run or read as settings after the run.
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

/* Files that make git run code, in every repository that exists before the run, with its
 * submodules and linked work trees; part of "@git" in fs.protect. */
extern const struct name_set repository_names;

/* The set of this name, without "@"; NULL when there is none. */
const struct name_set *name_set_find(const char *name);

#endif
