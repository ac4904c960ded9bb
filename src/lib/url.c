/* SPDX-License-Identifier: Apache-2.0 */
/* corral_url_check(): parses a URL, resolves its name, and checks the addresses (against SSRF).
 *
 * Should:   return the addresses that were checked, so that the caller connects to these and
 *           does not resolve the name again (DNS rebinding).
 * Must not: fetch the URL or follow a redirect.
 * Fails:    closed: a name that does not resolve is refused. */
#include "lib/internal.h"

#include "base/auto.h"
#include "gate/dns/lookup_sync.h"
#include "gate/local_address.h"
#include "lib/sized.h"
#include "net/judge.h"
#include "net/url.h"
#include "policy/host_rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ADDRESSES_MAX ((size_t)2 * DNS_ADDRESSES)

struct corral_url {
	char *text;
	bool allowed;
	const char *scheme; /* NULL: neither http nor https */
	char host[HOSTNAME_MAX + 1];
	uint16_t port;
	char addresses[ADDRESSES_MAX][IP_TEXT];
	size_t count;
	const char *rule, *remedy;
	char reason[HOSTNAME_MAX + 200];
};

/* ---- the policy's lists ---- */

struct lists {
	struct net_plan net; /* deny and reach alone */
	struct url_reach reach;
};

static int read_deny(struct arena *a, const struct value *list, struct net_plan *net,
		     struct err *e) {
	net->deny = arena_alloc(a, (list->count + 1) * sizeof *net->deny);
	for (size_t i = 0; net->deny != NULL && i < list->count; i++) {
		struct host_rule r;
		struct host_fault fault;
		if (!host_rule_read(list->items[i].str, &r, &fault)) {
			return err_set(e, ERR_USAGE, "net.deny", "%s: %s", list->items[i].str,
				       fault.why);
		}
		net->deny[net->ndeny++] = (struct net_rule){
			.kind = r.kind == HOST_RULE_NAME      ? NET_RULE_NAME
				: r.kind == HOST_RULE_BENEATH ? NET_RULE_BENEATH
							      : NET_RULE_NETWORK,
			.name = arena_strdup(a, r.name),
			.network = r.network,
			.port = r.port,
			.written = list->items[i].str,
		};
		if (net->deny[i].name == NULL) {
			return err_memory(e, "library");
		}
	}
	return net->deny == NULL ? err_memory(e, "library") : 0;
}

static int read_reach(struct arena *a, const struct value *list, struct net_plan *net,
		      struct err *e) {
	net->reach = arena_alloc(a, (list->count + 1) * sizeof *net->reach);
	for (size_t i = 0; net->reach != NULL && i < list->count; i++) {
		const char *text = list->items[i].str;
		if (!ip_network_parse(text, strlen(text), &net->reach[net->nreach++])) {
			return err_set(e, ERR_USAGE, "net.private", "%s is not a network", text);
		}
	}
	return net->reach == NULL ? err_memory(e, "library") : 0;
}

static int read_lists(const struct corral_policy *policy, struct prepared *p, struct lists *ret,
		      struct err *e) {
	if (policy == NULL) {
		return 0;
	}
	if (prepared_resolve(policy, true, p, e) != 0 ||
	    read_deny(&p->arena, &p->policy.values[KEY_NET_DENY], &ret->net, e) != 0 ||
	    read_reach(&p->arena, &p->policy.values[KEY_NET_PRIVATE], &ret->net, e) != 0) {
		return -1;
	}
	ret->reach = (struct url_reach){ret->net.reach, ret->net.nreach};
	return 0;
}

/* ---- refusals ---- */

static void refuse(struct corral_url *u, enum url_rule rule, const char *remedy) {
	u->allowed = false;
	u->count = 0;
	u->rule = url_rule_name(rule);
	u->remedy = remedy;
}

static void refuse_text(struct corral_url *u, const struct url *read, const struct url_verdict *v) {
	bool grammar = v->why != NULL && v->why == read->host.why;

	refuse(u, v->rule, v->remedy);
	if (v->rule == URL_NAME) {
		(void)snprintf(u->reason, sizeof u->reason, "%s is %s", u->host, v->what);
	} else if (v->rule == URL_ADDRESS) {
		(void)snprintf(u->reason, sizeof u->reason, "%s is not a public address: %s",
			       u->host, v->what);
	} else {
		(void)snprintf(u->reason, sizeof u->reason, "%s%s",
			       grammar ? "the host is neither a name nor an address: " : "",
			       v->why);
	}
}

static void refuse_address(struct corral_url *u, const char *address, const char *range) {
	bool literal = strcmp(u->host, address) == 0;

	(void)snprintf(u->reason, sizeof u->reason, "%s%s%s%s not a public address: %s",
		       literal ? "" : u->host, literal ? "" : " resolves to ", address,
		       literal ? " is" : ",", range);
}

