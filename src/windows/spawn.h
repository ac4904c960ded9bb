/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process of a command: in its job, with its token, in its container. */
#ifndef CORRAL_WINDOWS_SPAWN_H
#define CORRAL_WINDOWS_SPAWN_H

#include "windows/api.h"

#include "base/arena.h"
#include "base/err.h"
#include "windows/container.h"
#include "windows/token.h"

#include <stdint.h>

#ifdef _WIN32
struct spawn {
	const char *program, *line, *directory; /* UTF-8 */
	uint16_t *block;                        /* the environment */
	const HANDLE *streams;                  /* three; nothing else is inherited */
	HANDLE job;
	struct appcontainer *container; /* NULL: none */
};

struct spawned {
	HANDLE process, thread;
	struct token_facts token; /* of the new process, before its first instruction */
};

/* The process is suspended.  On failure there is none. */
int spawn_suspended(struct arena *a, const struct spawn *s, struct spawned *ret, struct err *e);
#endif

#endif
