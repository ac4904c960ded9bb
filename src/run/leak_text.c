/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces secrets in the short texts of records.
 *
 * Should:   leave a text without a secret as it is.
 * Must not: let a byte of a secret into a record.
 * Fails:    closed: a text that cannot be scanned is not copied. */
#include "run/leak_text.h"

#include "base/auto.h"

#include <stdio.h>
#include <string.h>

struct copy {
	char *to;
	size_t len, cap;
	bool found;
};

static void on_found(void *arg, const struct leak_finding *finding) {
	struct copy *c = arg;
	(void)finding;

	c->found = true;
}

static int on_output(void *arg, const void *data, size_t len) {
	struct copy *c = arg;
	size_t n = len < c->cap - 1 - c->len ? len : c->cap - 1 - c->len;

	memcpy(c->to + c->len, data, n);
	c->len += n;
	return 0;
}

bool leak_text_clean(const struct leak_scanner *scanner, const char *text, char *ret, size_t cap) {
	struct copy c = {.to = ret, .cap = cap};
	struct leak_stream *s =
		scanner == NULL ? NULL : leak_stream_new(scanner, on_found, on_output, &c);

	bool done = s != NULL && leak_stream_feed(s, text, strlen(text)) == 0 &&
		    leak_stream_end(s) == 0;
	leak_stream_free(s);
	ret[c.len] = '\0';
	if (!done) {
		(void)snprintf(ret, cap, "[not scanned]"); /* may be cut */
	}
	return c.found;
}
