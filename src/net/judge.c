/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the policy's network rules to names and addresses.
 *
 * Should:   let a deny win over every allow; name the missing kind of rule in each refusal.
 * Must not: allocate, look anything up or keep state: a name or an address has the same verdict
 *           in the resolver, at connect(2) and in a request.
 * Fails:    closed: without a matching rule it is refused. */
#include "net/judge.h"

#include <string.h>

const char judge_denied_alias[] = "it is an alias (CNAME) of a name in net.deny";

#define HTTP_PORT 80
#define HTTPS_PORT 443

static struct net_verdict refused(const struct net_rule *rule, const char *why) {
	return (struct net_verdict){.allowed = false, .rule = rule, .why = why};
}

static struct net_verdict allowed(const struct net_rule *rule) {
	return (struct net_verdict){.allowed = true, .rule = rule};
}

/* ---- matching a rule ---- */

static bool is_beneath(const char *name, const char *base) {
	size_t n = strlen(name), len = strlen(base);

	return n > len + 1 && name[n - len - 1] == '.' && memcmp(name + n - len, base, len) == 0;
}

static bool matches_name(const struct net_rule *r, const char *name) {
	switch (r->kind) {
	case NET_RULE_NAME:
		return strcmp(r->name, name) == 0;
	case NET_RULE_BENEATH:
		return is_beneath(name, r->name);
	case NET_RULE_ANY:
		return true;
	default:
		return false;
	}
}

/* port 0: at any port. */
static bool allows_port(const struct net_rule *r, uint16_t port) {
	if (port == 0 || r->port == NET_PORT_ANY) {
		return true;
	}
	return r->port == NET_PORT_WEB ? port == HTTP_PORT || port == HTTPS_PORT : r->port == port;
}

/* port 0: at every port.  A deny without a port is for every port, unlike an allow, which is for 80
 * and 443. */
static bool denies_port(const struct net_rule *r, uint16_t port) {
	return r->port == NET_PORT_ANY || r->port == NET_PORT_WEB || (port != 0 && r->port == port);
}

static const struct net_rule *deny_of_name(const struct net_plan *net, const char *name,
					   uint16_t port) {
	for (size_t i = 0; i < net->ndeny; i++) {
		if (denies_port(&net->deny[i], port) && matches_name(&net->deny[i], name)) {
			return &net->deny[i];
		}
	}
	return NULL;
}

/* A translated address (NAT64, 6to4) is also denied by a rule for the IPv4 address inside it. */
static const struct net_rule *deny_of_ip(const struct net_plan *net, const struct ip *ip,
					 uint16_t port) {
	struct ip inner = *ip;

	(void)range_inner(ip, &inner); /* false: inner stays the address itself */
	for (size_t i = 0; i < net->ndeny; i++) {
		const struct net_rule *r = &net->deny[i];
		if (r->kind == NET_RULE_NETWORK && denies_port(r, port) &&
		    (ip_network_holds(&r->network, ip) || ip_network_holds(&r->network, &inner))) {
			return r;
		}
	}
	return NULL;
}

/* ---- names ---- */

/* Whether the denies leave one of the ports that an allow opens. */
static bool leaves_port(const struct net_plan *net, const struct net_rule *r, const char *name) {
	if (r->port == NET_PORT_WEB) {
		return deny_of_name(net, name, HTTP_PORT) == NULL ||
		       deny_of_name(net, name, HTTPS_PORT) == NULL;
	}
	return r->port == NET_PORT_ANY || deny_of_name(net, name, (uint16_t)r->port) == NULL;
}

struct net_verdict judge_name(const struct net_plan *net, const char *name, uint16_t port) {
	const struct net_rule *deny = deny_of_name(net, name, port);
	const char *why = "no rule of net.allow matches this name";

	if (deny != NULL) {
		return refused(deny, "a rule of net.deny matches this name");
	}
	for (size_t i = 0; i < net->nallow; i++) {
		const struct net_rule *r = &net->allow[i];
		if (!matches_name(r, name)) {
			continue;
		}
		const char *local = r->kind == NET_RULE_ANY ? range_of_name(name) : NULL;
		if (local != NULL) {
			why = local;
		} else if (!allows_port(r, port)) {
			why = "net.allow has this name, but not for this port";
		} else if (port != 0 || leaves_port(net, r, name)) {
			return allowed(r);
		} else {
			why = "net.deny denies every port that net.allow opens";
		}
	}
	return refused(NULL, why);
}

/* ---- addresses ---- */

