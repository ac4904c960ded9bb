/* SPDX-License-Identifier: Apache-2.0 */
/* Checks URLs that a tool fetches outside the sandbox. */
#ifndef CORRAL_URL_H
#define CORRAL_URL_H

#include "error.h"
#include "format.h"
#include "policy.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Against SSRF: a tool that fetches a URL from a model could reach the host's own services and
 * networks.  Refused are
 *   schemes other than http and https;
 *   URLs that two parsers could read as two hosts: with backslashes, user names,
 *   percent-encoded hosts, non-ASCII letters, addresses in octal or as one number;
 *   names of local networks and of metadata services, and names of a single label;
 *   addresses that are not public, and this host's own, written in the URL or resolved from
 *   its name; one such address of several is enough.
 * Of a policy net.private and net.deny apply; net.allow concerns only sandboxed commands. */
struct corral_url;

struct corral_url_options {
	size_t size;                        /* set by the caller to sizeof */
	const struct corral_policy *policy; /* or NULL */
	int text_only; /* 1: no name is resolved; then there are no addresses */
	int reserved;  /* 0 */
};

/* 0 with the verdict in *checked, also for a refusal; a name that does not resolve is refused.
 * -1 when there is no verdict.  options may be NULL.  Takes up to the time-outs of resolv.conf.
 * Connect to the addresses of the verdict: a second lookup could return others (DNS
 * rebinding).  Check the URL of each redirect again. */
int corral_url_check(const char *url, const struct corral_url_options *options,
		     struct corral_url **checked, struct corral_error *err);
void corral_url_free(struct corral_url *checked);

int corral_url_allowed(const struct corral_url *checked);

/* Host in lower case, an IPv6 address without brackets; "" and 0 when the text was
 * refused before it named one. */
const char *corral_url_host(const struct corral_url *checked);
unsigned corral_url_port(const struct corral_url *checked);

/* The n-th address to connect to; NULL after the last, and for a refused URL. */
const char *corral_url_address(const struct corral_url *checked, size_t n);

/* Of a refusal: "form", "scheme", "host", "name", "address", "net.deny" or "lookup"; the
 * reason; the remedy.  "" for an allowed URL. */
const char *corral_url_rule(const struct corral_url *checked);
const char *corral_url_reason(const struct corral_url *checked);
const char *corral_url_remedy(const struct corral_url *checked);

/* The whole verdict. */
int corral_url_show(const struct corral_url *checked, enum corral_format format, char **text,
		    struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
