/* Addresses that are not of the public internet, and names that stand for such. */
#ifndef CORRAL_DATA_RANGES_H
#define CORRAL_DATA_RANGES_H

#include "base/ip.h"

/* How far a rule may go: private ranges open up to who lists them, the others to nobody
 * but an address written as such. */
enum range_kind { RANGE_PRIVATE, RANGE_LOCAL, RANGE_METADATA, RANGE_RESERVED };

struct range {
	const char *text; /* "10.0.0.0/8" */
	enum range_kind kind;
	const char *name; /* "a private network", "the loopback", "link-local" */
};

/* The row that holds this address, or an IPv4 address inside it (mapped, compatible,
 * NAT64, 6to4, Teredo); NULL for a public one. */
const struct range *range_of(const struct ip *ip);

/* Why a name is not public: ".internal", ".local", ".localhost", a metadata service; NULL
 * for any other.  Lower case, without a trailing dot. */
const char *range_of_name(const char *name);

#endif
