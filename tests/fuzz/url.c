/* SPDX-License-Identifier: Apache-2.0 */
/* A URL that somebody wants fetched.
 *
 * What is accepted begins with a scheme of two, names its host in plain letters right behind
 * "//", and that host is neither special nor spelled oddly.  Said again here with the C
 * library's words. */
#include "net/url.h"

#include "fuzz.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <strings.h>

/* The host as it is written, without port and brackets; lower case. */
static void written_host(const char *s, char out[300]) {
	const char *host = strstr(s, "//") + 2;
	size_t n = strcspn(host, "/?#");

	if (host[0] == '[') {
		host++;
		n = strcspn(host, "]");
	} else {
		n = strcspn(host, ":/?#") < n ? strcspn(host, ":/?#") : n;
	}
	HOLDS(n < 300);
	for (size_t i = 0; i < n; i++) {
		out[i] = (char)tolower((unsigned char)host[i]);
	}
	n -= n > 0 && out[n - 1] == '.';
	out[n] = '\0';
}

static bool is_reserved4(uint32_t a) {
	return a >> 24 == 0 || a >> 24 == 10 || a >> 24 == 127 || a >> 16 == 0xa9fe ||
	       a >> 20 == 0xac1 || a >> 16 == 0xc0a8 || a >> 22 == 0x191 || a >> 28 >= 14;
}

static void check_accepted(const char *s, const struct url *u) {
	char host[300], text[IP_TEXT];
	struct in_addr four;
	struct in6_addr six;

	written_host(s, host);
	HOLDS(strncasecmp(s, u->https ? "https://" : "http://", u->https ? 8 : 7) == 0);
	HOLDS(u->port != 0);
	if (u->host.kind == HOST_NAME) {
		HOLDS(strcmp(host, u->host.name) == 0);
		HOLDS(inet_aton(host, &four) == 0);
		HOLDS(strchr(host, '.') != NULL &&
		      strcasecmp(host, "metadata.google.internal") != 0);
		return;
	}
	HOLDS(u->host.kind == HOST_IP);
	ip_text(&u->host.ip, text);
	if (inet_pton(AF_INET, host, &four) == 1) {
		HOLDS(strcmp(host, text) == 0 && !is_reserved4(ntohl(four.s_addr)));
	} else {
		HOLDS(inet_pton(AF_INET6, host, &six) == 1 && memcmp(&six, u->host.ip.b, 16) == 0);
		HOLDS(six.s6_addr[0] >> 5 == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	char *s = input_rest(&in);
	struct url u;
	struct url_verdict v = url_judge(s, strlen(s), (struct url_reach){0}, &u);

	if (v.allowed) {
		check_accepted(s, &u);
	} else {
		HOLDS((v.why != NULL) != (v.what != NULL) && v.remedy != NULL);
	}
	/* With its NULs it is never better. */
	if (memchr(data, 0, size) != NULL) {
		HOLDS(!url_judge((const char *)data, size, (struct url_reach){0}, &u).allowed);
	}
	free(s);
	return 0;
}
