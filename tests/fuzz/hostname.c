/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, ports and networks, from whoever writes them.
 *
 * A name has nothing but its letters and is no address to the C library; what is read and
 * written is read as the same again. */
#include "base/hostname.h"

#include "fuzz.h"

#include <arpa/inet.h>
#include <ctype.h>

static void check_name(const char *name) {
	struct in_addr four;
	struct hostname again;
	size_t label = 0;

	HOLDS(strlen(name) >= 1 && strlen(name) <= 253 && inet_aton(name, &four) == 0);
	for (const char *p = name; *p != '\0'; p++) {
		HOLDS(isdigit((unsigned char)*p) || islower((unsigned char)*p) ||
		      strchr("-_.", *p) != NULL);
		label = *p == '.' ? 0 : label + 1;
		HOLDS(label <= 63 && !(p[0] == '.' && (p[1] == '.' || p[1] == '\0' || p == name)));
	}
	HOLDS(hostname_parse(name, strlen(name), &again) == HOST_NAME &&
	      strcmp(again.name, name) == 0);
}

static void check_ip(const struct ip *ip) {
	char text[IP_TEXT];
	struct ip again;
	size_t n = ip_text(ip, text);

	HOLDS(n == strlen(text) && n < IP_TEXT);
	HOLDS(ip_parse(text, n, &again) && ip_same(ip, &again));
}

static void check_host(const struct hostname *h) {
	switch (h->kind) {
	case HOST_NAME:
		check_name(h->name);
		return;
	case HOST_IP:
		check_ip(&h->ip);
		return;
	default:
		HOLDS(h->why != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	/* An exact copy, so that a read behind it is seen. */
	char *s = malloc(size + (size == 0));
	struct hostname h;
	struct network n;
	struct ip ip;
	uint16_t port = 0;

	if (s == NULL) {
		abort();
	}
	memcpy(s, size == 0 ? (const uint8_t *)"" : data, size);
	(void)hostname_parse(s, size, &h);
	check_host(&h);
	(void)hostname_parse_port(s, size, &h, &port);
	check_host(&h);
	if (ip_parse_any(s, size, &ip)) {
		check_ip(&ip);
	}
	if (ip_network_parse(s, size, &n)) {
		HOLDS(n.bits <= 128 && ip_network_holds(&n, &n.ip));
	}
	free(s);
	return 0;
}
