/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed rule about hosts: one element of net.allow, net.deny or net.private. */
#ifndef CORRAL_POLICY_HOST_RULE_H
#define CORRAL_POLICY_HOST_RULE_H

#include "base/hostname.h"

enum host_rule_kind {
	HOST_RULE_NAME,    /* exactly this name */
	HOST_RULE_BENEATH, /* "*.name": names beneath it */
	HOST_RULE_NETWORK, /* an address or a network */
};

/* As in plan/net/net.h: without a port, and with ":*". */
#define HOST_PORT_NONE 0
#define HOST_PORT_ANY (-1)

struct host_rule {
	enum host_rule_kind kind;
	char name[HOSTNAME_MAX + 1]; /* lower case, without "*." */
	struct network network;
	int port;
};

/* The reason why a text is no rule, and the remedy; both may be truncated. */
struct host_fault {
	char why[160], fix[200];
};

/* Parses "NAME", "*.NAME", "10.1.2.3", "10.0.0.0/8" or "fd00::1", each optionally with ":PORT"
 * or ":*" (IPv6 then in brackets).  False, with *fault filled, for anything else. */
bool host_rule_read(const char *text, struct host_rule *ret, struct host_fault *fault);

/* The canonical text of a rule: it parses to the same rule. */
#define HOST_RULE_TEXT (HOSTNAME_MAX + 16)
void host_rule_text(const struct host_rule *r, char out[HOST_RULE_TEXT]);

/* The address or network alone; returns the length. */
#define HOST_RULE_NETWORK_TEXT (IP_TEXT + 4)
size_t host_rule_network_text(const struct network *n, char out[HOST_RULE_NETWORK_TEXT]);

#endif
