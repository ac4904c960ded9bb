/* The host in an address of the kind that package managers and git are given. */
#ifndef CORRAL_PLAN_ADDRESS_H
#define CORRAL_PLAN_ADDRESS_H

#include "base/hostname.h"

enum address_kind {
	ADDRESS_NONE, /* a path, or a scheme that reaches no host */
	ADDRESS_BAD,  /* meant for a host, but that is none: host.why */
	ADDRESS_HOST,
};

struct address {
	enum address_kind kind;
	struct hostname host;
	uint16_t port; /* the scheme's own when none is written */
};

/* "https://LOGIN@HOST:PORT/…", ssh, git, http; what stands before "+" is left out, as in
 * "sparse+https://".  The login is neither kept nor looked at. */
enum address_kind address_of_url(const char *s, size_t len, struct address *ret);

/* That, or git's "LOGIN@HOST:PATH". */
enum address_kind address_of_remote(const char *s, size_t len, struct address *ret);

/* Of the loopback, where no rule leads: --host-port does. */
bool address_stays_here(const struct address *a);

#endif
