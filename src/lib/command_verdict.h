/* SPDX-License-Identifier: Apache-2.0 */
/* The command rules with PATH, directory and workspace of a plan; command.c. */
#ifndef CORRAL_LIB_COMMAND_VERDICT_H
#define CORRAL_LIB_COMMAND_VERDICT_H

#include "command/judge.h"
#include "lib/internal.h"

int command_decide(struct prepared *p, const char *const *argv, struct command_verdict *ret,
		   struct err *e);

/* PATH of the command; "" without one. */
const char *command_search_path(const struct plan *plan);

#endif