/* A rule for a wide network does not include the special ranges in it: 0.0.0.0/0 must not open the
 * loopback or a metadata service. */
static bool covers(const struct network *n, const struct ip *ip) {
	const struct range *special = range_of(ip);

	if (special == NULL || n->bits == 128) {
		return true;
	}
	return n->bits >= special->network.bits && ip_network_holds(&special->network, &n->ip);
}

struct net_verdict judge_ip(const struct net_plan *net, const struct ip *ip, uint16_t port) {
	const struct net_rule *deny = deny_of_ip(net, ip, port), *best = NULL;
	const char *why = "no rule of net.allow matches this address";

	if (deny != NULL) {
		return refused(deny, "a rule of net.deny matches this address");
	}
	for (size_t i = 0; i < net->nallow; i++) {
		const struct net_rule *r = &net->allow[i];
		if (r->kind != NET_RULE_NETWORK || !ip_network_holds(&r->network, ip)) {
			continue;
		}
		if (!covers(&r->network, ip)) {
			why = "net.allow has only a wider network; a special range needs its own "
			      "rule";
		} else if (!allows_port(r, port)) {
			why = "net.allow has this address, but not for this port";
		} else if (best == NULL || r->network.bits > best->network.bits) {
			best = r; /* the longest prefix, for judge_is_single_address() */
		}
	}
	return best != NULL ? allowed(best) : refused(NULL, why);
}

bool judge_is_single_address(const struct net_verdict *v) {
	return v->allowed && v->rule != NULL && v->rule->network.bits == 128;
}

/* ---- CNAMEs and addresses of names ---- */

static bool in_reach(const struct net_plan *net, const struct ip *ip) {
	for (size_t i = 0; i < net->nreach; i++) {
		if (ip_network_holds(&net->reach[i], ip)) {
			return true;
		}
	}
	return false;
}

/* A NAT64 prefix in net.private opens only the public addresses behind it. */
static bool reaches(const struct net_plan *net, const struct ip *ip) {
	struct ip inner;

	if (!in_reach(net, ip)) {
		return false;
	}
	return !range_inner(ip, &inner) || range_of(&inner) == NULL || in_reach(net, &inner);
}

struct net_verdict judge_aliases(const struct net_plan *net, const struct net_rule *by,
				 const struct dns_answer *a, uint16_t port) {
	for (size_t i = 0; i < a->nchain; i++) {
		const struct net_rule *deny = deny_of_name(net, a->chain[i], port);
		if (deny != NULL) {
			return refused(deny, judge_denied_alias);
		}
	}
	return allowed(by);
}

bool judge_alias_ports(const struct net_plan *net, const struct dns_answer *a,
		       struct alias_ports *ret) {
	ret->n = 0;
	for (size_t i = 0; i < a->nchain; i++) {
		for (size_t j = 0; j < net->ndeny; j++) {
			const struct net_rule *r = &net->deny[j];
			if (r->port <= 0 || !matches_name(r, a->chain[i])) {
				continue;
			}
			if (ret->n == ALIAS_PORTS) {
				return false;
			}
			ret->rules[ret->n++] = r;
		}
	}
	return true;
}

struct net_verdict judge_target(const struct net_plan *net, const struct net_rule *by,
				const struct ip *ip, uint16_t port) {
	const struct net_rule *deny = deny_of_ip(net, ip, port);
	const struct range *special = range_of(ip);

	if (deny != NULL) {
		return refused(deny, "it resolves to an address in net.deny");
	}
	if (special == NULL) {
		return allowed(by);
	}
	if (special->kind == RANGE_PRIVATE &&
	    ((by != NULL && by->may_be_private) || reaches(net, ip))) {
		return allowed(by);
	}
	if (judge_ip(net, ip, port).allowed) {
		return allowed(by);
	}
	return refused(NULL, special->why);
}

/* ---- addresses of denied names ---- */

bool judge_is_exact_name(const struct net_rule *r, uint16_t port) {
	return r->kind == NET_RULE_NAME && (r->port <= 0 || r->port == port);
}

/* The destination: the IPv4 address inside a translated address. */
static struct ip destination(const struct ip *ip) {
	struct ip inner = *ip;

	(void)range_inner(ip, &inner); /* false: inner stays the address itself */
	return inner;
}

bool judge_has_address(const struct dns_answer *a, const struct ip *ip) {
	struct ip wanted = destination(ip);

	for (size_t i = 0; i < a->nips; i++) {
		struct ip found = destination(&a->ips[i]);
		if (ip_same(&found, &wanted)) {
			return true;
		}
	}
	return false;
}
