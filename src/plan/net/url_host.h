/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the host and port in a URL of a package manager or of git. */
#ifndef CORRAL_PLAN_NET_URL_HOST_H
#define CORRAL_PLAN_NET_URL_HOST_H

#include "base/hostname.h"

enum url_host_kind {
	URL_HOST_NONE, /* a path, or a scheme that reaches no host */
	URL_HOST_BAD,  /* the host is not valid: host.why */
	URL_HOST_HOST,
};

struct url_host {
	enum url_host_kind kind;
	struct hostname host;
	uint16_t port; /* the scheme's default when none is written */
};

/* "https://LOGIN@HOST:PORT/…", ssh, git, http; a prefix before "+" is ignored, as in
 * "sparse+https://".  The login is not kept. */
enum url_host_kind url_host_of_url(const char *s, size_t len, struct url_host *ret);

/* Such a URL, or git's "LOGIN@HOST:PATH". */
enum url_host_kind url_host_of_remote(const char *s, size_t len, struct url_host *ret);

/* A loopback address or name, which no rule can allow; --host-port can. */
bool url_host_is_loopback(const struct url_host *a);

#endif
