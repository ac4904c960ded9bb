/* SPDX-License-Identifier: Apache-2.0 */
/* URLs as gate/url reads them, for urls.py to compare with what others read.
 *
 * Should:   answer each line, a URL in hexadecimal, with "refused RULE" or with "SCHEME HOST
 *           PORT".
 * Must not: ask a resolver.
 * Fails:    with exit 2 at a line that is none. */
#include "net/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t unhex(char *line) {
	size_t n = strcspn(line, "\n") / 2;

	for (size_t i = 0; i < n; i++) {
		const char digits[] = {line[2 * i], line[2 * i + 1], '\0'};
		char *end;
		line[i] = (char)strtoul(digits, &end, 16);
		if (*end != '\0') {
			exit(2);
		}
	}
	return n;
}

int main(void) {
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		struct url u;
		char text[IP_TEXT] = "";
		struct url_verdict v = url_judge(line, unhex(line), (struct url_reach){0}, &u);

		if (!v.allowed) {
			printf("refused %s\n", url_rule_name(v.rule));
			continue;
		}
		if (u.host.kind == HOST_IP) {
			ip_text(&u.host.ip, text);
		}
		printf("%s %s%s %d\n", u.https ? "https" : "http", u.host.name, text, u.port);
	}
	free(line);
	return 0;
}
