/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables with a special treatment: passed, dangerous, secret, reserved. */
#ifndef CORRAL_DATA_ENVIRONMENT_H
#define CORRAL_DATA_ENVIRONMENT_H

#include <stddef.h>

enum env_class {
	ENV_PASSED,    /* passed from the caller by default */
	ENV_DANGEROUS, /* changes how programs load code: rejected unless env.allow_dangerous names
			  it */
	ENV_SECRET,    /* usually a credential: passing it is allowed and noted */
	ENV_RESERVED,  /* Corral's own: always rejected */
};

struct env_row {
	const char *pattern; /* a name, or a prefix ending in '*' */
	enum env_class class;
	const char *reason;
};

/* The row that matches this name, or NULL. */
const struct env_row *environment_row_for(const char *name);

extern const struct env_row env_rows[];
extern const size_t env_rows_count;

/* Set for a command without a network, so that it fails at once: package managers retry
 * DNS lookups for up to a minute. */
extern const char *const env_offline[];  /* "NAME=VALUE"; NULL-terminated */
extern const char *const env_filtered[]; /* with a filtered network */

/* Set with net.proxy, for clients that need one; plan/net/net.h has the ports. */
extern const char *const env_proxies[];

#endif
