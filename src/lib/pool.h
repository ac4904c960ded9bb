/* SPDX-License-Identifier: Apache-2.0 */
/* A run and the pool of sandboxes (linux/parked.h). */
#ifndef CORRAL_LIB_POOL_H
#define CORRAL_LIB_POOL_H

#include "lib/internal.h"

struct pool_use {
	int fd;        /* the connection to the keeper; 0: none */
	bool wanted;   /* policy and caller want the pool, which can serve the plan */
	size_t count;  /* sandboxes that wait */
	char key[33];  /* hexadecimal digits */
	char dir[108]; /* the runtime directory */
};

/* Looks for the pool of this plan, and puts the connection into the request.  Never fails: then the
 * run is cold.  Without daemon.pool it makes no system call. */
void pool_begin(const struct prepared *p, const struct corral_options *o,
		struct run_request *request, struct pool_use *ret);

/* After the run: if there was no pool, and there is a daemon, a fork of this process keeps one. */
void pool_end(struct pool_use *u, struct prepared *p, bool ran);

/* Adds to the notes of the plan whether the pool can serve it; nothing without daemon.pool. */
int pool_note(struct prepared *p, struct err *e);

#endif
