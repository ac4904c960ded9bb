/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a URL as far as its host and port, and judges the host.
 *
 * Should:   accept URLs that browsers, curl and Python's urllib all send to the same host and
 *           port; Node's URL class is the oracle of the tests.
 * Must not: repair, decode or strip: a parser that does not would connect elsewhere.
 * Fails:    closed: an ambiguous URL is refused. */
#include "net/url.h"

#include "base/auto.h"

#include <string.h>

static const char *const rule_names[] = {
	[URL_FORM] = "form",     [URL_SCHEME] = "scheme",   [URL_HOST] = "host",
	[URL_NAME] = "name",     [URL_ADDRESS] = "address", [URL_DENIED] = "net.deny",
	[URL_LOOKUP] = "lookup",
};

const char *url_rule_name(enum url_rule rule) {
	return rule_names[rule];
}

static const struct url_verdict fine = {.allowed = true};

static struct url_verdict refuse(enum url_rule rule, const char *why, const char *remedy) {
	return (struct url_verdict){.rule = rule, .why = why, .remedy = remedy};
}

static struct url_verdict refuse_form(const char *why) {
	return refuse(URL_FORM, why, "write http://HOST[:PORT]/PATH");
}

/* ---- parsing ---- */

struct text {
	const char *at;
	size_t len;
};

static bool has(struct text t, char c) {
	return t.len > 0 && memchr(t.at, c, t.len) != NULL;
}

/* The number of bytes before the first of these. */
static size_t span_until(struct text t, const char *ends) {
	size_t n = 0;

	while (n < t.len && (t.at[n] == '\0' || strchr(ends, t.at[n]) == NULL)) {
		n++;
	}
	return n;
}

static struct text skip(struct text t, size_t n) {
	return (struct text){t.at + n, t.len - n};
}

