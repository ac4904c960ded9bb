/* Addresses that are not of the public internet, and names that stand for such. */
#ifndef CORRAL_DATA_RANGES_H
#define CORRAL_DATA_RANGES_H

#include "base/ip.h"

/* How far a rule may go: private ranges open up to who lists them, the others to nobody
 * but an address written as such. */
enum range_kind { RANGE_PRIVATE, RANGE_LOCAL, RANGE_METADATA, RANGE_RESERVED };

struct range {
	const char *text; /* "10.0.0.0/8" */
	struct network network;
	enum range_kind kind;
	const char *name; /* "a private network", "the loopback", "a link-local address" */
	const char *why;  /* a name may not lead here: one clause with the remedy */
};

/* The row that holds this address, or an IPv4 address inside it (mapped, compatible,
 * NAT64, 6to4, Teredo), whichever is kept more strictly; NULL for a public one. */
const struct range *range_of(const struct ip *ip);

/* The IPv4 address that a translator or tunnel takes out of this one; false for none. */
bool range_inner(const struct ip *ip, struct ip *ret);

/* Why a name is not public, one clause: ".internal", ".local", ".localhost", one label
 * alone, a metadata service; NULL for any other.  Lower case, without a trailing dot. */
const char *range_of_name(const char *name);

/* With a dot in front what lies beneath it is meant as well. */
struct range_name {
	const char *name;
	const char *what; /* "a name of local networks (.lan)" */
	const char *why;  /* as range_of_name() says it */
};

/* The row that range_of_name() answers by, or NULL. */
const struct range_name *range_name_row(const char *name);

/* For the tests, which hold every row against its text. */
extern const struct range ranges[];
extern const size_t ranges_count;
extern const struct range_name range_names[];
extern const size_t range_names_count;

#endif
