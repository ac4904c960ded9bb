/* SPDX-License-Identifier: Apache-2.0 */
/* The special-purpose ranges of IPv4 and IPv6, and the DNS names that resolve into them.
 *
 * Should:   hold IANA's special-purpose registries, the addresses of cloud metadata
 *           services, and everything of IPv6 that is not assigned to the public internet.
 * Must not: allocate or convert: the gate looks up every connection.
 * Fails:    open: a missing row makes that range public.  So a registry's range that is
 *           public in part is refused as a whole. */
#include "data/ranges.h"

#include "base/auto.h"

#include <string.h>

#define V4(a, b, c, d, n)                                                                          \
#a "." #b "." #c "." #d "/" #n, {                                                          \
		{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (a), (b), (c), (d)}}, 96 + (n)         \
	}

#define HIGH(x) (uint8_t)((x) >> 8)
#define LOW(x) (uint8_t)((x)&0xff)
/* The first three groups and the last; none of the rows needs another. */
#define V6(text, a, b, c, last, n)                                                                 \
	text "/" #n, {                                                                             \
		{{HIGH(a), LOW(a), HIGH(b), LOW(b), HIGH(c), LOW(c), 0, 0, 0, 0, 0, 0, 0, 0,       \
		  HIGH(last), LOW(last)}},                                                         \
			(n)                                                                        \
	}

#define BY_ADDRESS(name) "it resolves to " name ", which only a rule for the address itself allows"
#define PRIVATE(name)                                                                              \
	RANGE_PRIVATE, name, "it resolves to " name ", which net.private does not list"
#define LOCAL(name)                                                                                \
	RANGE_LOCAL, name,                                                                         \
		"it resolves to " name ", which no rule for a name allows (see net.host_ports)"
#define LINK(name) RANGE_LOCAL, name, BY_ADDRESS(name)
#define METADATA(name) RANGE_METADATA, name, BY_ADDRESS(name)
#define RESERVED(name) RANGE_RESERVED, name, BY_ADDRESS(name)

/* clang-format off */
/* Sorted by address; the longest prefix that holds an address is its row. */
const struct range ranges[] = {
	{V4(0, 0, 0, 0, 8), LOCAL("this host")},
	{V4(10, 0, 0, 0, 8), PRIVATE("a private network")},
	{V4(100, 64, 0, 0, 10), PRIVATE("a provider's shared network")},
	{V4(100, 100, 100, 200, 32), METADATA("a cloud's metadata service")},
	{V4(127, 0, 0, 0, 8), LOCAL("the loopback")},
	{V4(168, 63, 129, 16, 32), METADATA("a cloud's metadata service")},
	{V4(169, 254, 0, 0, 16), LINK("a link-local address")},
	{V4(169, 254, 0, 23, 32), METADATA("a cloud's metadata service")},
	{V4(169, 254, 42, 42, 32), METADATA("a cloud's metadata service")},
	{V4(169, 254, 169, 254, 32), METADATA("a cloud's metadata service")},
	{V4(169, 254, 170, 2, 32), METADATA("a container's credential service")},
	{V4(169, 254, 170, 23, 32), METADATA("a container's credential service")},
	{V4(172, 16, 0, 0, 12), PRIVATE("a private network")},
	{V4(192, 0, 0, 0, 24), RESERVED("an IETF protocol address")},
	{V4(192, 0, 0, 192, 32), METADATA("a cloud's metadata service")},
	{V4(192, 0, 2, 0, 24), RESERVED("a documentation address")},
	{V4(192, 88, 99, 0, 24), RESERVED("a 6to4 relay")},
	{V4(192, 168, 0, 0, 16), PRIVATE("a private network")},
	{V4(198, 18, 0, 0, 15), PRIVATE("a network for benchmarks")},
	{V4(198, 51, 100, 0, 24), RESERVED("a documentation address")},
	{V4(203, 0, 113, 0, 24), RESERVED("a documentation address")},
	{V4(224, 0, 0, 0, 4), RESERVED("a multicast address")},
	{V4(240, 0, 0, 0, 4), RESERVED("a reserved address")},
	{V4(255, 255, 255, 255, 32), RESERVED("the broadcast address")},

	/* Everything outside of 2000::/3 is unassigned, or has a row below. */
	{V6("::", 0, 0, 0, 0, 3), RESERVED("an unassigned address")},
	{V6("::", 0, 0, 0, 0, 96), RESERVED("an IPv4-compatible IPv6 address")},
	{V6("::", 0, 0, 0, 0, 128), LOCAL("this host")},
	{V6("::1", 0, 0, 0, 1, 128), LOCAL("the loopback")},
	/* net.private may list it: a host without IPv4 reaches every IPv4 address through NAT64. */
	{V6("64:ff9b::", 0x64, 0xff9b, 0, 0, 96), PRIVATE("a NAT64 translator")},
	{V6("64:ff9b:1::", 0x64, 0xff9b, 1, 0, 48), RESERVED("a local NAT64 translator")},
	{V6("100::", 0x100, 0, 0, 0, 64), RESERVED("a discard-only address")},
	{V6("2001::", 0x2001, 0, 0, 0, 23), RESERVED("an IETF protocol address")},
	{V6("2001::", 0x2001, 0, 0, 0, 32), RESERVED("a Teredo tunnel to IPv4")},
	{V6("2001:db8::", 0x2001, 0xdb8, 0, 0, 32), RESERVED("a documentation address")},
	{V6("2002::", 0x2002, 0, 0, 0, 16), RESERVED("a 6to4 tunnel to IPv4")},
	{V6("3fff::", 0x3fff, 0, 0, 0, 20), RESERVED("a documentation address")},
	{V6("4000::", 0x4000, 0, 0, 0, 2), RESERVED("an unassigned address")},
	{V6("8000::", 0x8000, 0, 0, 0, 1), RESERVED("an unassigned address")},
	{V6("fc00::", 0xfc00, 0, 0, 0, 7), PRIVATE("a private network")},
	{V6("fd00:42::42", 0xfd00, 0x42, 0, 0x42, 128), METADATA("a cloud's metadata service")},
	{V6("fd00:ec2::23", 0xfd00, 0xec2, 0, 0x23, 128), METADATA("a container's credential service")},
	{V6("fd00:ec2::254", 0xfd00, 0xec2, 0, 0x254, 128), METADATA("a cloud's metadata service")},
	{V6("fd00:a9fe:a9fe::", 0xfd00, 0xa9fe, 0xa9fe, 0, 48), METADATA("a cloud's metadata service")},
	{V6("fd20:ce::254", 0xfd20, 0xce, 0, 0x254, 128), METADATA("a cloud's metadata service")},
	{V6("fe80::", 0xfe80, 0, 0, 0, 10), LINK("a link-local address")},
	{V6("fec0::", 0xfec0, 0, 0, 0, 10), RESERVED("a site-local address")},
	{V6("ff00::", 0xff00, 0, 0, 0, 8), RESERVED("a multicast address")},
};
/* clang-format on */
const size_t ranges_count = ARRAY_LEN(ranges);