/* Browsers drop some of these bytes, other programs send them. */
static bool has_blanks(struct text t) {
	for (size_t i = 0; i < t.len; i++) {
		if ((unsigned char)t.at[i] <= ' ' || t.at[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

static bool is_word(struct text t, const char *lower) {
	if (t.len != strlen(lower)) {
		return false;
	}
	for (size_t i = 0; i < t.len; i++) {
		char c = t.at[i];
		if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower[i]) {
			return false;
		}
	}
	return true;
}

/* Removes "http://" or "https://". */
static struct url_verdict take_scheme(struct text *t, struct url *u) {
	struct text scheme = {t->at, span_until(*t, ":/?#\\")};

	if (scheme.len == 0 || scheme.len == t->len || t->at[scheme.len] != ':') {
		return refuse_form("it has no scheme");
	}
	u->https = is_word(scheme, "https");
	if (!u->https && !is_word(scheme, "http")) {
		return refuse(URL_SCHEME, "its scheme is neither http nor https",
			      "fetch over http or https");
	}
	*t = skip(*t, scheme.len + 1);
	if (t->len < 3 || t->at[0] != '/' || t->at[1] != '/' || t->at[2] == '/' ||
	    t->at[2] == '\\') {
		return refuse_form("its scheme is not followed by \"//\" and a host");
	}
	*t = skip(*t, 2);
	return fine;
}

/* The part between "//" and the path. */
static struct url_verdict take_authority(struct text t, struct text *ret) {
	*ret = (struct text){t.at, span_until(t, "/?#")};
	struct text rest = skip(t, ret->len);

	if (has(*ret, '\\')) {
		return refuse_form("it has a backslash, which some programs take for a slash");
	}
	if (has(*ret, '@')) {
		return refuse(URL_HOST, "it has a user name, and programs differ on where it ends",
			      "send credentials in a header");
	}
	/* "http://a?@b": a parser that searches only for the slash takes b for the host. */
	struct text early = {rest.at, span_until(rest, "/")};
	if (has(early, '@') || has(early, '\\')) {
		return refuse_form("a '?' or '#' ends its host before an '@' or '\\'");
	}
	if (has(*ret, '%')) {
		return refuse(URL_HOST,
			      "its host is percent-encoded, which not every program decodes",
			      "write the host in plain letters");
	}
	return fine;
}

/* Four decimal numbers, or IPv6 in brackets that is not IPv4-mapped. */
static bool is_plain(struct text host, const struct ip *ip) {
	char text[IP_TEXT];
	size_t n = ip_text(ip, text);

	if (!ip_is4(ip)) {
		return true;
	}
	return host.len >= n && memcmp(host.at, text, n) == 0 &&
	       (host.len == n || host.at[n] == ':');
}

static struct url_verdict read_host(struct text authority, struct url *u) {
	const char *colon = authority.len == 0 ? NULL : memchr(authority.at, ':', authority.len);
	const char *remedy = "write HOST or HOST:PORT, an IPv6 address in brackets";

	u->port = 0;
	if (colon != NULL && authority.at[0] != '[' &&
	    has(skip(authority, (size_t)(colon - authority.at) + 1), ':')) {
		return refuse(URL_HOST, "its host has colons but no brackets", remedy);
	}
	if (hostname_parse_port(authority.at, authority.len, &u->host, &u->port) == HOST_BAD) {
		return refuse(URL_HOST, u->host.why, remedy);
	}
	if (u->port == 0) {
		u->port = u->https ? 443 : 80;
	}
	u->plain = u->host.kind == HOST_IP && is_plain(authority, &u->host.ip);
	return fine;
}

static struct url_verdict read_url(struct text t, struct url *u) {
	struct text authority;

	if (t.len == 0 || t.len > URL_MAX) {
		return refuse_form(t.len == 0 ? "it is empty" : "it is longer than 16 KiB");
	}
	if (has_blanks(t)) {
		return refuse(URL_FORM, "it has spaces or control characters",
			      "write them as %20, %0A, …");
	}
	struct url_verdict v = take_scheme(&t, u);
	if (v.allowed) {
		v = take_authority(t, &authority);
	}
	return v.allowed ? read_host(authority, u) : v;
}

/* ---- judging the host ---- */

static bool reaches(struct url_reach reach, const struct ip *ip) {
	for (size_t i = 0; i < reach.count; i++) {
		if (ip_network_holds(&reach.networks[i], ip)) {
			return true;
		}
	}
	return false;
}

struct url_verdict url_judge_address(const struct ip *ip, struct url_reach reach) {
	const struct range *r = range_of(ip);
	struct ip inner;

	if (r == NULL) {
		return fine;
	}
	bool opened =
		r->kind == RANGE_PRIVATE && reaches(reach, ip) &&
		(!range_inner(ip, &inner) || range_of(&inner) == NULL || reaches(reach, &inner));
	if (opened) {
		return fine;
	}
	return (struct url_verdict){
		.rule = URL_ADDRESS,
		.what = r->name,
		.remedy = r->kind == RANGE_PRIVATE
				  ? "fetch from a public host, or list the network in net.private "
				    "(--net restricted "
				    "--allow-private NETWORK)"
				  : "fetch from a public host; no option opens this one",
	};
}

static struct url_verdict judge_host(const struct url *u, struct url_reach reach) {
	if (u->host.kind == HOST_NAME) {
		const struct range_name *row = range_name_row(u->host.name);
		return row == NULL ? fine
				   : (struct url_verdict){.rule = URL_NAME,
							  .what = row->what,
							  .remedy = "fetch from a public name"};
	}
	struct url_verdict v = url_judge_address(&u->host.ip, reach);
	if (v.allowed && !u->plain) {
		return refuse(URL_HOST,
			      "its address is written in a form that programs read differently",
			      "write IPv4 as four decimal numbers");
	}
	return v;
}

struct url_verdict url_judge(const char *s, size_t len, struct url_reach reach, struct url *ret) {
	*ret = (struct url){.host = {.kind = HOST_BAD}};
	struct url_verdict v = read_url((struct text){s, len}, ret);

	return v.allowed ? judge_host(ret, reach) : v;
}
