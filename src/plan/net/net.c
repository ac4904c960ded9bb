/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the network rules of the gate from the policy and from the host's configuration.
 *
 * Theory.  The gate reads only plan->net.  Rules are sorted, so that the order in which they were
 * written cannot matter (L2); any rule that allows is sufficient, and those that may resolve to
 * private addresses come first.  A deny without a port applies to every port, an allow without a
 * port to 80 and 443.
 *
 * Should:   refuse a network mode that this host's kernel cannot enforce.
 * Must not: allow a host that neither the policy nor the host's own files name.
 * Fails:    closed: without a broker there is no gate, and without a gate no run. */
#include "plan/net/net.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "plan/internal.h"
#include "policy/host_rule.h"
#include "policy/endpoint.h"

#include <stdlib.h>

/* The gate searches the whole list for each connection. */
#define RULES_MAX 4096

/* ---- rules ---- */

static void add_rule(struct builder *b, const struct net_rule *rule, bool deny) {
	struct net_plan *net = &b->plan->net;
	struct net_rule **list = deny ? &net->deny : &net->allow;
	size_t *n = deny ? &net->ndeny : &net->nallow;
	size_t *cap = deny ? &net->deny_cap : &net->allow_cap;

	if (arena_grow(b->a, list, *n, cap, sizeof **list) != 0) {
		b->out_of_memory = true;
		return;
	}
	(*list)[(*n)++] = *rule;
}

void net_add(struct builder *b, const struct net_rule *rule) {
	add_rule(b, rule, false);
}

static void add_written(struct builder *b, const struct item *it, bool deny) {
	static const enum net_rule_kind kinds[] = {
		[HOST_RULE_NAME] = NET_RULE_NAME,
		[HOST_RULE_BENEATH] = NET_RULE_BENEATH,
		[HOST_RULE_NETWORK] = NET_RULE_NETWORK,
	};
	struct host_rule read;
	struct host_fault fault;

	if (!host_rule_read(it->str, &read, &fault)) {
		return; /* the policy has parsed it already */
	}
	bool every = read.port == HOST_PORT_ANY || (deny && read.port == HOST_PORT_NONE);
	struct net_rule rule = {
		.kind = kinds[read.kind],
		.name = read.kind == HOST_RULE_NETWORK ? NULL
						       : plan_keep_printf(b, "%s", read.name),
		.network = read.network,
		.port = every ? NET_PORT_ANY : read.port,
		.written = it->str,
		.origin = it->origin,
	};
	add_rule(b, &rule, deny);
}

static void add_lists(struct builder *b) {
	const struct value *mode = &b->p->values[KEY_NET_MODE];
	const struct value *allow = &b->p->values[KEY_NET_ALLOW];
	const struct value *deny = &b->p->values[KEY_NET_DENY];

	if (mode->num == NET_RESTRICTED) {
		struct net_rule any = {
			.kind = NET_RULE_ANY,
			.port = NET_PORT_WEB,
			.written = "*",
			.note = "every public name: net.mode is restricted",
			.origin = mode->origin,
		};
		net_add(b, &any);
	}
	for (size_t i = 0; i < allow->count; i++) {
		const struct item *it = &allow->items[i];
		if (it->kind != ITEM_SET) {
			add_written(b, it, false);
		} else if (streq(it->str, "registries")) {
			registries_add(b, it);
		} else {
			remotes_add(b, it);
		}
	}
	for (size_t i = 0; i < deny->count; i++) {
		add_written(b, &deny->items[i], true);
	}
}

/* ---- order ---- */