static const struct range *row_of(const struct ip *ip) {
	const struct range *best = NULL;

	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		const struct range *r = &ranges[i];
		if ((best == NULL || r->network.bits > best->network.bits) &&
		    ip_network_holds(&r->network, ip)) {
			best = r;
		}
	}
	return best;
}

/* The offset of the IPv4 address behind each prefix that embeds one; Teredo inverts its bits. */
struct carrier {
	uint8_t prefix[12];
	size_t prefix_len;
	size_t at;
	uint8_t invert;
};

static const struct carrier carriers[] = {
	{{0}, 12, 12, 0},
	{{0x00, 0x64, 0xff, 0x9b}, 12, 12, 0},
	{{0x20, 0x01, 0, 0}, 4, 12, 0xff},
	{{0x20, 0x02}, 2, 2, 0},
};

bool range_inner(const struct ip *ip, struct ip *ret) {
	for (size_t i = 0; i < ARRAY_LEN(carriers); i++) {
		const struct carrier *c = &carriers[i];
		if (memcmp(ip->b, c->prefix, c->prefix_len) != 0) {
			continue;
		}
		uint8_t four[4];
		for (size_t k = 0; k < sizeof four; k++) {
			four[k] = (uint8_t)(ip->b[c->at + k] ^ c->invert);
		}
		*ret = ip_from4(four);
		return true;
	}
	return false;
}

const struct range *range_of(const struct ip *ip) {
	const struct range *outer = row_of(ip);
	struct ip inner;

	/* A row for one address, "::1", is not the IPv4-compatible form of 0.0.0.1. */
	if (outer == NULL || outer->network.bits == 128 || !range_inner(ip, &inner)) {
		return outer;
	}
	const struct range *r = row_of(&inner);
	/* net.private can allow a private range; an outer form that is always refused must stay so
	 * if it embeds a private address. */
	return r != NULL && (r->kind != RANGE_PRIVATE || outer->kind == RANGE_PRIVATE) ? r : outer;
}

#define NAMED(kind) kind, "it is " kind "; net.allow must list it by name"
#define METADATA_NAME NAMED("the name of a cloud's metadata service")
#define LOCAL_NAME(of, end) NAMED("a name of " of " (" end ")")

/* clang-format off */
const struct range_name range_names[] = {
	{".api.metadata.cloud.ibm.com", METADATA_NAME},
	{".corp", LOCAL_NAME("local networks", ".corp")},
	{".home", LOCAL_NAME("local networks", ".home")},
	{".home.arpa", LOCAL_NAME("local networks", ".home.arpa")},
	{".internal", LOCAL_NAME("local networks and metadata services", ".internal")},
	{".intranet", LOCAL_NAME("local networks", ".intranet")},
	{".lan", LOCAL_NAME("local networks", ".lan")},
	{".local", LOCAL_NAME("local networks", ".local")},
	{".localdomain", LOCAL_NAME("this host", ".localdomain")},
	{".localhost", LOCAL_NAME("this host", ".localhost")},
	{".metadata.goog", METADATA_NAME},
	{".metadata.packet.net", METADATA_NAME},
	{".metadata.platformequinix.com", METADATA_NAME},
	{".metadata.tencentyun.com", METADATA_NAME},
	{".private", LOCAL_NAME("local networks", ".private")},
	{".svc", LOCAL_NAME("services of a cluster", ".svc")},
	{"instance-data", METADATA_NAME},
	{"metadata", METADATA_NAME},
};
/* clang-format on */
const size_t range_names_count = ARRAY_LEN(range_names);

/* Row ".local" matches "x.local" and "local"; a row without the dot only itself. */
static bool ends_in(const char *name, size_t len, const char *row) {
	size_t n = strlen(row);

	if (row[0] != '.') {
		return n == len && memcmp(name, row, n) == 0;
	}
	if (len + 1 == n) {
		return memcmp(name, row + 1, len) == 0;
	}
	return len > n && memcmp(name + len - n, row, n) == 0;
}

static const struct range_name one_label = {"", NAMED("a name without a domain")};

const struct range_name *range_name_row(const char *name) {
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(range_names); i++) {
		if (ends_in(name, len, range_names[i].name)) {
			return &range_names[i];
		}
	}
	return memchr(name, '.', len) == NULL ? &one_label : NULL;
}

const char *range_of_name(const char *name) {
	const struct range_name *row = range_name_row(name);

	return row == NULL ? NULL : row->why;
}
