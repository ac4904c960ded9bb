/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the host and port in a URL; base/hostname.c parses the host itself.
 *
 * Should:   find the host that the client would connect to.
 * Must not: keep a login, or guess a host in a text that is not a URL.
 * Fails:    closed: no host, no rule. */
#include "plan/net/url_host.h"

#include "base/auto.h"
#include "base/str.h"

static const struct {
	const char *scheme;
	uint16_t port;
} schemes[] = {
	{"git", 9418},
	{"http", 80},
	{"https", 443},
	{"ssh", 22},
};

static bool has_name(const char *s, size_t len, const char *name) {
	if (strlen(name) != len) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		char c = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 0x20 : s[i]);
		if (c != name[i]) {
			return false;
		}
	}
	return true;
}

/* "git+ssh" and "ssh+git" are the same; in "sparse+https", "mirror+http" and "tor+https" the part
 * after the plus is the scheme. */
static uint16_t port_of(const char *s, size_t len) {
	const char *plus = memchr(s, '+', len);
	uint16_t found = 0;

	if (plus != NULL) {
		size_t head = (size_t)(plus - s);
		bool ssh = has_name(s, head, "ssh") || has_name(plus + 1, len - head - 1, "ssh");
		return ssh ? 22 : port_of(plus + 1, len - head - 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		if (has_name(s, len, schemes[i].scheme)) {
			found = schemes[i].port;
		}
	}
	return found;
}

static enum url_host_kind take_authority(const char *s, size_t len, uint16_t port,
					 struct url_host *ret) {
	uint16_t written = 0;
	size_t host = 0;

	for (size_t i = 0; i < len; i++) {
		host = s[i] == '@' ? i + 1 : host;
	}
	*ret = (struct url_host){.kind = URL_HOST_BAD};
	if (hostname_parse_port(s + host, len - host, &ret->host, &written) != HOST_BAD) {
		ret->kind = URL_HOST_HOST;
		ret->port = written != 0 ? written : port;
	}
	return ret->kind;
}

/* Where a scheme ends: "://"; len when there is none. */
static size_t scheme_length(const char *s, size_t len) {
	for (size_t i = 0; i + 2 < len; i++) {
		if (memcmp(s + i, "://", 3) == 0) {
			return i;
		}
	}
	return len;
}

static bool ends_authority(char c) {
	return c == '/' || c == '?' || c == '#' || c == '\\';
}

enum url_host_kind url_host_of_url(const char *s, size_t len, struct url_host *ret) {
	size_t scheme = scheme_length(s, len), end;
	uint16_t port = scheme == len ? 0 : port_of(s, scheme);

	*ret = (struct url_host){.kind = URL_HOST_NONE};
	if (port == 0) {
		return URL_HOST_NONE;
	}
	s += scheme + 3;
	len -= scheme + 3;
	for (end = 0; end < len && !ends_authority(s[end]); end++) {
	}
	return take_authority(s, end, port, ret);
}

/* For git a text with a slash before its first colon is a path. */
enum url_host_kind url_host_of_remote(const char *s, size_t len, struct url_host *ret) {
	size_t end = 0;

	*ret = (struct url_host){.kind = URL_HOST_NONE};
	if (scheme_length(s, len) < len) {
		return url_host_of_url(s, len, ret);
	}
	const char *login = memchr(s, '@', len);
	const char *bracket = memchr(s, '[', len);
	if (bracket != NULL && (bracket == s || (login != NULL && bracket == login + 1))) {
		const char *close = memchr(bracket, ']', len - (size_t)(bracket - s));
		end = close == NULL ? 0 : (size_t)(close - s);
	}
	const char *colon = memchr(s + end, ':', len - end);
	const char *slash = memchr(s, '/', len);
	bool helper = colon != NULL && colon + 1 < s + len && colon[1] == ':'; /* "ext::…" */
	if (colon == NULL || helper || colon == s || (slash != NULL && slash < colon)) {
		return URL_HOST_NONE;
	}
	return take_authority(s, (size_t)(colon - s), 22, ret);
}

bool url_host_is_loopback(const struct url_host *a) {
	static const struct ip one = {.b = {[15] = 1}};
	const char *end = strrchr(a->host.name, '.');

	if (a->host.kind == HOST_IP) {
		return ip_same(&a->host.ip, &one) ||
		       (ip_is4(&a->host.ip) && a->host.ip.b[12] == 127);
	}
	return streq(end == NULL ? a->host.name : end + 1, "localhost");
}
