/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command under its Seatbelt profile, with the directories of the run. */
#ifndef CORRAL_MACOS_SPAWN_H
#define CORRAL_MACOS_SPAWN_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "plan/seatbelt/seatbelt.h"

#include <sys/types.h>

struct macos_command {
	const struct plan *plan;
	const struct seatbelt_profile *profile;
	char *const *argv;
	int fds[3];
};

/* Creates the directories and files of the run itself: TMPDIR, HOME, generated files. */
int macos_prepare(const struct plan *plan, struct err *e);
/* Removes the directory of the run. */
void macos_clean(const struct plan *plan);

/* The arguments of sandbox-exec(1), NULL-terminated. */
char **macos_arguments(struct arena *a, const struct macos_command *c);

/* Starts the command in a session of its own; returns its pid, or -1. */
pid_t macos_spawn(struct arena *a, const struct macos_command *c, struct err *e);

#endif
