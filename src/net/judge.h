/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rules of net.allow, net.deny and net.private to names and addresses.  Pure. */
#ifndef CORRAL_NET_JUDGE_H
#define CORRAL_NET_JUDGE_H

#include "data/ranges.h"
#include "net/dns.h"
#include "plan/net/net.h"

/* Why an address or a name is refused whose DNS answer has a denied name among its aliases. */
extern const char judge_denied_alias[];

struct net_verdict {
	bool allowed;
	const struct net_rule *rule; /* that allows or denies; NULL: no rule matches */
	const char *why;             /* refused: one clause */
	bool unread; /* refused: the protocol cannot be inspected; a rule for the address allows it
		      */
	bool leak;   /* refused: the request has a secret */
	bool own; /* refused: an address of this host; a rule for exactly this address allows it */
};

/* port 0, for DNS: is the name allowed at any port? */
struct net_verdict judge_name(const struct net_plan *net, const char *name, uint16_t port);

/* An address without a name.  Allowed: rule is the one with the longest prefix. */
struct net_verdict judge_ip(const struct net_plan *net, const struct ip *ip, uint16_t port);

/* Whether judge_ip() found a rule for a single address (/32, /128): only such a rule allows an
 * address of this host. */
bool judge_is_single_address(const struct net_verdict *v);

/* The CNAMEs of an allowed name against net.deny; port 0: only rules for every port. */
struct net_verdict judge_aliases(const struct net_plan *net, const struct net_rule *by,
				 const struct dns_answer *a, uint16_t port);

/* The rules of net.deny for single ports of a CNAME.  They are kept with the address: connect(2)
 * has the port, but not the CNAMEs. */
#define ALIAS_PORTS 8

struct alias_ports {
	const struct net_rule *rules[ALIAS_PORTS];
	size_t n;
};

/* False: more than ALIAS_PORTS. */
bool judge_alias_ports(const struct net_plan *net, const struct dns_answer *a,
		       struct alias_ports *ret);

/* An address that an allowed name resolves to: refused by deny rules for addresses, and if it is
 * not public, unless net.private or the name's own rule allows that. */
struct net_verdict judge_target(const struct net_plan *net, const struct net_rule *by,
				const struct ip *ip, uint16_t port);

/* Whether a rule is for one exact name, at this port. */
bool judge_is_exact_name(const struct net_rule *r, uint16_t port);

/* Whether the answer has this address, or another form of the same IPv4 address (NAT64). */
bool judge_has_address(const struct dns_answer *a, const struct ip *ip);

#endif
