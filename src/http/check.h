/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a request to a server on the loopback interface comes from a client of its user.
 *
 * A page of any web site can make a browser send requests to 127.0.0.1.  Such a request has the
 * Origin of the site, or after DNS rebinding its Host; the Host and the Origin of a local client
 * have the name or the address of this computer.  Other users of the computer can connect as well:
 * the token stops them. */
#ifndef CORRAL_HTTP_CHECK_H
#define CORRAL_HTTP_CHECK_H

#include "http/request.h"

/* Why a request is refused; status 0: it is not. */
struct http_refusal {
	int status;
	const char *why;
};

/* Host is this address, or for 127.0.0.1 also localhost, with this port; and an Origin, if there is
 * one, the same with http:// before it. */
struct http_refusal http_check_local(const struct http_request *r, const struct ip *address,
				     uint16_t port);

/* The token of "Authorization: Bearer TOKEN"; false: there is none. */
bool http_check_bearer(const struct http_request *r, struct http_span *ret);

#endif
