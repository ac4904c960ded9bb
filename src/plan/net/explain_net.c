/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the network rules of a plan for `corral explain`, as text and as JSON with the same
 * content.
 *
 * Should:   print each rule with its host, its reason and its origin.
 * Must not: print a login of a URL; the rules contain none.
 * Fails:    out of memory leaves a failed buffer, which the caller checks. */
#include "plan/internal.h"

#include "base/str.h"
#include "policy/host_rule.h"

#include <stdio.h>

const char *explain_net_mode(const struct plan *plan) {
	static const char *const words[] = {
		[NET_NONE] = "none (only the sandbox's own loopback)",
		[NET_FILTERED] = "filtered (only the hosts listed below)",
		[NET_RESTRICTED] = "restricted (public hosts at ports 80 and 443)",
		[NET_FULL] = "full (the host's)",
	};
	return words[plan->net.mode];
}

/* The host of the rule, in the syntax of a policy. */
static void host_text(const struct net_rule *r, char out[HOST_RULE_TEXT]) {
	static const enum host_rule_kind kinds[] = {
		[NET_RULE_NAME] = HOST_RULE_NAME,
		[NET_RULE_BENEATH] = HOST_RULE_BENEATH,
		[NET_RULE_NETWORK] = HOST_RULE_NETWORK,
	};
	struct host_rule rule = {.network = r->network, .port = r->port};
	if (r->kind == NET_RULE_ANY) {
		(void)snprintf(out, HOST_RULE_TEXT, "*");
		return;
	}
	rule.kind = kinds[r->kind];
	if (r->name != NULL) {
		(void)snprintf(rule.name, sizeof rule.name, "%s", r->name);
	}
	host_rule_text(&rule, out);
}

/* ---- text ---- */

static void text_rules(const struct net_rule *rules, size_t n, const char *word, struct buf *out) {
	char host[HOST_RULE_TEXT], origin[128];
	for (size_t i = 0; i < n; i++) {
		const struct net_rule *r = &rules[i];
		size_t start = out->len;
		host_text(r, host);
		buf_printf(out, "  %-8s %s   # ", word, host);
		if (r->note != NULL) {
			buf_printf(out, "%s, ", r->note);
		}
		if (r->written[0] == '@') {
			buf_printf(out, "%s, ", r->written);
		}
		buf_puts(out, policy_origin_text(&r->origin, origin, sizeof origin));
		explain_end_line(out, start);
	}
}

static void text_locals(const struct net_plan *net, struct buf *out) {
	char text[HOST_RULE_NETWORK_TEXT];
	for (size_t i = 0; i < net->nreach; i++) {
		(void)host_rule_network_text(&net->reach[i], text);
		buf_printf(out, "  %-8s %s   # allowed names may resolve to it\n", "private", text);
	}
	for (size_t i = 0; i < net->npublish; i++) {
		buf_printf(out, "  %-8s %u   # at 127.0.0.1:%u of this host\n", "publish",
			   net->publish[i].inside, net->publish[i].outside);
	}
	for (size_t i = 0; i < net->nhost_ports; i++) {
		buf_printf(out, "  %-8s %u   # of this host's loopback\n", "host",
			   net->host_ports[i]);
	}
	if (net->proxy) {
		buf_printf(out, "  %-8s 127.0.0.1:%d, 127.0.0.1:%d   # HTTP, SOCKS5\n", "proxy",
			   NET_PROXY_HTTP, NET_PROXY_SOCKS);
	}
}

static void text_sockets(const struct net_plan *net, struct buf *out) {
	char origin[128];
	for (size_t i = 0; i < net->nsockets; i++) {
		const struct net_socket *s = &net->sockets[i];
		bool moved = !streq(s->source, s->target);
		size_t start = out->len;
		buf_printf(out, "  %-8s %s%s%s   # %s%s%s", "socket", s->target, moved ? " = " : "",
			   moved ? s->source : "", s->meaning == NULL ? "" : s->meaning,
			   s->meaning == NULL ? "" : ", ",
			   policy_origin_text(&s->origin, origin, sizeof origin));
		explain_end_line(out, start);
	}
}

void explain_net_text(const struct plan *plan, struct buf *out) {
	const struct net_plan *net = &plan->net;
	if (!net->gate && net->nsockets == 0) {
		return;
	}
	buf_puts(out, "\nnetwork rules\n");
	text_rules(net->allow, net->nallow, "allow", out);
	text_rules(net->deny, net->ndeny, "deny", out);
	text_locals(net, out);
	text_sockets(net, out);
}

/* ---- JSON ---- */

static void json_rules(struct emit *j, const char *key, const struct net_rule *rules, size_t n) {
	char host[HOST_RULE_TEXT];
	emit_array(j, key);
	for (size_t i = 0; i < n; i++) {
		const struct net_rule *r = &rules[i];
		host_text(r, host);
		emit_object(j, NULL);
		emit_string(j, "host", host);
		emit_string(j, "written", r->written);
		emit_bool(j, "private", r->may_be_private);
		emit_string(j, "note", r->note);
		policy_origin_emit(j, "origin", &r->origin);
		emit_end_object(j);
	}
	emit_end_array(j);
}

static void json_locals(struct emit *j, const struct net_plan *net) {
	char text[HOST_RULE_NETWORK_TEXT];
	emit_array(j, "private");
	for (size_t i = 0; i < net->nreach; i++) {
		(void)host_rule_network_text(&net->reach[i], text);
		emit_string(j, NULL, text);
	}
	emit_end_array(j);
	emit_array(j, "publish");
	for (size_t i = 0; i < net->npublish; i++) {
		emit_object(j, NULL);
		emit_int(j, "inside", net->publish[i].inside);
		emit_int(j, "outside", net->publish[i].outside);
		emit_end_object(j);
	}
	emit_end_array(j);
	emit_array(j, "host_ports");
	for (size_t i = 0; i < net->nhost_ports; i++) {
		emit_int(j, NULL, net->host_ports[i]);
	}
	emit_end_array(j);
}

static void json_sockets(struct emit *j, const struct net_plan *net) {
	emit_array(j, "sockets");
	for (size_t i = 0; i < net->nsockets; i++) {
		const struct net_socket *s = &net->sockets[i];
		emit_object(j, NULL);
		emit_string(j, "target", s->target);
		emit_string(j, "source", s->source);
		emit_string(j, "meaning", s->meaning);
		policy_origin_emit(j, "origin", &s->origin);
		emit_end_object(j);
	}
	emit_end_array(j);
}

void explain_net_json(const struct plan *plan, struct emit *j) {
	const struct net_plan *net = &plan->net;
	emit_object(j, "net");
	emit_string(j, "mode", keys[KEY_NET_MODE].choices[net->mode]);
	emit_bool(j, "gate", net->gate);
	emit_bool(j, "proxy", net->proxy);
	json_rules(j, "allow", net->allow, net->nallow);
	json_rules(j, "deny", net->deny, net->ndeny);
	json_locals(j, net);
	json_sockets(j, net);
	emit_end_object(j);
}
