/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one rule of net.allow, net.deny or net.private.
 *
 * Should:   for a URL, a login, an unusual spelling of an address or a wildcard in the middle,
 *           name the text to write instead.
 * Must not: resolve a name, or accept a text that is only nearly right.
 * Fails:    closed: a text that is not understood to its last character is an error. */
#include "policy/host_rule.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/ranges.h"
#include "policy/internal.h"

#include <stdarg.h>
#include <stdio.h>

static bool fault(struct host_fault *f, const char *why) {
	*f = (struct host_fault){0};
	(void)snprintf(f->why, sizeof f->why, "%s", why);
	return false;
}

__attribute__((format(printf, 2, 3))) static bool suggest(struct host_fault *f, const char *fmt,
							  ...) {
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(f->fix, sizeof f->fix, fmt, ap); /* may be cut */
	va_end(ap);
	str_hide_controls(f->fix, false);
	return false;
}

/* ---- texts that are no hosts ---- */

/* True for a URL or a login; the fault names the host in it. */
static bool is_url(const char *text, struct host_fault *f) {
	const char *at = strstr(text, "://");
	const char *start = at == NULL ? text : at + 3;
	size_t len = strcspn(start, "/?#");
	const char *login = memchr(start, '@', len);

	while (login != NULL) {
		len -= (size_t)(login + 1 - start);
		start = login + 1;
		login = memchr(start, '@', len);
	}
	if (at == NULL && start == text) {
		return false;
	}
	(void)fault(f, at != NULL ? "this is a URL; a rule names a host"
				  : "a rule names a host, without a login");
	(void)suggest(f, "write %.*s", (int)len, start);
	return true;
}

static bool is_non_ascii(const char *text, struct host_fault *f) {
	for (const char *p = text; *p != '\0'; p++) {
		if ((unsigned char)*p >= 0x80) {
			(void)fault(f, "the name has non-ASCII characters");
			(void)suggest(f,
				      "write its ASCII form (\"xn--...\"); to print it: idn2 NAME");
			return true;
		}
	}
	return false;
}

/* ---- ports ---- */

static bool read_port(const char *s, int *ret, struct host_fault *f) {
	size_t len = strlen(s);
	int n = 0;

	if (streq(s, "*")) {
		*ret = HOST_PORT_ANY;
		return true;
	}
	for (size_t i = 0; i < len; i++) {
		n = s[i] >= '0' && s[i] <= '9' && n <= UINT16_MAX ? n * 10 + s[i] - '0'
								  : UINT16_MAX + 1;
	}
	if (len == 0 || s[0] == '0' || n > UINT16_MAX) {
		(void)fault(f, "the port is not a number from 1 to 65535");
		return suggest(f, "write :PORT without leading zeros, or :* for every port");
	}
	*ret = n;
	return true;
}

/* The length of the host before ":PORT".  Several colons without brackets belong to an IPv6
 * address. */
static size_t host_length(const char *text) {
	const char *colon = strchr(text, ':');

	if (text[0] == '[') {
		const char *end = strchr(text, ']');
		return end == NULL ? strlen(text) : (size_t)(end + 1 - text);
	}
	return colon == NULL || strchr(colon + 1, ':') != NULL ? strlen(text)
							       : (size_t)(colon - text);
}

/* ---- addresses ---- */

size_t host_rule_network_text(const struct network *n, char out[HOST_RULE_NETWORK_TEXT]) {
	size_t len = ip_text(&n->ip, out);
	unsigned shift = ip_is4(&n->ip) ? 96 : 0;

	if (n->bits < 128) {
		len += (size_t)snprintf(out + len, HOST_RULE_NETWORK_TEXT - len, "/%u",
					n->bits - shift);
	}
	return len;
}

static bool ambiguous(const struct ip *ip, struct host_fault *f) {
	char text[IP_TEXT];

	(void)ip_text(ip, text);
	(void)fault(f, "ambiguous: programs parse this form of an address differently");
	return suggest(f, "write %s if you mean that address", text);
}

static void clear_host_bits(struct network *n) {
	for (unsigned bit = n->bits; bit < 128; bit++) {
		n->ip.b[bit / 8] &= (uint8_t) ~(0x80U >> bit % 8);
	}
}

/* The prefix length: at most three digits, at most the bits of the address family. */
static bool read_bits(const char *s, size_t len, bool four, unsigned *ret) {
	unsigned n = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9') {
			return false;
		}
		n = n * 10 + (unsigned)(s[i] - '0');
	}
	*ret = n + (four ? 96 : 0);
	return len > 0 && len <= 3 && (len == 1 || s[0] != '0') && *ret <= 128;
}

