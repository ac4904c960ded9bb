/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the head of a server's response, to find out whether the protocol switches.
 *
 * Should:   read the status; of 100 to 199, which have no body, also the end of the head and
 *           Sec-WebSocket-Accept.
 * Must not: accept a malformed head: it switches nothing.
 * Fails:    closed: SNIFF_BAD is not a 101. */
#include "net/http.h"

#include "net/http_fields.h"

#include <string.h>

/* False: a second Sec-WebSocket-Accept. */
static bool take_accept(struct http_answer *a, const struct field *f) {
	if (!http_span_is(f->name, "sec-websocket-accept")) {
		return true;
	}
	if (a->accept != NULL) {
		return false;
	}
	a->accept = (const char *)f->value.at;
	a->accept_len = f->value.len;
	return true;
}

enum sniff http_answer_read(const uint8_t *data, size_t len, struct http_answer *ret) {
	struct http_answer a = {0};
	struct http_span rest = {data, len}, line;
	struct field f;
	enum sniff sniffed = http_status_read(data, len, &a.status);

	if (sniffed != SNIFF_DONE || a.status < 100 || a.status > 199) {
		*ret = a;
		return sniffed;
	}
	for (bool first = true; memchr(rest.at, '\n', rest.len) != NULL; first = false) {
		if (!http_line_next(&rest, &line)) {
			return SNIFF_BAD;
		}
		if (line.len == 0) {
			a.len = (size_t)(rest.at - data);
			*ret = a;
			return SNIFF_DONE;
		}
		if (!first && (!http_field_read(line, &f) || !take_accept(&a, &f))) {
			return SNIFF_BAD;
		}
	}
	return SNIFF_MORE;
}
