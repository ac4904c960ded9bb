/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that are not on the public internet, and DNS names that stand for such addresses. */
#ifndef CORRAL_DATA_RANGES_H
#define CORRAL_DATA_RANGES_H

#include "base/ip.h"

/* Which rule can allow a range: net.private for private ranges, for the others only a rule with
 * the address itself. */
enum range_kind { RANGE_PRIVATE, RANGE_LOCAL, RANGE_METADATA, RANGE_RESERVED };

struct range {
	const char *text; /* "10.0.0.0/8" */
	struct network network;
	enum range_kind kind;
	const char *name; /* "a private network", "the loopback", "a link-local address" */
	const char *why;  /* why a name may not resolve to it: one clause with the key to set */
};

/* The row that contains this address or the IPv4 address that it embeds (mapped, compatible,
 * NAT64, 6to4, Teredo), whichever is stricter; NULL for a public one. */
const struct range *range_of(const struct ip *ip);

/* The IPv4 address that this one embeds for a translator or tunnel; false for none. */
bool range_inner(const struct ip *ip, struct ip *ret);

/* Why a name is not public, one clause: ".internal", ".local", ".localhost", one label
 * alone, a metadata service; NULL for any other.  Lower case, without a trailing dot. */
const char *range_of_name(const char *name);

/* A leading dot matches the names beneath it as well. */
struct range_name {
	const char *name;
	const char *what; /* "a name of local networks (.lan)" */
	const char *why;  /* the text of range_of_name() */
};

/* The row of range_of_name(), or NULL. */
const struct range_name *range_name_row(const char *name);

/* For the tests, which compare every row with its text. */
extern const struct range ranges[];
extern const size_t ranges_count;
extern const struct range_name range_names[];
extern const size_t range_names_count;

#endif
