/* One rule about hosts, from the words of a user.
 *
 * Should:   say to whoever wrote a URL, a login, another spelling of an address or a
 *           wildcard in the middle what to write instead.
 * Must not: resolve a name, or repair what is written wrongly.
 * Fails:    closed: what is not understood to its last character is an error. */
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

__attribute__((format(printf, 2, 3))) static bool instead(struct host_fault *f, const char *fmt,
							  ...) {
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(f->fix, sizeof f->fix, fmt, ap); /* may be cut */
	va_end(ap);
	str_hide_controls(f->fix, false);
	return false;
}

/* ---- what is something else than a host ---- */

/* The authority of a URL without the login. */
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
	(void)fault(f, at != NULL ? "a URL; rules are about hosts"
				  : "a login has no place in a rule about a host");
	(void)instead(f, "write %.*s", (int)len, start);
	return true;
}

static bool is_foreign(const char *text, struct host_fault *f) {
	for (const char *p = text; *p != '\0'; p++) {
		if ((unsigned char)*p >= 0x80) {
			(void)fault(f, "a name in other letters than ASCII");
			(void)instead(f,
				      "write it as DNS has it, with \"xn--\" (idn2 prints that)");
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
		(void)fault(f, "its port is no number from 1 to 65535");
		return instead(f, "write :PORT without zeros before it, or :* for every port");
	}
	*ret = n;
	return true;
}

/* Where the host ends and ":PORT" begins, if there is one.  Several colons without brackets
 * are those of an address. */
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

static bool misspelt(const struct ip *ip, struct host_fault *f) {
	char text[IP_TEXT];

	(void)ip_text(ip, text);
	(void)fault(f, "a spelling of an address that programs read differently");
	return instead(f, "write %s if that is meant", text);
}

static void clear_host_bits(struct network *n) {
	for (unsigned bit = n->bits; bit < 128; bit++) {
		n->ip.b[bit / 8] &= (uint8_t) ~(0x80U >> bit % 8);
	}
}

/* Behind the slash: at most three digits, as many bits as the family has. */
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
			return misspelt(&n.ip, f);
		}
		(void)fault(f, "a path has no place in a rule about a host");
		return instead(f, "write %.*s", (int)head, s);
	}
	if (!read_bits(slash + 1, len - head - 1, ip_is4(&n.ip), &n.bits)) {
		(void)fault(f, "what stands behind / is no length of a network");
		return instead(f, "write 0 to 32 there, or 0 to 128 for IPv6");
	}
	if (!ip_network_parse(s, len, &ret->network)) {
		char text[HOST_RULE_NETWORK_TEXT];
		clear_host_bits(&n);
		(void)host_rule_network_text(&n, text);
		(void)fault(f, "a network whose address goes on behind its length");
		return instead(f, "write %s for the network, %.*s for the one address", text,
			       (int)head, s);
	}
	ret->kind = HOST_RULE_NETWORK;
	return true;
}

static bool read_address(const char *s, size_t len, const struct hostname *host,
			 struct host_rule *ret, struct host_fault *f) {
	struct ip ip;

	if (!ip_parse(s, len, &ip)) {
		return misspelt(&host->ip, f);
	}
	ret->kind = HOST_RULE_NETWORK;
	ret->network = (struct network){.ip = ip, .bits = 128};
	return true;
}

/* ---- names ---- */

static bool read_wildcard(const char *s, size_t len, struct host_rule *ret, struct host_fault *f) {
	struct hostname host;

	if (len == 1) {
		(void)fault(f, "every name");
		return instead(f, "that is net.mode = \"restricted\" (--net restricted)");
	}
	if (s[0] != '*' || s[1] != '.' || memchr(s + 1, '*', len - 1) != NULL) {
		(void)fault(f, "* stands at the front, for whole names, or nowhere");
		return instead(f, "write *.NAME for the names beneath NAME, and NAME for itself");
	}
	if (hostname_parse(s + 2, len - 2, &host) != HOST_NAME) {
		return fault(f, host.kind == HOST_IP ? "an address has no names beneath it"
						     : host.why);
	}
	ret->kind = HOST_RULE_BENEATH;
	memcpy(ret->name, host.name, sizeof ret->name);
	return true;
}