static bool read_network(const char *s, size_t len, struct host_rule *ret, struct host_fault *f) {
	const char *slash = memchr(s, '/', len);
	size_t head = (size_t)(slash - s);
	struct network n;

	if (!ip_parse(s, head, &n.ip)) {
		if (ip_parse_any(s, head, &n.ip)) {
			return ambiguous(&n.ip, f);
		}
		(void)fault(f, "a rule names a host, without a path");
		return suggest(f, "write %.*s", (int)head, s);
	}
	if (!read_bits(slash + 1, len - head - 1, ip_is4(&n.ip), &n.bits)) {
		(void)fault(f, "invalid prefix length after /");
		return suggest(f, "write 0 to 32 for IPv4, 0 to 128 for IPv6");
	}
	if (!ip_network_parse(s, len, &ret->network)) {
		char text[HOST_RULE_NETWORK_TEXT];
		clear_host_bits(&n);
		(void)host_rule_network_text(&n, text);
		(void)fault(f, "the address has host bits set");
		return suggest(f, "write %s for the network, %.*s for the one address", text,
			       (int)head, s);
	}
	ret->kind = HOST_RULE_NETWORK;
	return true;
}

static bool read_address(const char *s, size_t len, const struct hostname *host,
			 struct host_rule *ret, struct host_fault *f) {
	struct ip ip;

	if (!ip_parse(s, len, &ip)) {
		return ambiguous(&host->ip, f);
	}
	ret->kind = HOST_RULE_NETWORK;
	ret->network = (struct network){.ip = ip, .bits = 128};
	return true;
}

/* ---- names ---- */

static bool read_wildcard(const char *s, size_t len, struct host_rule *ret, struct host_fault *f) {
	struct hostname host;

	if (len == 1) {
		(void)fault(f, "this would allow every name");
		return suggest(f, "to allow every public host: --net restricted");
	}
	if (s[0] != '*' || s[1] != '.' || memchr(s + 1, '*', len - 1) != NULL) {
		(void)fault(f, "* is allowed only as the first label, as in *.example.com");
		return suggest(f, "write *.NAME for the names beneath NAME, and NAME for itself");
	}
	if (hostname_parse(s + 2, len - 2, &host) != HOST_NAME) {
		return fault(f, host.kind == HOST_IP ? "an address has no names beneath it"
						     : host.why);
	}
	ret->kind = HOST_RULE_BENEATH;
	memcpy(ret->name, host.name, sizeof ret->name);
	return true;
}

/* Parses len bytes of s, with or without brackets. */
static bool read_host(const char *s, size_t len, struct host_rule *ret, struct host_fault *f) {
	struct hostname host;
	bool closed = len >= 2 && s[0] == '[' && s[len - 1] == ']';

	if (closed) {
		s++;
		len -= 2;
	}
	if (memchr(s, '/', len) != NULL) {
		return read_network(s, len, ret, f);
	}
	if (memchr(s, '*', len) != NULL) {
		return read_wildcard(s, len, ret, f);
	}
	switch (hostname_parse(s, len, &host)) {
	case HOST_IP:
		return read_address(s, len, &host, ret, f);
	case HOST_NAME:
		if (closed) {
			return fault(f, "brackets are for IPv6 addresses");
		}
		ret->kind = HOST_RULE_NAME;
		memcpy(ret->name, host.name, sizeof ret->name);
		return true;
	case HOST_BAD:
		break;
	}
	return fault(f, host.why);
}

bool host_rule_read(const char *text, struct host_rule *ret, struct host_fault *f) {
	struct host_rule rule = {.port = HOST_PORT_NONE};
	size_t len = host_length(text);

	*f = (struct host_fault){0};
	if (*text == '\0') {
		return fault(f, "the host is empty");
	}
	if (is_url(text, f) || is_non_ascii(text, f)) {
		return false;
	}
	if (text[len] != '\0' && text[len] != ':') {
		return fault(f, "unexpected characters after ]");
	}
	if ((text[len] == ':' && !read_port(text + len + 1, &rule.port, f)) ||
	    !read_host(text, len, &rule, f)) {
		return false;
	}
	*ret = rule;
	return true;
}

void host_rule_text(const struct host_rule *r, char out[HOST_RULE_TEXT]) {
	char host[HOSTNAME_MAX + 3], port[8] = "";
	bool six = r->kind == HOST_RULE_NETWORK && !ip_is4(&r->network.ip);

	if (r->kind == HOST_RULE_NETWORK) {
		(void)host_rule_network_text(&r->network, host);
	} else {
		(void)snprintf(host, sizeof host, "%s%s", r->kind == HOST_RULE_BENEATH ? "*." : "",
			       r->name);
	}
	if (r->port != HOST_PORT_NONE) {
		(void)snprintf(port, sizeof port, r->port == HOST_PORT_ANY ? ":*" : ":%d", r->port);
	}
	(void)snprintf(out, HOST_RULE_TEXT, "%s%s%s%s", six && *port != '\0' ? "[" : "", host,
		       six && *port != '\0' ? "]" : "", port);
}

/* ---- policy values ---- */