static void refuse_denied(struct corral_url *u, const struct net_rule *rule) {
	refuse(u, URL_DENIED, "remove the rule from net.deny, or use another host");
	(void)snprintf(u->reason, sizeof u->reason, "denied by net.deny %s", rule->written);
}

/* ---- addresses ---- */

struct judging {
	struct corral_url *url;
	const struct lists *lists;
	int routes; /* the netlink socket of local_address.h */
};

/* A connection to an address of this host does not pass an external firewall. */
static bool is_own(const struct judging *j, const struct ip *ip) {
	return local_address_check(j->routes, (uint32_t)j->url->count, ip) != LOCAL_ADDRESS_NO;
}

/* Adds the address, or refuses the URL. */
static void take_address(const struct judging *j, const struct ip *ip) {
	struct corral_url *u = j->url;
	char text[IP_TEXT];
	struct url_verdict v = url_judge_address(ip, j->lists->reach);
	const struct net_rule *deny = judge_target(&j->lists->net, NULL, ip, u->port).rule;

	ip_text(ip, text);
	if (!v.allowed || is_own(j, ip)) {
		refuse(u, URL_ADDRESS, v.allowed ? "use another host" : v.remedy);
		refuse_address(u, text, v.allowed ? "an address of this host itself" : v.what);
	} else if (deny != NULL) {
		refuse_denied(u, deny);
	} else if (u->count < ADDRESSES_MAX) {
		memcpy(u->addresses[u->count++], text, sizeof text);
	}
}

static void take_answer(const struct judging *j, const struct dns_answer *a) {
	struct corral_url *u = j->url;
	const struct net_rule *deny = judge_aliases(&j->lists->net, NULL, a, u->port).rule;

	if (u->allowed && deny != NULL) {
		refuse_denied(u, deny);
	}
	for (size_t i = 0; u->allowed && i < a->nips; i++) {
		take_address(j, &a->ips[i]);
	}
}

static const char *lookup_fault(int code) {
	return code == DNS_NXDOMAIN  ? "does not exist"
	       : code == DNS_NOERROR ? "has no address"
				     : "cannot be resolved: no name server answered";
}

/* Refuses a literal address that a name of net.deny resolves to, or might resolve to when the
 * lookup fails. */
static void take_literal(const struct judging *j, const struct ip *ip) {
	const struct net_plan *net = &j->lists->net;
	struct corral_url *u = j->url;
	struct resolved found;

	take_address(j, ip);
	for (size_t i = 0; u->allowed && i < net->ndeny; i++) {
		if (!judge_is_exact_name(&net->deny[i], u->port)) {
			continue;
		}
		int rc = lookup_sync(net->deny[i].name, &found);
		if (rc < 0 || found.code == DNS_SERVFAIL) {
			refuse_denied(u, &net->deny[i]);
			(void)snprintf(
				u->reason, sizeof u->reason,
				"net.deny has %s, which cannot be resolved, so its addresses are "
				"not known",
				net->deny[i].written);
		} else if (judge_has_address(&found.v4, ip) || judge_has_address(&found.v6, ip)) {
			refuse_denied(u, &net->deny[i]);
		}
	}
}

static int look_up(const struct judging *j, struct err *e) {
	struct corral_url *u = j->url;
	struct resolved found;
	int rc = lookup_sync(u->host, &found);

	if (rc < 0) {
		errno = -rc;
		return err_sys_at(e, "lookup", "cannot use the host's resolver for", u->host);
	}
	if (found.v4.nips + found.v6.nips == 0) {
		refuse(u, URL_LOOKUP, "check the name, and this host's name servers");
		(void)snprintf(u->reason, sizeof u->reason, "%s %s", u->host,
			       lookup_fault(found.code));
		return 0;
	}
	take_answer(j, &found.v4);
	take_answer(j, &found.v6);
	return 0;
}

/* ---- the whole ---- */

static void note_text(struct corral_url *u, const struct url *read, const struct url_verdict *v) {
	bool named = read->host.kind != HOST_BAD;

	u->allowed = v->allowed;
	u->scheme = !named && !v->allowed ? NULL : read->https ? "https" : "http";
	u->port = named ? read->port : 0;
	if (read->host.kind == HOST_IP) {
		char text[IP_TEXT];
		size_t n = ip_text(&read->host.ip, text);
		memcpy(u->host, text, n + 1);
	} else if (named) {
		memcpy(u->host, read->host.name, sizeof u->host);
	}
	if (!v->allowed) {
		refuse_text(u, read, v);
	}
}

