/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: sandboxes that are set up before a run needs them, for a row of the table that has
 * sessions; each build has its own (linux/parked.h has the theory and the invariants). */
#ifndef CORRAL_BACKEND_POOL_H
#define CORRAL_BACKEND_POOL_H

#include "backend/child.h"

/* Why no sandbox of the pool can serve the plan; NULL: one can. */
const char *parked_refuses(const struct plan *plan);

/* Appends the attributes of this process that a command inherits from it, for the key of the pool;
 * -1 if one cannot be read, or is one that cannot be compared: a seccomp filter. */
int heritage_read(struct buf *out);

/* Takes a sandbox from the keeper at the other end of the socket, and starts the command in it.
 * -1: there is none, or it has ended; nothing else has happened. */
int parked_run(int socket, const struct spawn_request *r, struct child_room *room,
	       struct child **ret);

/* The most sandboxes of one keeper. */
#define KEEPER_MAX 64

/* The keeper of a pool: a process that sets sandboxes up and gives them to callers. */
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