/* len bytes of s, which are in brackets or not. */
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
		return fault(f, "a host must not be empty");
	}
	if (is_url(text, f) || is_foreign(text, f)) {
		return false;
	}
	if (text[len] != '\0' && text[len] != ':') {
		return fault(f, "something stands behind the bracket");
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

/* ---- as values ---- */

/* A login is shown to nobody. */
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

static int put(const struct where *w, const struct key *k, const char *text, enum item_kind kind,
	       struct value *v, struct err *e) {
	struct item item = {.kind = kind, .origin = w->origin};
	item.str = arena_strdup(w->a, text);
	return item.str == NULL ? err_memory(e, "policy") : value_put(w->a, k, v, &item, e);
}

static int put_set(const struct where *w, const struct key *k, const char *text, struct value *v,
		   struct err *e) {
	static const char *const sets[] = {"registries", "remotes"};
	if (k != &keys[KEY_NET_ALLOW]) {
		(void)value_refuse(w, k, text, "sets of hosts stand in net.allow", e);
		return err_fix(e, "name the host itself");
	}
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		if (streq(text + 1, sets[i])) {
			return put(w, k, sets[i], ITEM_SET, v, e);
		}
	}
	(void)value_refuse(w, k, text, "there is no set of that name", e);
	return err_fix(e, "the sets are @registries and @remotes");
}

static bool is_loopback(const struct host_rule *r) {
	static const struct ip one = {.b = {[15] = 1}};
	if (r->kind != HOST_RULE_NETWORK) {
		size_t len = strlen(r->name), end = strlen("localhost");
		return len >= end && streq(r->name + len - end, "localhost") &&
		       (len == end || r->name[len - end - 1] == '.');
	}
	/* 0.0.0.0 and :: are this host, too, when they are connected to. */
	const struct range *range = range_of(&r->network.ip);
	bool four = ip_is4(&r->network.ip);
	return r->network.bits >= (four ? 96 + 8 : 128) &&
	       (ip_same(&r->network.ip, &one) || (four && r->network.ip.b[12] == 127) ||
		(range != NULL && streq(range->name, "this host")));
}

/* What no rule of net.allow can mean. */
static bool can_be_allowed(const struct host_rule *r, struct host_fault *f) {
	if (r->kind == HOST_RULE_BENEATH && strchr(r->name, '.') == NULL) {
		(void)fault(f, "every name of a whole top-level domain");
		return instead(f, "write *.NAME.%s", r->name);
	}
	if (!is_loopback(r)) {
		return true;
	}
	(void)fault(f, "the loopback inside is the command's own and needs no rule");
	return r->port > 0 ? instead(f, "--host-port %d reaches a service of this host", r->port)
			   : instead(f, "--host-port PORT reaches a service of this host");
}

int host_rule_from_text(const struct where *w, const struct key *k, const char *text,
			struct value *v, struct err *e) {
	struct host_rule rule;
	struct host_fault f;
	char written[HOST_RULE_TEXT];

	if (text[0] == '@') {
		return put_set(w, k, text, v, e);
	}
	if (!host_rule_read(text, &rule, &f) ||
	    (k == &keys[KEY_NET_ALLOW] && !can_be_allowed(&rule, &f))) {
		return refuse(w, k, text, &f, e);
	}
	host_rule_text(&rule, written);
	return put(w, k, written, ITEM_PLAIN, v, e);
}

/* Only what is private is opened by its network; everything else is named. */
static bool is_private(const struct network *n, struct host_fault *f) {
	const struct range *range = range_of(&n->ip);
	char why[120];

	if (range != NULL && range->kind == RANGE_PRIVATE) {
		return true;
	}
	if (range == NULL) {
		(void)fault(f, "no private network");
		return instead(f, "leave it out: allowed names may lead to public addresses");
	}
	(void)snprintf(why, sizeof why, "no private network but %s", range->name);
	(void)fault(f, why);
	return instead(f, "allow the one address itself: --allow-host ADDRESS:PORT");
}

int host_rule_network_from_text(const struct where *w, const struct key *k, const char *text,
				struct value *v, struct err *e) {
	struct host_rule rule;
	struct host_fault f;
	char written[HOST_RULE_NETWORK_TEXT];
	bool read = host_rule_read(text, &rule, &f);

	if (read && (rule.kind != HOST_RULE_NETWORK || rule.port != HOST_PORT_NONE)) {
		read = fault(&f, rule.kind == HOST_RULE_NETWORK ? "a network has no port"
								: "a name is no network");
		(void)instead(&f, "write a network such as 10.0.0.0/8");
	}
	if (!read || !is_private(&rule.network, &f)) {
		return refuse(w, k, text, &f, e);
	}
	(void)host_rule_network_text(&rule.network, written);
	return put(w, k, written, ITEM_PLAIN, v, e);
}
