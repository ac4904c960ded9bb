/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets that one run gets. */
#ifndef CORRAL_VAULT_SELECT_H
#define CORRAL_VAULT_SELECT_H

#include "vault/vault.h"

struct select_wanted {
	const char *name;
	const char *variable; /* NULL: the name */
	bool optional;        /* left out if the vault has no such secret for this run */
};

struct select_run {
	const char *agent;     /* NULL: none */
	const char *workspace; /* canonical */
	const char *host;
	const struct select_wanted *wanted;
	size_t nwanted;
};

struct selected {
	const struct secret *secret;
	const char *variable;
	bool of_agent; /* not named */
};

/* The agent's secrets, and the named ones: the agent's before the shared (V4).  An unknown name,
 * and a named secret whose scope or `expose` excludes the run, is an error; a secret that only the
 * agent brings is left out instead.  *ret is freed with free(). */
int vault_select(const struct vault *v, const struct select_run *run, struct selected **ret,
		 size_t *ret_n, struct err *e);

#endif
