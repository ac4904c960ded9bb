/* Theory.  The kernel's routes say it: a local one ends here.  The source address that the kernel
 * would choose says less: to a second address of an interface it is the first one.
 *
 * Should:   say yes to every address that the kernel delivers to this host.
 * Must not: send a packet, or wait.
 * Fails:    by saying that nobody knows. */
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

struct question {
	struct nlmsghdr head;
	struct rtmsg body;
	struct rtattr to;
	uint8_t address[16];
};

struct answer {
	struct nlmsghdr head;
	struct rtmsg body; /* what follows is not looked at */
};

int local_address_open(void) {
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
}

static bool send_question(int fd, const struct ip *ip, uint32_t number) {
	size_t len = ip_is4(ip) ? 4 : sizeof ip->b;
	struct question q = {
		.head = {.nlmsg_len = (uint32_t)(offsetof(struct question, address) + len),
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

/* The kernel answers before send(2) returns; one that was not taken is an earlier question's. */
static enum local_address_answer ask_route(int routes, uint32_t number, const struct ip *ip) {
	struct answer a;

	if (routes < 0 || !send_question(routes, ip, number)) {
		return LOCAL_ADDRESS_UNKNOWN;
	}
	do {
		memset(&a, 0, sizeof a);
		if (recv(routes, &a, sizeof a, MSG_DONTWAIT) < (ssize_t)sizeof a) {
			return LOCAL_ADDRESS_UNKNOWN;
		}
	} while (a.head.nlmsg_seq != number);
	if (a.head.nlmsg_type != RTM_NEWROUTE) {
		return LOCAL_ADDRESS_UNKNOWN; /* there is no way to it, or the kernel does not tell
					       */
	}
	return a.body.rtm_type == RTN_UNICAST ? LOCAL_ADDRESS_NO : LOCAL_ADDRESS_YES;
}

/* ---- by source ---- */

/* The kernel would talk to itself: from this address to this address. */
static enum local_address_answer ask_source(const struct ip *ip) {
	union sockaddr_any a, own;
	socklen_t len = address_of(ip, 9, &a), own_len = sizeof own;
	auto_fd fd = socket(a.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ip from;

	memset(&own, 0, sizeof own);
	if (fd < 0 && errno != EAFNOSUPPORT) {
		return LOCAL_ADDRESS_UNKNOWN; /* no descriptor, no memory */
	}
	if (fd < 0 || connect(fd, &a.any, len) != 0 || getsockname(fd, &own.any, &own_len) != 0) {
		return LOCAL_ADDRESS_NO; /* there is no way to it at all */
	}
	(void)address_ip(&own, &from); /* the port is nobody's */
	return ip_same(&from, ip) ? LOCAL_ADDRESS_YES : LOCAL_ADDRESS_NO;
}

enum local_address_answer local_address_check(int routes, uint32_t number, const struct ip *ip) {
	enum local_address_answer told = ask_route(routes, number, ip);

	return told == LOCAL_ADDRESS_UNKNOWN ? ask_source(ip) : told;
}
