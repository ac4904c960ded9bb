/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the secrets of one run, on their way to the command.
 *
 * Theory.  The values lie in one mapping that the processes of the run share, so that there is one
 * copy of them.  It is locked in memory and left out of core dumps, and the gate and the helpers do
 * not inherit it.  Pid 1 or the guard overwrites it as soon as the command is executed: from then
 * on only the command has the values.  The plan has names alone.
 *
 * Should:   hold every byte of a value that exists between the vault and execve(2).
 * Must not: be written to a file, except to one on the sandbox's own tmpfs, or without namespaces
 *           in the run's own directory.
 * Fails:    closed: without the mapping there is no run.  Locking it may fail (RLIMIT_MEMLOCK);
 *           that is no error. */
#ifndef CORRAL_BACKEND_SECRETS_H
#define CORRAL_BACKEND_SECRETS_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

#include <stddef.h>

/* One value: "VARIABLE=VALUE" for the environment, or the content of a file. */
struct secret_bytes {
	const char *name; /* of the plan's secret */
	char *bytes;      /* in the mapping; an environment entry ends with NUL */
	size_t len;
};

struct secrets {
	char *memory; /* NULL: the run has none */
	size_t size, used;
	struct secret_bytes *list; /* as many as the plan has, in its order */
	size_t n;
};

/* Maps size bytes; the list is the caller's. */
int secrets_new(size_t size, struct secrets *ret, struct err *e);

/* The next len bytes of the mapping. */
char *secrets_take(struct secrets *s, size_t len);

/* Overwrites and unmaps; accepts a zeroed object. */
void secrets_free(struct secrets *s);

/* Whether the children that are cloned from now on inherit the mapping. */
void secrets_inherit(const struct secrets *s, bool inherit);

/* Overwrites all values, for every process of the run.  System calls only. */
void secrets_wipe(const struct secrets *s);

/* The plan's environment with the values in it; NULL out of memory. */
char *const *secrets_environment(struct arena *a, const struct plan *plan, const struct secrets *s);

/* The content of a file of the plan; NULL: there is none.  System calls only. */
const struct secret_bytes *secrets_find(const struct secrets *s, const char *name);

#endif
