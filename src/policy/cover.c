/* SPDX-License-Identifier: Apache-2.0 */
/* Compares items of lists that grant: for the floor, and for the requests of agents and skills.
 *
 * Should:   decide from the texts alone, without the file system or a resolver.
 * Must not: let a name cover an address or the reverse: a connection to an allowed address is not
 *           inspected, one to an allowed name is.
 * Fails:    closed: a text that is no rule covers nothing and is not covered. */
#include "policy/cover.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/host_rule.h"

/* The ports of a rule without a port. */
static const int web_ports[] = {80, 443};

static bool network_within(const struct network *n, const struct network *in) {
	return n->bits >= in->bits && ip_network_holds(in, &n->ip);
}

static bool ends_beneath(const char *name, const char *domain) {
	size_t n = strlen(name), d = strlen(domain);
	return n > d + 1 && name[n - d - 1] == '.' && streq(name + n - d, domain);
}

static bool host_within(const struct host_rule *r, const struct host_rule *in) {
	if (r->kind == HOST_RULE_NETWORK || in->kind == HOST_RULE_NETWORK) {
		return r->kind == in->kind && network_within(&r->network, &in->network);
	}
	return (r->kind == in->kind && streq(r->name, in->name)) ||
	       (in->kind == HOST_RULE_BENEATH && ends_beneath(r->name, in->name));
}

/* HOST_PORT_ANY as `port`: every one. */
static bool has_port(const struct host_rule *r, int port) {
	if (r->port == HOST_PORT_NONE) {
		return port == web_ports[0] || port == web_ports[1];
	}
	return r->port == HOST_PORT_ANY || r->port == port;
}

static bool rule_of(const struct item *it, struct host_rule *ret) {
	struct host_fault fault;
	return it->kind == ITEM_PLAIN && host_rule_read(it->str, ret, &fault);
}

/* Whether some rule of the list covers the host at that port. */
static bool any_covers(const struct item *list, size_t n, const struct host_rule *r, int port) {
	for (size_t i = 0; i < n; i++) {
		struct host_rule in;
		if (rule_of(&list[i], &in) && has_port(&in, port) && host_within(r, &in)) {
			return true;
		}
	}
	return false;
}

static bool list_covers(const struct item *list, size_t n, const struct item *it) {
	struct host_rule r;
	if (it->kind == ITEM_SET) {
		for (size_t i = 0; i < n; i++) {
			if (list[i].kind == ITEM_SET && streq(list[i].str, it->str)) {
				return true;
			}
		}
		return false;
	}
	if (!rule_of(it, &r)) {
		return false;
	}
	return r.port == HOST_PORT_NONE ? any_covers(list, n, &r, web_ports[0]) &&
						  any_covers(list, n, &r, web_ports[1])
					: any_covers(list, n, &r, r.port);
}

bool cover_host(const struct value *allow, const struct item *it) {
	return list_covers(allow->items, allow->count, it);
}

bool cover_web_name(const struct item *it) {
	struct host_rule r;
	return rule_of(it, &r) && r.kind != HOST_RULE_NETWORK && r.port != HOST_PORT_ANY &&
	       (r.port == HOST_PORT_NONE || r.port == web_ports[0] || r.port == web_ports[1]);
}

bool cover_item(const struct key *k, const struct item *it, const struct item *bound) {
	struct network n, in;
	if (k->type == TYPE_HOSTS) {
		return list_covers(bound, 1, it);
	}
	if (k->type != TYPE_NETWORKS || it->kind != bound->kind) {
		return it->kind == bound->kind && streq(it->str, bound->str);
	}
	return ip_network_parse(it->str, strlen(it->str), &n) &&
	       ip_network_parse(bound->str, strlen(bound->str), &in) && network_within(&n, &in);
}
