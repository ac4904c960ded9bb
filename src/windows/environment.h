/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a command on Windows: a new one, from a table and the policy. */
#ifndef CORRAL_WINDOWS_ENVIRONMENT_H
#define CORRAL_WINDOWS_ENVIRONMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "policy/policy.h"

#include <stddef.h>
#include <stdint.h>

struct environment_inputs {
	const char *const *caller; /* "NAME=VALUE"; NULL-terminated */
	const struct value *pass, *set, *allow_dangerous;
	const char *private_dir; /* home, temporary and application data */
	const char *workspace, *run_id, *level;
	bool offline; /* net.mode is none */
};

struct environment {
	const char **entries; /* "NAME=VALUE", sorted as CreateProcessW wants them */
	size_t count, cap;
};

int environment_make(struct arena *a, const struct environment_inputs *in, struct environment *ret,
		     struct err *e);

/* The value of a name, in any case; NULL: it has none. */
const char *environment_get(const struct environment *env, const char *name);

/* The entries as one block of UTF-16, each with a final NUL and one more at the end; in memory that
 * the caller frees. */
int environment_block(const struct environment *env, uint16_t **ret, size_t *ret_units,
		      struct err *e);

#endif
