/* Environment variable names that mean something to a sandbox. */
#ifndef CORRAL_DATA_ENVIRONMENT_H
#define CORRAL_DATA_ENVIRONMENT_H

#include <stddef.h>

enum env_class {
	ENV_PASSED,    /* taken over from the caller by default */
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

/* The row that speaks of this name, or NULL. */
const struct env_row *environment_row_for(const char *name);

extern const struct env_row env_rows[];
extern const size_t env_rows_count;

/* What a command without a network is given, so that it fails at once: package
 * managers ask again and again, up to a minute, for a name that nobody answers. */
extern const char *const env_offline[];  /* "NAME=VALUE"; NULL-terminated */
extern const char *const env_filtered[]; /* where the gate decides about names */

/* For clients that want a proxy, the same; plan/net/net.h has the ports. */
extern const char *const env_proxies[];

#endif
