/* SPDX-License-Identifier: Apache-2.0 */
/* `corral check url`: whether a tool outside the sandbox may fetch a URL, without look-ups.  Pure.
 *
 * One program checks a URL and another fetches it, and parsers differ: in backslashes, in the
 * meaning of '@', in octal numbers.  A URL that the WHATWG standard, RFC 3986 and inet_aton(3) do
 * not all parse alike is refused, so that the checked host is the host that is fetched from. */
#ifndef CORRAL_NET_URL_H
#define CORRAL_NET_URL_H

#include "base/hostname.h"
#include "data/ranges.h"

#define URL_MAX ((size_t)16 * 1024) /* twice the limit of common servers */

enum url_rule {
	URL_FORM,    /* not a URL that all parsers read alike */
	URL_SCHEME,  /* neither http nor https */
	URL_HOST,    /* no host, or one that parsers read differently */
	URL_NAME,    /* a name of the local network or of a metadata service */
	URL_ADDRESS, /* not a public address */
	URL_DENIED,  /* a rule of net.deny matches */
	URL_LOOKUP,  /* the name does not resolve */
};

struct url {
	bool https;
	struct hostname host; /* HOST_BAD: the URL was refused before its host was read */
	uint16_t port;
	bool plain; /* an address in its canonical form, which all parsers read alike */
};

struct url_verdict {
	bool allowed;
	enum url_rule rule; /* this and the rest: of a refusal */
	const char *why;    /* one clause; NULL for NAME and ADDRESS */
	const char *what;   /* NAME, ADDRESS: the description in data/ranges.c */
	const char *remedy;
};

/* The name of a rule in reports, such as "scheme". */
const char *url_rule_name(enum url_rule rule);

/* Private networks (RANGE_PRIVATE) that are allowed. */
struct url_reach {
	const struct network *networks;
	size_t count;
};

/* Parses a URL and judges its host without a resolver.  *ret has the parts that could be read. */
struct url_verdict url_judge(const char *s, size_t len, struct url_reach reach, struct url *ret);

/* An address that the URL's name resolves to. */
struct url_verdict url_judge_address(const struct ip *ip, struct url_reach reach);

#endif