/* Messages leave out the login before '@': it may be a password. */
static int refuse(const struct where *w, const struct key *k, const char *text,
		  const struct host_fault *f, struct err *e) {
	const char *login = strrchr(text, '@');
	char rest[80];

	if (login != NULL) {
		(void)snprintf(rest, sizeof rest, "...%s", login); /* may be cut */
	}
	(void)value_refuse(w, k, login == NULL ? text : rest, f->why, e);
	return f->fix[0] == '\0' ? -1 : err_fix(e, "%s", f->fix);
}

static int append_item(const struct where *w, const struct key *k, const char *text,
		       enum item_kind kind, struct value *v, struct err *e) {
	struct item item = {.kind = kind, .origin = w->origin};
	item.str = arena_strdup(w->a, text);
	return item.str == NULL ? err_memory(e, "policy") : value_put(w->a, k, v, &item, e);
}

static int append_set(const struct where *w, const struct key *k, const char *text, struct value *v,
		      struct err *e) {
	static const char *const sets[] = {"registries", "remotes"};
	if (k != &keys[KEY_NET_ALLOW]) {
		(void)value_refuse(w, k, text, "only net.allow takes sets of hosts", e);
		return err_fix(e, "write the name of the host");
	}
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		if (streq(text + 1, sets[i])) {
			return append_item(w, k, sets[i], ITEM_SET, v, e);
		}
	}
	(void)value_refuse(w, k, text, "unknown set of hosts", e);
	return err_fix(e, "use @registries or @remotes");
}

static bool is_loopback(const struct host_rule *r) {
	static const struct ip one = {.b = {[15] = 1}};
	if (r->kind != HOST_RULE_NETWORK) {
		size_t len = strlen(r->name), end = strlen("localhost");
		return len >= end && streq(r->name + len - end, "localhost") &&
		       (len == end || r->name[len - end - 1] == '.');
	}
	/* connect() to 0.0.0.0 or :: reaches this host, too. */
	const struct range *range = range_of(&r->network.ip);
	bool four = ip_is4(&r->network.ip);
	return r->network.bits >= (four ? 96 + 8 : 128) &&
	       (ip_same(&r->network.ip, &one) || (four && r->network.ip.b[12] == 127) ||
		(range != NULL && streq(range->name, "this host")));
}

/* False for a top-level domain and for loopback, which net.allow cannot open. */
static bool can_be_allowed(const struct host_rule *r, struct host_fault *f) {
	if (r->kind == HOST_RULE_BENEATH && strchr(r->name, '.') == NULL) {
		(void)fault(f, "this would allow a whole top-level domain");
		return suggest(f, "write *.NAME.%s", r->name);
	}
	if (!is_loopback(r)) {
		return true;
	}
	(void)fault(f, "the sandbox has its own loopback, which needs no rule");
	return r->port > 0 ? suggest(f, "to reach a service of the host: --host-port %d", r->port)
			   : suggest(f, "to reach a service of the host: --host-port PORT");
}

int host_rule_from_text(const struct where *w, const struct key *k, const char *text,
			struct value *v, struct err *e) {
	struct host_rule rule;
	struct host_fault f;
	char written[HOST_RULE_TEXT];

	if (text[0] == '@') {
		return append_set(w, k, text, v, e);
	}
	if (!host_rule_read(text, &rule, &f) ||
	    (k == &keys[KEY_NET_ALLOW] && !can_be_allowed(&rule, &f))) {
		return refuse(w, k, text, &f, e);
	}
	host_rule_text(&rule, written);
	return append_item(w, k, written, ITEM_PLAIN, v, e);
}

/* net.private takes private networks (RFC 1918, fc00::/7, ...) only. */
static bool is_private(const struct network *n, struct host_fault *f) {
	const struct range *range = range_of(&n->ip);
	char why[120];

	if (range != NULL && range->kind == RANGE_PRIVATE) {
		return true;
	}
	if (range == NULL) {
		(void)fault(f, "not a private network");
		return suggest(f, "remove it: allowed names may resolve to public addresses");
	}
	(void)snprintf(why, sizeof why, "not a private network but %s", range->name);
	(void)fault(f, why);
	return suggest(f, "allow the one address itself: --allow-host ADDRESS:PORT");
}

int host_rule_network_from_text(const struct where *w, const struct key *k, const char *text,
				struct value *v, struct err *e) {
	struct host_rule rule;
	struct host_fault f;
	char written[HOST_RULE_NETWORK_TEXT];
	bool read = host_rule_read(text, &rule, &f);

	if (read && (rule.kind != HOST_RULE_NETWORK || rule.port != HOST_PORT_NONE)) {
		read = fault(&f, rule.kind == HOST_RULE_NETWORK ? "a network takes no port"
								: "a name is not a network");
		(void)suggest(&f, "write a network, such as 10.0.0.0/8");
	}
	if (!read || !is_private(&rule.network, &f)) {
		return refuse(w, k, text, &f, e);
	}
	(void)host_rule_network_text(&rule.network, written);
	return append_item(w, k, written, ITEM_PLAIN, v, e);
}
