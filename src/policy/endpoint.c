/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the ports and sockets of net.publish, net.host_ports and net.sockets.
 *
 * Should:   normalize each, so that two spellings become one element.
 * Must not: check whether a program listens there.
 * Fails:    closed: a text with any character that belongs to no port or path is an error. */
#include "policy/endpoint.h"

#include "base/str.h"
#include "policy/internal.h"

#include <stdio.h>

/* Parses digits up to `end`; returns the end of the digits, NULL when they are no port. */
static const char *read_port(const char *s, char end, uint16_t *ret) {
	unsigned n = 0;
	const char *p = s;

	for (; *p >= '0' && *p <= '9' && n <= UINT16_MAX; p++) {
		n = n * 10 + (unsigned)(*p - '0');
	}
	if (p == s || *s == '0' || n > UINT16_MAX || (*p != '\0' && *p != end)) {
		return NULL;
	}
	*ret = (uint16_t)n;
	return p;
}

bool endpoint_port_pair(const char *text, uint16_t *ret_inside, uint16_t *ret_outside) {
	uint16_t inside, outside;
	const char *rest = read_port(text, ':', &inside);

	if (rest == NULL) {
		return false;
	}
	outside = inside;
	if (*rest == ':' && read_port(rest + 1, '\0', &outside) == NULL) {
		return false;
	}
	*ret_inside = inside;
	*ret_outside = outside;
	return true;
}

static int append_item(const struct where *w, const struct key *k, const char *text,
		       struct value *v, struct err *e) {
	struct item item = {.str = text, .origin = w->origin};
	return text == NULL ? err_memory(e, "policy") : value_put(w->a, k, v, &item, e);
}

int endpoint_port_from_text(const struct where *w, const struct key *k, const char *text,
			    struct value *v, struct err *e) {
	uint16_t inside, outside;
	bool pairs = k->type == TYPE_PORT_PAIRS;

	if (!endpoint_port_pair(text, &inside, &outside) || (!pairs && strchr(text, ':') != NULL)) {
		(void)value_refuse(w, k, text, "not a port (1 to 65535)", e);
		return err_fix(e, "write %s", pairs ? "PORT, or PORT:HOSTPORT" : "PORT");
	}
	return append_item(w, k,
			   inside == outside ? arena_printf(w->a, "%u", inside)
					     : arena_printf(w->a, "%u:%u", inside, outside),
			   v, e);
}

const char *endpoint_socket_split(const char *text) {
	const char *colon = text;
	do {
		colon = strchr(colon + 1, ':');
	} while (colon != NULL && colon[1] != '/');
	return colon;
}

int endpoint_socket_from_text(const struct where *w, const struct key *k, const char *text,
			      struct value *v, struct err *e) {
	const char *path, *dest = NULL;
	const char *split = *text == '\0' ? NULL : endpoint_socket_split(text);
	char *source =
		arena_strndup(w->a, text, split == NULL ? strlen(text) : (size_t)(split - text));

	if (source == NULL) {
		return err_memory(e, "policy");
	}
	if (value_path(w, k, source, &path, e) != 0 ||
	    (split != NULL && value_path(w, k, split + 1, &dest, e) != 0)) {
		return -1;
	}
	if (endpoint_socket_split(path) != NULL ||
	    (dest != NULL && endpoint_socket_split(dest) != NULL)) {
		return value_refuse(w, k, text,
				    "a path must not contain \":/\": it separates PATH from DEST",
				    e);
	}
	bool moved = dest != NULL && !streq(dest, path);
	return append_item(w, k, moved ? arena_printf(w->a, "%s:%s", path, dest) : path, v, e);
}
