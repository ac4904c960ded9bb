/* The rules about names and addresses, pure: one decision a question. */
#ifndef CORRAL_NET_JUDGE_H
#define CORRAL_NET_JUDGE_H

#include "data/ranges.h"
#include "net/dns.h"
#include "plan/net/net.h"

/* Why an address or a name is refused whose DNS answer has a denied name among its aliases. */
extern const char judge_denied_alias[];

struct net_verdict {
	bool allowed;
	const struct net_rule *rule; /* that allows or denies; NULL: none speaks of it */
	const char *why;             /* refused: one clause */
	bool unread; /* refused because nobody reads what is said; by address it is not asked */
	bool own;    /* refused because it is this host; a rule for the address alone allows it */
};

/* port 0: is there any port at which this name may be reached (DNS)? */
struct net_verdict judge_name(const struct net_plan *net, const char *name, uint16_t port);

/* An address that was written as such, without a name.  Allowed: by the narrowest rule. */
struct net_verdict judge_ip(const struct net_plan *net, const struct ip *ip, uint16_t port);

/* Whether judge_ip() found a rule about this address alone: only such a one opens an address of
 * this host itself. */
bool judge_is_single_address(const struct net_verdict *v);

/* The names that an allowed one is an alias of; port 0: a deny about every port alone. */
struct net_verdict judge_aliases(const struct net_plan *net, const struct net_rule *by,
				 const struct dns_answer *a, uint16_t port);

/* The rules of net.deny about one port of an alias: who connects to an address later has the port,
 * but not the aliases any more. */
#define ALIAS_PORTS 8

struct alias_ports {
	const struct net_rule *rules[ALIAS_PORTS];
	size_t n;
};

/* False: there are more than that. */
bool judge_alias_ports(const struct net_plan *net, const struct dns_answer *a,
		       struct alias_ports *ret);

/* An address that an allowed name leads to: deny rules about addresses, and what is
 * not public unless net.private or the name's own rule says so. */
struct net_verdict judge_target(const struct net_plan *net, const struct net_rule *by,
				const struct ip *ip, uint16_t port);

/* Whether a rule is about one exact name, at this port. */
bool judge_is_exact_name(const struct net_rule *r, uint16_t port);

/* Whether one of these addresses is this one, or both are forms of the same IPv4 address. */
bool judge_has_address(const struct dns_answer *a, const struct ip *ip);

#endif
