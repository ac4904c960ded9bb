/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an address belongs to this host, by rtnetlink.
 *
 * Theory.  RTM_GETROUTE returns the route to an address; any type but RTN_UNICAST (RTN_LOCAL,
 * broadcast, ...) counts as this host's.  Without rtnetlink the file compares the source address
 * that connect(2) on a UDP socket chooses, which is less exact: for a second address of an
 * interface the kernel chooses the first one.
 *
 * Should:   return YES for every address that the kernel delivers to this host.
 * Must not: send a packet, or block.
 * Fails:    with UNKNOWN, which the caller treats as YES. */
#include "gate/local_address.h"

#include "base/auto.h"
#include "gate/sockaddr.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* ---- by route ---- */

struct route_request {
	struct nlmsghdr head;
	struct rtmsg body;
	struct rtattr to;
	uint8_t address[16];
};

struct route_reply {
	struct nlmsghdr head;
	struct rtmsg body; /* attributes follow, which are not read */
};

int local_address_open(void) {
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
}

static bool send_request(int fd, const struct ip *ip, uint32_t number) {
	size_t len = ip_is4(ip) ? 4 : sizeof ip->b;
	struct route_request q = {
		.head = {.nlmsg_len = (uint32_t)(offsetof(struct route_request, address) + len),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST,
			 .nlmsg_seq = number},
		.body = {.rtm_family = ip_is4(ip) ? AF_INET : AF_INET6,
			 .rtm_dst_len = (uint8_t)(len * 8)},
		.to = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = RTA_DST},
	};

	memcpy(q.address, ip->b + sizeof ip->b - len, len);
	return send(fd, &q, q.head.nlmsg_len, MSG_DONTWAIT) == (ssize_t)q.head.nlmsg_len;
}

/* The kernel queues its reply before send(2) returns; a reply with another number belongs to an
 * earlier request that was not read. */
static enum local_address_answer check_route(int route_socket, uint32_t number,
					     const struct ip *ip) {
	struct route_reply a;

	if (route_socket < 0 || !send_request(route_socket, ip, number)) {
		return LOCAL_ADDRESS_UNKNOWN;
	}
	do {
		memset(&a, 0, sizeof a);
		if (recv(route_socket, &a, sizeof a, MSG_DONTWAIT) < (ssize_t)sizeof a) {
			return LOCAL_ADDRESS_UNKNOWN;
		}
	} while (a.head.nlmsg_seq != number);
	if (a.head.nlmsg_type != RTM_NEWROUTE) {
		return LOCAL_ADDRESS_UNKNOWN; /* NLMSG_ERROR: no route, or refused */
	}
	return a.body.rtm_type == RTN_UNICAST ? LOCAL_ADDRESS_NO : LOCAL_ADDRESS_YES;
}

/* ---- by source address ---- */

/* For a local destination the kernel chooses that address as the source too. */
static enum local_address_answer check_source(const struct ip *ip) {
	union sockaddr_any a, own;
	socklen_t len = address_of(ip, 9, &a), own_len = sizeof own;
	auto_fd fd = socket(a.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ip from;

	memset(&own, 0, sizeof own);
	if (fd < 0 && errno != EAFNOSUPPORT) {
		return LOCAL_ADDRESS_UNKNOWN; /* EMFILE, ENOMEM */
	}
	if (fd < 0 || connect(fd, &a.any, len) != 0 || getsockname(fd, &own.any, &own_len) != 0) {
		return LOCAL_ADDRESS_NO; /* no route */
	}
	(void)address_ip(&own, &from); /* the port is not used */
	return ip_same(&from, ip) ? LOCAL_ADDRESS_YES : LOCAL_ADDRESS_NO;
}

enum local_address_answer local_address_check(int route_socket, uint32_t number,
					      const struct ip *ip) {
	enum local_address_answer by_route = check_route(route_socket, number, ip);

	return by_route == LOCAL_ADDRESS_UNKNOWN ? check_source(ip) : by_route;
}
