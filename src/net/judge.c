/* Names and addresses against the rules of the policy.
 *
 * Should:   let a deny win over every allow; say in each refusal which kind of rule is
 *           missing.
 * Must not: allocate, look anything up or keep anything: the same question has the same
 *           answer at the resolver, at connect and in a request.
 * Fails:    closed: what no rule speaks of is refused. */
#include "net/judge.h"

#include <string.h>

const char judge_denied_alias[] = "it is a CNAME for a name that net.deny denies";

#define HTTP_PORT 80
#define HTTPS_PORT 443

static struct net_verdict refused(const struct net_rule *rule, const char *why) {
	return (struct net_verdict){.allowed = false, .rule = rule, .why = why};
}

static struct net_verdict allowed(const struct net_rule *rule) {
	return (struct net_verdict){.allowed = true, .rule = rule};
}

/* ---- what a rule is about ---- */

static bool is_beneath(const char *name, const char *base) {
	size_t n = strlen(name), len = strlen(base);

	return n > len + 1 && name[n - len - 1] == '.' && memcmp(name + n - len, base, len) == 0;
}

static bool names(const struct net_rule *r, const char *name) {
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

/* port 0: at some port. */
static bool allows_port(const struct net_rule *r, uint16_t port) {
	if (port == 0 || r->port == NET_PORT_ANY) {
		return true;
	}
	return r->port == NET_PORT_WEB ? port == HTTP_PORT || port == HTTPS_PORT : r->port == port;
}

/* port 0: at every port.  A deny without a port is about all of them: whoever denies a host
 * does not mean two of its ports. */
static bool denies_port(const struct net_rule *r, uint16_t port) {
	return r->port == NET_PORT_ANY || r->port == NET_PORT_WEB || (port != 0 && r->port == port);
}

static const struct net_rule *deny_of_name(const struct net_plan *net, const char *name,
					   uint16_t port) {
	for (size_t i = 0; i < net->ndeny; i++) {
		if (denies_port(&net->deny[i], port) && names(&net->deny[i], name)) {
			return &net->deny[i];
		}
	}
	return NULL;
}

/* A translated address is denied by a rule about the one inside it as well. */
static const struct net_rule *deny_of_ip(const struct net_plan *net, const struct ip *ip,
					 uint16_t port) {
	struct ip inner = *ip;

	(void)range_inner(ip, &inner); /* without one it stays the address itself */
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
	const char *why = "no rule of net.allow has this name";

	if (deny != NULL) {
		return refused(deny, "a rule of net.deny names it");
	}
	for (size_t i = 0; i < net->nallow; i++) {
		const struct net_rule *r = &net->allow[i];
		if (!names(r, name)) {
			continue;
		}
		const char *local = r->kind == NET_RULE_ANY ? range_of_name(name) : NULL;
		if (local != NULL) {
			why = local;
		} else if (!allows_port(r, port)) {
			why = "net.allow has this name, but not with this port";
		} else if (port != 0 || leaves_port(net, r, name)) {
			return allowed(r);
		} else {
			why = "net.deny has every port that net.allow opens";
		}
	}
	return refused(NULL, why);
}

/* ---- addresses ---- */

/* A wide network says nothing about the special ranges in it: who wrote 0.0.0.0/0 did not
 * ask for the loopback or a metadata service. */
static bool speaks_of(const struct network *n, const struct ip *ip) {
	const struct range *special = range_of(ip);

	if (special == NULL || n->bits == 128) {
		return true;
	}
	return n->bits >= special->network.bits && ip_network_holds(&special->network, &n->ip);
}

struct net_verdict judge_ip(const struct net_plan *net, const struct ip *ip, uint16_t port) {
	const struct net_rule *deny = deny_of_ip(net, ip, port), *best = NULL;
	const char *why = "no rule of net.allow has this address";

	if (deny != NULL) {
		return refused(deny, "a rule of net.deny has this address");
	}
	for (size_t i = 0; i < net->nallow; i++) {
		const struct net_rule *r = &net->allow[i];
		if (r->kind != NET_RULE_NETWORK || !ip_network_holds(&r->network, ip)) {
			continue;
		}
		if (!speaks_of(&r->network, ip)) {
			why = "net.allow has only a wider network: list this special range itself";
		} else if (!allows_port(r, port)) {
			why = "net.allow has this address, but not with this port";
		} else if (best == NULL || r->network.bits > best->network.bits) {
			best = r; /* the narrowest: whether the address itself is listed matters */
		}
	}
	return best != NULL ? allowed(best) : refused(NULL, why);
}

bool judge_is_single_address(const struct net_verdict *v) {
	return v->allowed && v->rule != NULL && v->rule->network.bits == 128;
}

/* ---- where names lead ---- */

static bool in_reach(const struct net_plan *net, const struct ip *ip) {
	for (size_t i = 0; i < net->nreach; i++) {
		if (ip_network_holds(&net->reach[i], ip)) {
			return true;
		}
	}
	return false;
}

/* net.private with a translator's network is about the public addresses behind it. */
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
			if (r->port <= 0 || !names(r, a->chain[i])) {
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
		return refused(deny, "it leads to an address that a rule of net.deny has");
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

/* The one that is reached: of a translated address the one inside it. */
static struct ip reached(const struct ip *ip) {
	struct ip inner = *ip;

	(void)range_inner(ip, &inner); /* without one it stays the address itself */
	return inner;
}

bool judge_has_address(const struct dns_answer *a, const struct ip *ip) {
	struct ip wanted = reached(ip);

	for (size_t i = 0; i < a->nips; i++) {
		struct ip found = reached(&a->ips[i]);
		if (ip_same(&found, &wanted)) {
			return true;
		}
	}
	return false;
}
