/* The host in an address of the kind that package managers and git are given. */
#ifndef CORRAL_PLAN_NET_URL_HOST_H
#define CORRAL_PLAN_NET_URL_HOST_H

#include "base/hostname.h"

enum url_host_kind {
	URL_HOST_NONE, /* a path, or a scheme that reaches no host */
	URL_HOST_BAD,  /* meant for a host, but that is none: host.why */
	URL_HOST_HOST,
};

struct url_host {
	enum url_host_kind kind;
	struct hostname host;
	uint16_t port; /* the scheme's own when none is written */
};

/* "https://LOGIN@HOST:PORT/…", ssh, git, http; what stands before "+" is left out, as in
 * "sparse+https://".  The login is neither kept nor looked at. */
enum url_host_kind url_host_of_url(const char *s, size_t len, struct url_host *ret);

/* That, or git's "LOGIN@HOST:PATH". */
enum url_host_kind url_host_of_remote(const char *s, size_t len, struct url_host *ret);

/* Of the loopback, where no rule leads: --host-port does. */
bool url_host_is_loopback(const struct url_host *a);

#endif
