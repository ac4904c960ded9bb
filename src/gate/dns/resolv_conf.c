/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of resolv.conf(5).
 *
 * Should:   read the file as libc does: nameserver, and the options timeout, attempts, rotate,
 *           use-vc.
 * Must not: allocate, or make system calls except to look up an interface's index.
 * Fails:    closed: a malformed line is ignored. */
#include "gate/dns/resolv_conf.h"

#include "base/auto.h"
#include "base/ip.h"
#include "gate/dns/lines.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static bool word_is(const struct word *w, const char *text) {
	return w->len == strlen(text) && memcmp(w->at, text, w->len) == 0;
}

/* Decimal digits only; larger numbers become max. */
static bool parse_number(const char *s, size_t len, unsigned max, unsigned *ret) {
	unsigned n = 0;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9') {
			return false;
		}
		n = n * 10 + (unsigned)(s[i] - '0');
		n = n < max ? n : max;
	}
	*ret = n;
	return len > 0;
}

/* The index of an interface, given by name or number; 0: none. */
static unsigned interface_index(const char *zone, size_t len) {
	struct ifreq request = {0};
	unsigned n = 0;
	if (parse_number(zone, len, INT32_MAX, &n)) {
		return n;
	}
	if (len == 0 || len >= sizeof request.ifr_name) {
		return 0;
	}
	memcpy(request.ifr_name, zone, len);
	auto_fd fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && ioctl(fd, SIOCGIFINDEX, &request) == 0 ? (unsigned)request.ifr_ifindex
								 : 0;
}

static bool parse_address(const struct word *w, struct server *ret) {
	struct ip ip;
	const char *zone = memchr(w->at, '%', w->len);
	size_t len = zone == NULL ? w->len : (size_t)(zone - w->at);
	if (!ip_parse_any(w->at, len, &ip)) {
		return false;
	}
	if (ip_is4(&ip)) {
		ret->address.v4 = (struct sockaddr_in){.sin_family = AF_INET};
		ret->address.v4.sin_port = htons(RESOLV_CONF_PORT);
		memcpy(&ret->address.v4.sin_addr, ip.b + 12, 4);
		ret->len = sizeof ret->address.v4;
		return zone == NULL;
	}
	ret->address.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	ret->address.v6.sin6_port = htons(RESOLV_CONF_PORT);
	memcpy(&ret->address.v6.sin6_addr, ip.b, sizeof ip.b);
	ret->len = sizeof ret->address.v6;
	if (zone != NULL) {
		ret->address.v6.sin6_scope_id = interface_index(zone + 1, w->len - len - 1);
	}
	return zone == NULL || ret->address.v6.sin6_scope_id != 0;
}

static void add_server(struct resolv_conf *s, const struct word *w) {
	if (s->count < RESOLV_CONF_MAX && parse_address(w, &s->list[s->count])) {
		s->count++;
	}
}

/* "name:number"; name includes the colon. */
static bool option_value(const struct word *w, const char *name, unsigned max, unsigned *ret) {
	size_t len = strlen(name);
	return w->len > len && memcmp(w->at, name, len) == 0 &&
	       parse_number(w->at + len, w->len - len, max, ret);
}

static void read_option(struct resolv_conf *s, const struct word *w) {
	unsigned n = 0;
	if (option_value(w, "timeout:", RESOLV_CONF_TIMEOUT_MAX, &n)) {
		s->timeout_ms = 1000 * (n == 0 ? 1 : n);
	} else if (option_value(w, "attempts:", RESOLV_CONF_ATTEMPTS_MAX, &n)) {
		s->attempts = n == 0 ? 1 : n;
	} else if (word_is(w, "rotate")) {
		s->rotate = true;
	} else if (word_is(w, "use-vc")) {
		s->use_vc = true;
	}
}

void resolv_conf_read(struct resolv_conf *s, const char *resolv_conf, unsigned timeout_ms) {
	struct line line;
	struct word word;
	*s = (struct resolv_conf){.timeout_ms = timeout_ms, .attempts = 2};
	while (lines_next(&resolv_conf, "#;", &line)) {
		/* libc accepts a keyword only in the first column. */
		if (line.left == 0 || is_blank(*line.at) || !line_word(&line, &word)) {
			continue;
		}
		if (word_is(&word, "nameserver") && line_word(&line, &word)) {
			add_server(s, &word);
		} else if (word_is(&word, "options")) {
			while (line_word(&line, &word)) {
				read_option(s, &word);
			}
		}
	}
	s->named = s->count > 0;
	if (!s->named) {
		add_server(s, &(struct word){"127.0.0.1", sizeof "127.0.0.1" - 1});
	}
}

size_t resolv_conf_first_server(struct resolv_conf *s, int64_t now) {
	size_t first = s->rotate ? s->turn++ % s->count : 0;
	for (size_t i = 0; i < s->count; i++) {
		size_t one = (first + i) % s->count;
		if (s->list[one].avoid_until <= now) {
			return one;
		}
	}
	return first;
}
