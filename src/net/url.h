/* Whether a tool outside the sandbox may fetch a URL: the part that asks nobody.  Pure.
 *
 * A URL is read by one program and fetched by another, and readers differ: in backslashes,
 * in what '@' separates, in octal numbers.  What the WHATWG's standard, RFC 3986 and
 * inet_aton(3) would not all read alike is refused, so that the host that was checked is
 * the host that is fetched from. */
#ifndef CORRAL_NET_URL_H
#define CORRAL_NET_URL_H

#include "base/hostname.h"
#include "data/ranges.h"

#define URL_MAX ((size_t)16 * 1024) /* twice what servers take */

enum url_rule {
	URL_FORM,    /* not a URL that everybody reads alike */
	URL_SCHEME,  /* neither http nor https */
	URL_HOST,    /* no host, or none that everybody reads alike */
	URL_NAME,    /* a name of the local network or of a metadata service */
	URL_ADDRESS, /* an address that is not of the public internet */
	URL_DENIED,  /* a rule of net.deny has it */
	URL_LOOKUP,  /* the name leads to no address */
};

struct url {
	bool https;
	struct hostname host; /* HOST_BAD when the text was refused before it */
	uint16_t port;
	bool plain; /* an address is written in the one way that nobody takes for another */
};

struct url_verdict {
	bool allowed;
	enum url_rule rule; /* this and the rest speak of a refusal */
	const char *why;    /* one clause; NULL for NAME and ADDRESS */
	const char *what;   /* NAME, ADDRESS: what it is, as the tables have it */
	const char *remedy;
};

/* "name", as reports have it. */
const char *url_rule_name(enum url_rule rule);

/* Networks that are allowed although they are private (RANGE_PRIVATE). */
struct url_reach {
	const struct network *networks;
	size_t count;
};

/* Reads whom a URL would connect to and judges what needs no resolver.  *ret is filled as
 * far as the text was understood. */
struct url_verdict url_judge(const char *s, size_t len, struct url_reach reach, struct url *ret);

/* An address that its name leads to. */
struct url_verdict url_judge_address(const struct ip *ip, struct url_reach reach);

#endif
