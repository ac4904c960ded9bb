/* SPDX-License-Identifier: Apache-2.0 */
/* Host, Origin and Authorization of a request.
 *
 * Should:   refuse a request that a browser sends for a web page.
 * Must not: compare a name that the parser has not normalised.
 * Fails:    closed: a field that occurs twice, or has another form, is refused. */
#include "http/check.h"

#include <string.h>

#define HTTP_PORT 80

struct local {
	const struct ip *address;
	uint16_t port;
};

/* Only 127.0.0.1 has the name: "localhost" is no other address of 127.0.0.0/8. */
static bool is_local(const struct hostname *host, uint16_t port, const struct local *ours) {
	if ((port == 0 ? HTTP_PORT : port) != ours->port) {
		return false;
	}
	if (host->kind == HOST_NAME) {
		return strcmp(host->name, "localhost") == 0 &&
		       ip_same(ours->address, &ip_loopback4);
	}
	return host->kind == HOST_IP && ip_same(&host->ip, ours->address);
}

/* http://HOST[:PORT], without a path; "null" and other schemes are foreign. */
static bool is_local_origin(struct http_span origin, const struct local *ours) {
	static const char scheme[] = "http://";
	const size_t len = sizeof scheme - 1;
	struct hostname host;
	uint16_t port = 0;

	return origin.len > len && memcmp(origin.at, scheme, len) == 0 &&
	       hostname_parse_port((const char *)origin.at + len, origin.len - len, &host, &port) !=
		       HOST_BAD &&
	       is_local(&host, port, ours);
}

struct http_refusal http_check_local(const struct http_request *r, const struct ip *address,
				     uint16_t port) {
	const struct local ours = {address, port};
	struct http_span origin;
	int origins = http_request_field(r, "origin", &origin);

	if (!r->head.has_host || !is_local(&r->head.host, r->head.port, &ours)) {
		return (struct http_refusal){
			403, "the Host of the request is not this server (its address, or "
			     "localhost for 127.0.0.1, with its port)"};
	}
	if (origins < 0 || (origins == 1 && !is_local_origin(origin, &ours))) {
		return (struct http_refusal){403, "the Origin of the request is a web site"};
	}
	return (struct http_refusal){0, NULL};
}

bool http_check_bearer(const struct http_request *r, struct http_span *ret) {
	static const char scheme[] = "Bearer ";
	const size_t len = sizeof scheme - 1;
	struct http_span value;

	if (http_request_field(r, "authorization", &value) != 1 ||
	    !http_span_begins(value, scheme)) {
		return false;
	}
	value.at += len;
	value.len -= len;
	while (value.len > 0 && value.at[0] == ' ') {
		value.at++;
		value.len--;
	}
	*ret = value;
	return value.len > 0;
}
