/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the files of src/plan/seatbelt share while they write a profile. */
#ifndef CORRAL_PLAN_SEATBELT_INTERNAL_H
#define CORRAL_PLAN_SEATBELT_INTERNAL_H

#include "plan/seatbelt/seatbelt.h"

struct writer {
	struct arena *a;
	const struct plan *plan;
	struct seatbelt_profile *profile;
	struct buf out;
	size_t counts[3]; /* of parameters, by their names */
	bool out_of_memory;
};

/* ---- profile.c ---- */

/* Appends (FILTER (param "NAME")), with the parameter for this path; I1. */
void seatbelt_path(struct writer *w, const char *filter, const char *path);
/* Appends a quoted string; I1. */
void seatbelt_string(struct writer *w, const char *bytes, size_t len);

/* Texts, each once and sorted. */
struct texts {
	const char **list;
	size_t count, cap;
};
void seatbelt_texts_add(struct writer *w, struct texts *t, const char *text);
void seatbelt_texts_settle(struct texts *t);

/* The directories that the run has for itself: TMPDIR and a private home outside it; NULL for
 * none. */
struct own_dirs {
	const char *list[2];
};
struct own_dirs seatbelt_own_dirs(const struct plan *plan);

/* ---- regex.c ---- */

/* Appends a regular expression: the names of the pattern beneath the anchor.  With `whole` it also
 * matches everything beneath these, as the pattern does; otherwise only a path of `count` names. */
void seatbelt_regex(struct buf *out, const char *anchor, const struct glob *g, size_t count,
		    bool whole);

/* One that matches this path only. */
void seatbelt_regex_path(struct buf *out, const char *path);

/* ---- files.c, rules.c: the parts of a profile ---- */

void seatbelt_write_files(struct writer *w);
void seatbelt_write_metadata(struct writer *w);
void seatbelt_write_programs(struct writer *w);
void seatbelt_write_rules(struct writer *w);

#endif
