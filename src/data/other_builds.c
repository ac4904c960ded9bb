/* SPDX-License-Identifier: Apache-2.0 */
/* A row a build.
 *
 * Should:   say of each build which part has not been run.
 * Must not: list a backend of this build: backend/rows_linux.c has those.
 * Fails:    never: a table. */
#include "data/other_builds.h"

#include "base/auto.h"

const struct other_build other_builds[] = {
	{"macos", "another build (docs/macos.md). " NOT_RUN_MACOS},
	{"windows", "another build (docs/windows.md), experimental. " NOT_RUN_WINDOWS},
};
const size_t other_builds_count = ARRAY_LEN(other_builds);
