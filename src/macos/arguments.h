/* SPDX-License-Identifier: Apache-2.0 */
/* A command and its profile, as the words that start it. */
#ifndef CORRAL_MACOS_ARGUMENTS_H
#define CORRAL_MACOS_ARGUMENTS_H

#include "base/arena.h"
#include "plan/plan.h"
#include "plan/seatbelt/seatbelt.h"

#define SANDBOX_EXEC "/usr/bin/sandbox-exec" /* by its full path: PATH is the caller's */

struct macos_command {
	const struct plan *plan;
	const struct seatbelt_profile *profile;
	char *const *argv;
	int fds[3];
};

/* The arguments of sandbox-exec(1), NULL-terminated. */
char **macos_arguments(struct arena *a, const struct macos_command *c);

/* Names and values in turn, then NULL. */
const char **macos_parameters(struct arena *a, const struct seatbelt_profile *p);

#endif
