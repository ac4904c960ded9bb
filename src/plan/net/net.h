/* SPDX-License-Identifier: Apache-2.0 */
/* The network rules of a plan, by which the gate allows or refuses connections.
 *
 * Pure data; strings belong to the arena of the plan. */
#ifndef CORRAL_PLAN_NET_NET_H
#define CORRAL_PLAN_NET_NET_H

#include "base/hostname.h"
#include "policy/policy.h"

enum net_rule_kind {
	NET_RULE_NAME,    /* exactly this name */
	NET_RULE_BENEATH, /* "*.name": names beneath it, not the name itself */
	NET_RULE_ANY,     /* "*": every public name (net.mode restricted) */
	NET_RULE_NETWORK, /* an IP address or a network */
};

#define NET_PORT_WEB 0    /* written without a port: 80 and 443 */
#define NET_PORT_ANY (-1) /* ":*" */

struct net_rule {
	enum net_rule_kind kind;
	const char *name;       /* lower case, without "*." */
	struct network network; /* NET_RULE_NETWORK */
	int port;
	bool may_be_private; /* from the host's own configuration: it may resolve to RANGE_PRIVATE
			      */
	const char *written; /* as the user wrote it, or "@registries" */
	const char *note;    /* "npm's registry (~/.npmrc)"; NULL */
	struct origin origin;
};

struct net_publish {
	uint16_t inside, outside;
};

/* One unix socket of the host. */
struct net_socket {
	uint64_t dev, ino;   /* of the socket file when it was planned */
	const char *source;  /* canonical */
	const char *target;  /* inside */
	const char *meaning; /* the access that it gives; NULL: not in the table */
	struct origin origin;
};

/* Largest /etc/resolv.conf and /etc/hosts of the host that are read. */
#define NET_RESOLV_CONF_MAX ((size_t)64 * 1024)
#define NET_HOSTS_MAX ((size_t)1024 * 1024)

struct net_plan {
	bool gate; /* net.mode is filtered or restricted, or a port is published or passed */
	enum net mode;
	struct net_rule *allow, *deny; /* deny wins */
	size_t nallow, ndeny, allow_cap, deny_cap;
	struct network *reach; /* net.private: private networks that allowed names may resolve to */
	size_t nreach;
	bool proxy; /* HTTP and SOCKS listeners inside */
	struct net_publish *publish;
	size_t npublish;
	uint16_t *host_ports; /* of the host's loopback */
	size_t nhost_ports;
	const char *resolv_conf, *hosts; /* texts of the host's files at the start; "" without */
	const char *resolver;            /* the run's /etc/resolv.conf; NULL: the host's */
	struct net_socket *sockets;      /* need no gate: the broker allows connect(2) */
	size_t nsockets;
};

/* The gate resolves names and checks them: net.mode filtered or restricted. */
static inline bool net_has_names(const struct net_plan *net) {
	return net->gate && (net->mode == NET_FILTERED || net->mode == NET_RESTRICTED);
}

/* A port of the host's loopback that the run may reach. */
static inline bool net_passes_port(const struct net_plan *net, uint16_t port) {
	for (size_t i = 0; i < net->nhost_ports; i++) {
		if (net->host_ports[i] == port) {
			return true;
		}
	}
	return false;
}

/* Ports of the proxies inside, on 127.0.0.1. */
#define NET_PROXY_HTTP 3128
#define NET_PROXY_SOCKS 1080

/* Where the resolver listens with namespaces. */
#define NET_RESOLVER "127.0.0.53"

/* With --ask a look-up waits for a person: options of resolv.conf(5). */
#define NET_PATIENT "timeout:30 attempts:4"

#endif
