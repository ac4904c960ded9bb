/* The head of a server's answer, as far as it decides whether the protocol changes.
 *
 * Should:   read the status, and of 100 to 199, which have no body, the end and what says
 * WebSocket. Must not: take a line for what it is not: an answer that is not well-formed switches
 * nothing. Fails:    closed: BAD is no 101. */
#include "net/http.h"

#include "net/http_fields.h"

#include <string.h>

static bool is_ours(struct http_answer *a, const struct field *f) {
	if (!http_span_is(f->name, "sec-websocket-accept")) {
		return true;
	}
	if (a->accept != NULL) {
		return false; /* two */
	}
	a->accept = (const char *)f->value.at;
	a->accept_len = f->value.len;
	return true;
}

enum sniff http_answer_read(const uint8_t *data, size_t len, struct http_answer *ret) {
	struct http_answer a = {0};
	struct http_span rest = {data, len}, line;
	struct field f;
	enum sniff told = http_status_read(data, len, &a.status);

	if (told != SNIFF_DONE || a.status < 100 || a.status > 199) {
		*ret = a;
		return told;
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
		if (!first && (!http_field_read(line, &f) || !is_ours(&a, &f))) {
			return SNIFF_BAD;
		}
	}
	return SNIFF_MORE;
}