static int judge_all(struct corral_url *u, const struct lists *lists, bool text_only,
		     struct err *e) {
	struct url read;
	struct judging j = {u, lists, -1};
	struct url_verdict v = url_judge(u->text, strlen(u->text), lists->reach, &read);

	note_text(u, &read, &v);
	if (!u->allowed) {
		return 0;
	}
	if (read.host.kind == HOST_NAME) {
		const struct net_rule *deny = judge_name(&lists->net, u->host, u->port).rule;
		if (deny != NULL) {
			refuse_denied(u, deny);
			return 0;
		}
		if (text_only) {
			return 0;
		}
	}
	auto_fd routes = local_address_open();
	j.routes = routes;
	if (read.host.kind == HOST_IP) {
		(text_only ? take_address : take_literal)(&j, &read.host.ip);
		return 0;
	}
	return look_up(&j, e);
}

static int check_url(const char *url, const struct corral_url_options *o, struct corral_url *u,
		     struct err *e) {
	struct prepared p = {0};
	struct lists lists = {0};

	arena_init(&p.arena);
	int rc = read_lists(o->policy, &p, &lists, e);
	if (rc == 0 && (u->text = strdup(url)) == NULL) {
		rc = err_memory(e, "library");
	}
	if (rc == 0) {
		rc = judge_all(u, &lists, o->text_only != 0, e);
	}
	arena_done(&p.arena);
	return rc;
}

int corral_url_check(const char *url, const struct corral_url_options *options,
		     struct corral_url **checked, struct corral_error *err) {
	struct corral_url_options how = {.size = sizeof how};
	struct err e = {0};

	if (lib_need(url, "the URL", err) != 0 ||
	    lib_need(checked, "the place for the verdict", err) != 0) {
		return -1;
	}
	if (sized_in(&sized_url_options, options, &how, &e) != 0 ||
	    sized_reserved(&sized_url_options, how.reserved, &e) != 0) {
		return lib_fail(&e, err);
	}
	struct corral_url *u = calloc(1, sizeof *u);
	if (u == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	u->rule = u->remedy = "";
	if (check_url(url, &how, u, &e) != 0) {
		corral_url_free(u);
		return lib_fail(&e, err);
	}
	*checked = u;
	return 0;
}

void corral_url_free(struct corral_url *checked) {
	if (checked != NULL) {
		free(checked->text);
		free(checked);
	}
}

/* ---- the verdict ---- */

int corral_url_allowed(const struct corral_url *checked) {
	return checked != NULL && checked->allowed;
}

const char *corral_url_host(const struct corral_url *checked) {
	return checked == NULL ? "" : checked->host;
}

unsigned corral_url_port(const struct corral_url *checked) {
	return checked == NULL ? 0 : checked->port;
}

const char *corral_url_address(const struct corral_url *checked, size_t n) {
	return checked != NULL && n < checked->count ? checked->addresses[n] : NULL;
}

const char *corral_url_rule(const struct corral_url *checked) {
	return checked == NULL ? "" : checked->rule;
}

const char *corral_url_reason(const struct corral_url *checked) {
	return checked == NULL ? "" : checked->reason;
}

const char *corral_url_remedy(const struct corral_url *checked) {
	return checked == NULL ? "" : checked->remedy;
}

static const char *or_null(const char *s) {
	return s[0] == '\0' ? NULL : s;
}

static void print_json(const struct corral_url *u, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "url", u->text);
	emit_bool(&j, "allowed", u->allowed);
	emit_string(&j, "scheme", u->scheme);
	emit_string(&j, "host", or_null(u->host));
	if (u->port == 0) {
		emit_null(&j, "port");
	} else {
		emit_int(&j, "port", u->port);
	}
	emit_array(&j, "addresses");
	for (size_t i = 0; i < u->count; i++) {
		emit_string(&j, NULL, u->addresses[i]);
	}
	emit_end_array(&j);
	emit_string(&j, "rule", or_null(u->rule));
	emit_string(&j, "reason", or_null(u->reason));
	emit_string(&j, "remedy", or_null(u->remedy));
	emit_end_object(&j);
}

static void print_text(const struct corral_url *u, struct buf *out) {
	if (!u->allowed) {
		buf_printf(out, "refused: %s\n  remedy: %s\n", u->reason, u->remedy);
		return;
	}
	buf_printf(out, "allowed: %s port %d", u->host, u->port);
	for (size_t i = 0; i < u->count; i++) {
		buf_printf(out, "%s%s", i == 0 ? " at " : ", ", u->addresses[i]);
	}
	buf_puts(out, "\n");
}

int corral_url_show(const struct corral_url *checked, enum corral_format format, char **text,
		    struct corral_error *err) {
	struct err e = {0};
	struct buf out;

	if (lib_need(checked, "the verdict", err) != 0 || lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	if (format == CORRAL_JSON) {
		print_json(checked, &out);
	} else {
		print_text(checked, &out);
	}
	return lib_give(&out, text, &e) == 0 ? 0 : lib_fail(&e, err);
}
