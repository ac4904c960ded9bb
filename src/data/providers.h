/* SPDX-License-Identifier: Apache-2.0 */
/* Model providers and agents: command, key variables, hosts and settings of each. */
#ifndef CORRAL_DATA_PROVIDERS_H
#define CORRAL_DATA_PROVIDERS_H

#include <stddef.h>

#define PROVIDER_ITEMS 4

struct provider {
	const char *name;
	const char *command;                   /* of an agent; NULL: a service without one */
	const char *variables[PROVIDER_ITEMS]; /* of its key, the usual one first */
	const char *hosts[PROVIDER_ITEMS];     /* of its API, as for net.allow */
	const char *files[PROVIDER_ITEMS];     /* settings beneath HOME; no credentials */
	const char *login; /* beneath HOME: the credentials of an account's login; or NULL */
};

extern const struct provider providers[]; /* sorted by name */
extern const size_t providers_count;

/* The names in the same order, NULL at the end: the choices of the key `providers`. */
extern const char *const provider_names[];

const struct provider *provider_by_name(const char *name);

#endif
