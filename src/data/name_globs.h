/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of data/names.c as parsed patterns, which ignore the case of ASCII letters.  The build
 * writes the tables (data/name_globs_generate.c), so that a plan parses no built-in pattern. */
#ifndef CORRAL_DATA_NAME_GLOBS_H
#define CORRAL_DATA_NAME_GLOBS_H

#include "base/glob.h"

/* In the order of name_sets and of the rows.  Without the "!" of an exception and the "/" of a name
 * directly in the workspace; a name without a slash has a "**" in front. */
extern const struct glob *const name_set_globs[];

/* Of repository_names. */
extern const struct glob repository_globs[];

#endif