static int text_order(const char *a, const char *b) {
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

/* Compares the fields that the gate reads: rules that are equal in these are one. */
static int meaning_order(const struct net_rule *a, const struct net_rule *b) {
	int order = (int)a->kind - (int)b->kind;
	if (order == 0) {
		order = text_order(a->name, b->name);
	}
	if (order == 0) {
		order = memcmp(a->network.ip.b, b->network.ip.b, sizeof a->network.ip.b);
	}
	if (order == 0) {
		order = (int)a->network.bits - (int)b->network.bits;
	}
	return order != 0 ? order : a->port - b->port;
}

static int rule_order(const void *left, const void *right) {
	const struct net_rule *a = left, *b = right;
	int order = (int)b->may_be_private - (int)a->may_be_private;
	if (order == 0) {
		order = meaning_order(a, b);
	}
	if (order == 0) {
		order = (int)a->origin.kind - (int)b->origin.kind;
	}
	if (order == 0) {
		order = text_order(a->origin.name, b->origin.name);
	}
	if (order == 0) {
		order = a->origin.line - b->origin.line;
	}
	if (order == 0) {
		order = text_order(a->written, b->written);
	}
	return order != 0 ? order : text_order(a->note, b->note);
}

static void settle(struct net_rule *rules, size_t *n) {
	size_t kept = 0;
	if (*n == 0) {
		return;
	}
	qsort(rules, *n, sizeof *rules, rule_order);
	for (size_t i = 0; i < *n; i++) {
		bool same = kept > 0 && rules[kept - 1].may_be_private == rules[i].may_be_private &&
			    meaning_order(&rules[kept - 1], &rules[i]) == 0;
		if (!same) {
			rules[kept++] = rules[i];
		}
	}
	*n = kept;
}

/* ---- networks and ports ---- */

static int network_order(const void *left, const void *right) {
	const struct network *a = left, *b = right;
	int order = memcmp(a->ip.b, b->ip.b, sizeof a->ip.b);
	return order != 0 ? order : (int)a->bits - (int)b->bits;
}

static int publish_order(const void *left, const void *right) {
	const struct net_publish *a = left, *b = right;
	return a->outside != b->outside ? (int)a->outside - (int)b->outside
					: (int)a->inside - (int)b->inside;
}

static int port_order(const void *left, const void *right) {
	return (int)*(const uint16_t *)left - (int)*(const uint16_t *)right;
}

static int parse_lists(struct builder *b, struct err *e) {
	struct net_plan *net = &b->plan->net;
	const struct value *reach = &b->p->values[KEY_NET_PRIVATE];
	const struct value *publish = &b->p->values[KEY_NET_PUBLISH];
	const struct value *ports = &b->p->values[KEY_NET_HOST_PORTS];
	uint16_t same;

	net->reach = arena_array(b->a, reach->count + 1, sizeof *net->reach);
	net->publish = arena_array(b->a, publish->count + 1, sizeof *net->publish);
	net->host_ports = arena_array(b->a, ports->count + 1, sizeof *net->host_ports);
	if (net->reach == NULL || net->publish == NULL || net->host_ports == NULL) {
		return err_memory(e, WHERE);
	}
	/* The policy has parsed them already: no error is possible. */
	for (size_t i = 0; i < reach->count; i++) {
		const char *text = reach->items[i].str;
		net->nreach += ip_network_parse(text, strlen(text), &net->reach[net->nreach]);
	}
	for (size_t i = 0; i < publish->count; i++) {
		struct net_publish *one = &net->publish[net->npublish];
		net->npublish +=
			endpoint_port_pair(publish->items[i].str, &one->inside, &one->outside);
	}
	for (size_t i = 0; i < ports->count; i++) {
		net->nhost_ports += endpoint_port_pair(ports->items[i].str,
						       &net->host_ports[net->nhost_ports], &same);
	}
	qsort(net->reach, net->nreach, sizeof *net->reach, network_order);
	qsort(net->publish, net->npublish, sizeof *net->publish, publish_order);
	qsort(net->host_ports, net->nhost_ports, sizeof *net->host_ports, port_order);
	return 0;
}

/* Ports of the loopback inside that Corral itself uses: the host's port could not be reached
 * there. */
static const struct {
	uint16_t port;
	bool proxy; /* only with net.proxy */
	const char *user, *remedy;
} own_ports[] = {
	{53, false, "the sandbox's resolver",
	 "remove --host-port 53: names are resolved without it"},
	{NET_PROXY_HTTP, true, "the sandbox's HTTP proxy",
	 "remove --proxy: programs reach the network without it"},
	{NET_PROXY_SOCKS, true, "the sandbox's SOCKS proxy",
	 "remove --proxy: programs reach the network without it"},
};

static int port_clash(const struct builder *b, struct err *e) {
	const struct net_plan *net = &b->plan->net;
	for (size_t i = 0; i < net->nhost_ports * ARRAY_LEN(own_ports); i++) {
		uint16_t port = net->host_ports[i / ARRAY_LEN(own_ports)];
		size_t t = i % ARRAY_LEN(own_ports);
		if (port == own_ports[t].port && (net->proxy || !own_ports[t].proxy)) {
			err_set(e, ERR_USAGE, WHERE, "--host-port %u: %s uses this port", port,
				own_ports[t].user);
			return err_fix(e, "%s", own_ports[t].remedy);
		}
	}
	return 0;
}

/* ---- requirements ---- */

static bool means(const struct builder *b, enum key_id key) {
	return net_asked(b->p, key) != NULL && net_means(key, policy_num(b->p, KEY_NET_MODE));
}

static bool wants_gate(const struct builder *b) {
	int64_t mode = policy_num(b->p, KEY_NET_MODE);
	return mode == NET_FILTERED || mode == NET_RESTRICTED || means(b, KEY_NET_PUBLISH) ||
	       means(b, KEY_NET_HOST_PORTS);
}

/* The key that needs a gate, for messages. */
static const char *key_of_gate(const struct builder *b, const struct origin **ret_from) {
	int64_t mode = policy_num(b->p, KEY_NET_MODE);
	enum key_id key = mode != NET_NONE                   ? KEY_NET_MODE
			  : net_asked(b->p, KEY_NET_PUBLISH) ? KEY_NET_PUBLISH
							     : KEY_NET_HOST_PORTS;
	*ret_from = mode != NET_NONE ? &b->p->values[KEY_NET_MODE].origin : net_asked(b->p, key);
	return mode == NET_FILTERED     ? "net.mode filtered"
	       : mode == NET_RESTRICTED ? "net.mode restricted"
					: keys[key].name;
}

static int check_host(const struct builder *b, struct err *e) {
	const struct origin *from;
	const char *what = key_of_gate(b, &from);
	char origin[128];

	policy_origin_text(from, origin, sizeof origin);
	if ((b->h->notify && b->h->sockets) || b->plan->engine == ENGINE_SEATBELT) {
		return 0;
	}
	err_set(e, ERR_SETUP, WHERE, "%s (%s) cannot be enforced on this host: %s", what, origin,
		b->h->notify_why != NULL
			? b->h->notify_why
			: "the command's sockets cannot be duplicated (pidfd_getfd)");
	return err_fix(e,
		       "use --net none or --net full; `corral status` lists the missing features");
}

/* ---- texts ---- */

static void read_host_files(struct builder *b) {
	struct net_plan *net = &b->plan->net;
	const char *resolv = host_fs_text(b, "/etc/resolv.conf", NET_RESOLV_CONF_MAX);
	const char *hosts = host_fs_text(b, "/etc/hosts", NET_HOSTS_MAX);

	net->resolv_conf = resolv == NULL ? "" : resolv;
	net->hosts = hosts == NULL ? "" : hosts;
	if (resolv == NULL) {
		plan_note(b, "/etc/resolv.conf cannot be read: only names of /etc/hosts can be "
			     "resolved");
	}
	if (hosts == NULL && host_fs_look(b, "/etc/hosts").kind != LOOK_NOTHING) {
		plan_note(b, "/etc/hosts cannot be read, or is larger than 1 MiB: it is not used");
	}
}

/* The rest of a line after its keyword; NULL for another line. */
static const char *after_keyword(const char *line, const char *word) {
	size_t n = strlen(word);
	return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t') ? line + n : NULL;
}

static const char *line_text(struct builder *b, const char *from) {
	from += strspn(from, " \t");
	return plan_keep_printf(b, "%.*s", (int)strcspn(from, "\r\n"), from);
}

static const char *resolver_text(struct builder *b) {
	const struct net_plan *net = &b->plan->net;
	const char *search = NULL, *dots = NULL;

	for (const char *p = net->resolv_conf; *p != '\0';) {
		const char *domain = after_keyword(p, "domain"), *list = after_keyword(p, "search");
		const char *options = after_keyword(p, "options");
		if (domain != NULL || list != NULL) { /* the last line of either counts */
			search = line_text(b, domain != NULL ? domain : list);
		}
		const char *at = options == NULL ? NULL : strstr(line_text(b, options), "ndots:");
		if (at != NULL) {
			dots = plan_keep_printf(b, "%.*s", (int)strcspn(at, " \t"), at);
		}
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return plan_keep_printf(b, "nameserver " NET_RESOLVER "\n%s%s%s%s%s%s%s",
				search == NULL ? "" : "search ", search == NULL ? "" : search,
				search == NULL ? "" : "\n", dots == NULL ? "" : "options ",
				dots == NULL ? "" : dots, dots == NULL ? "" : "\n",
				b->h->asks ? "options " NET_PATIENT "\n" : "");
}

/* For a run that can resolve no names.  The server is a documentation address (RFC 5737):
 * sendto(2) fails at once with ENETUNREACH, whereas an unconnected socket gets no error from a
 * closed port of loopback.  musl ignores that error and waits five seconds for an answer; with a
 * time-out of 0 it does not wait. */
static const char no_resolver[] = "# written by Corral: this run can resolve no names\n"
				  "nameserver 192.0.2.1\n"
				  "options timeout:0 attempts:1\n";

/* ---- the steps ---- */

/* Reports keys that net.mode makes ineffective.  For a deny that is a warning. */
static void report_ineffective_keys(struct builder *b) {
	static const enum key_id listed[] = {KEY_NET_ALLOW, KEY_NET_DENY,    KEY_NET_PRIVATE,
					     KEY_NET_PROXY, KEY_NET_PUBLISH, KEY_NET_HOST_PORTS};
	const struct value *mode = &b->p->values[KEY_NET_MODE];
	char from[128], by[128];

	for (size_t i = 0; i < ARRAY_LEN(listed); i++) {
		const struct origin *o = net_asked(b->p, listed[i]);
		if (o == NULL || net_means(listed[i], mode->num)) {
			continue;
		}
		const char *text = plan_keep_printf(
			b, "%s (%s) has no effect: net.mode is %s (%s)", keys[listed[i]].name,
			policy_origin_text(o, from, sizeof from),
			keys[KEY_NET_MODE].choices[mode->num],
			policy_origin_text(&mode->origin, by, sizeof by));
		(listed[i] == KEY_NET_DENY ? plan_warn : plan_note)(b, text);
	}
}

int net_choose(struct builder *b, struct err *e) {
	struct net_plan *net = &b->plan->net;

	net->mode = (enum net)policy_num(b->p, KEY_NET_MODE);
	net->resolv_conf = net->hosts = "";
	b->plan->own_net = net->mode != NET_FULL;
	report_ineffective_keys(b);
	/* At level none nothing is enforced; the guarantees report that. */
	net->gate = b->plan->level != LEVEL_NONE && wants_gate(b);
	net->resolver = b->no_namespaces || !b->plan->own_net ? NULL : no_resolver;
	if (!net->gate) {
		return 0;
	}
	net->proxy = means(b, KEY_NET_PROXY);
	if (check_host(b, e) != 0 || parse_lists(b, e) != 0 || port_clash(b, e) != 0) {
		return -1;
	}
	if (net_has_names(net)) {
		read_host_files(b);
		net->resolver = b->no_namespaces ? NULL : resolver_text(b);
	}
	return 0;
}

int net_finish(struct builder *b, struct err *e) {
	struct plan *plan = b->plan;
	struct net_plan *net = &plan->net;

	if (!net->gate) {
		return 0;
	}
	if (plan->engine != ENGINE_SEATBELT) {
		plan->broker = true;
		plan->traits |= TRAIT_BROKER | TRAIT_GATE;
	}
	if (!net_has_names(net)) {
		return 0;
	}
	add_lists(b);
	settle(net->allow, &net->nallow);
	settle(net->deny, &net->ndeny);
	if (net->nallow > RULES_MAX || net->ndeny > RULES_MAX) {
		return err_set(e, ERR_USAGE, WHERE, "net.allow or net.deny has more than %d rules",
			       RULES_MAX);
	}
	if (net->nallow == 0) {
		plan_note(b, "net.mode is filtered, but no host is allowed; allow one: "
			     "--allow-host HOST");
	}
	return 0;
}
