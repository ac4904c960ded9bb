/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of a pool of sandboxes: a process that sets them up and gives them to callers;
 * linux/parked.h has the theory. */
#ifndef CORRAL_RUN_KEEPER_H
#define CORRAL_RUN_KEEPER_H

#include "plan/plan.h"

#include <stddef.h>

/* The most sandboxes of one keeper. */
#define KEEPER_MAX 64

struct keeper_wish {
	struct plan *plan;
	const struct host *host;
	const char *socket; /* its path: p/KEY.sock */
	const char *hold;   /* the request to the daemon, a line */
	int daemon;         /* connected to its admin socket */
	size_t count;       /* sandboxes that wait */
};

/* In a fork of the run; never returns. */
_Noreturn void keeper_main(const struct keeper_wish *w);

#endif
