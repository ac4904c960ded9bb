/* SPDX-License-Identifier: Apache-2.0 */
/* Enters the network namespace of the early process, if there is one, and configures it.  It has
 * only its loopback interface.
 *
 * Should:   bring up "lo", so that servers and clients in the sandbox can connect to each
 *           other, and set ping_group_range to the caller's group, as distributions do:
 *           ping(8) has no CAP_NET_RAW here.  With a gate: create the listeners through which
 *           the command reaches it, and send them to it; give lo a second address, because
 *           getaddrinfo(3) with AI_ADDRCONFIG resolves no name where only loopback addresses
 *           are configured.
 * Must not: add a route or another interface; run after pivot.c (the new /proc/sys is
 *           read-only).
 * Fails:    closed, except for ping_group_range, the second address and the raw sockets. */
#include "linux/layer.h"

#include "base/auto.h"
#include "gate/wire.h"
#include "linux/early.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ECHO_GROUPS "/proc/sys/net/ipv4/ping_group_range"
#define CONGESTION "/proc/sys/net/ipv4/tcp_congestion_control"

static int network_prepare(struct kit *k, struct err *e) {
	(void)e;
	(void)snprintf(k->echo_groups, sizeof k->echo_groups, "%u %u", k->host->gid, k->host->gid);
	return 0;
}

static int bring_up_loopback(const struct kit *k, struct err *e) {
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return err_host(e, ERR_NO_NAMESPACES, "network",
				"cannot open a socket in the new namespace");
	}
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	if (ioctl(fd, SIOCSIFFLAGS, &up) != 0) {
		return err_host(e, ERR_NO_NAMESPACES, "network",
				"cannot bring up the loopback interface");
	}
	kit_leave_fd(k, fd);
	return 0;
}

/* Best effort: /proc/sys may be read-only in a container; then ping fails with EACCES. */
static void set_sysctl(const struct kit *k, const char *path, const char *value) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, value, strlen(value)); /* best effort */
	}
	kit_leave_fd(k, fd);
}

/* ---- sockets for the gate ---- */

/* Documentation addresses (RFC 5737, RFC 3849): no host has them. */
#define OWN_ADDRESS 0xc0000201U
static const uint8_t own_address6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};

/* Best effort: without them getaddrinfo(3) with AI_ADDRCONFIG finds no name. */
static void add_addresses(void) {
	struct ifreq v4 = {.ifr_name = "lo:1"};
	/* The kernel's struct in6_ifreq (its header clashes with libc's): address, prefix
	 * length, interface index (lo has 1). */
	const uint32_t prefix_and_interface[] = {128, 1};
	uint8_t v6[sizeof own_address6 + sizeof prefix_and_interface];
	struct sockaddr_in address = {.sin_family = AF_INET};
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	auto_fd fd6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(OWN_ADDRESS);
	memcpy(&v4.ifr_addr, &address, sizeof address);
	memcpy(v6, own_address6, sizeof own_address6);
	memcpy(v6 + sizeof own_address6, prefix_and_interface, sizeof prefix_and_interface);
	if (fd >= 0) {
		(void)ioctl(fd, SIOCSIFADDR, &v4); /* best effort */
		address.sin_addr.s_addr = htonl(0xffffffff);
		memcpy(&v4.ifr_netmask, &address, sizeof address);
		(void)ioctl(fd, SIOCSIFNETMASK, &v4); /* best effort */
	}
	if (fd6 >= 0) {
		(void)ioctl(fd6, SIOCSIFADDR, v6); /* best effort */
	}
}

/* Connections that may queue for the gate, which accepts each at once. */
#define BACKLOG 4096

/* A socket filter drops every SYN: a connect(2) to this listener stays in SYN-SENT
 * (gate/relay/pending.c). */
static int drop_syns(int fd) {
	struct sock_filter drop = {.code = BPF_RET | BPF_K, .k = 0};
	const struct sock_fprog filter = {.len = 1, .filter = &drop};
	const int on = 1;

	/* The sockets of a simultaneous open are bound to the same port. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
		return -1;
	}
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

static int make_listener(int family, bool pending) {
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr *at =
		family == AF_INET ? (struct sockaddr *)&in4 : (struct sockaddr *)&in6;
	auto_fd fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || (pending && drop_syns(fd) != 0) ||
	    syscall(SYS_bind, fd, at, family == AF_INET ? sizeof in4 : sizeof in6) != 0 ||
	    syscall(SYS_listen, fd, BACKLOG) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

/* Here, because binding a port below 1024 needs CAP_NET_BIND_SERVICE. */
static int make_resolver(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(53)};
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(0x7f000035); /* NET_RESOLVER */
	if (fd < 0 || syscall(SYS_bind, fd, &at, sizeof at) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

static int port_of(int fd) {
	struct sockaddr_in6 at; /* sin_port and sin6_port have the same offset */
	socklen_t len = sizeof at;

	return getsockname(fd, (struct sockaddr *)&at, &len) == 0 ? ntohs(at.sin6_port) : -1;
}

/* A raw socket that receives the SYNs to a port (gate/relay/tcp_reset.c), made while CAP_NET_RAW is
 * there.  Optional: without it a late refusal of the upstream arrives as an established connection
 * and a reset, instead of ECONNREFUSED. */
static int make_syn_socket(int family, int port) {
	/* A raw socket delivers the IP header for IPv4 only. */
	struct sock_filter syns[] = {
		family == AF_INET ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
				  : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, offsetof(struct tcphdr, dest)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)port, 0, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13), /* the TCP flags */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TH_SYN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 128),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = {.len = ARRAY_LEN(syns), .filter = syns};
	auto_fd fd = socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0 || port < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

/* WIRE_SOCKETS with the sockets that could be made. */
static int send_sockets(int gate, const int made[WIRE_SOCKET_COUNT]) {
	struct wire w = {.kind = WIRE_SOCKETS};
	int fds[WIRE_FDS];
	size_t n = 0;

	for (int i = 0; i < WIRE_SOCKET_COUNT; i++) {
		if (made[i] >= 0) {
			w.flags |= 1 << i;
			fds[n++] = made[i];
		}
	}
	return wire_send(gate, &w, fds, n);
}

static int connect_gate(struct kit *k, struct err *e) {
	add_addresses();
	/* A host's BBR would pace every packet, which costs throughput on a loopback. */
	set_sysctl(k, CONGESTION, "reno");
	auto_fd resolver = make_resolver();
	auto_fd relay = make_listener(AF_INET, false), pending = make_listener(AF_INET, true);
	/* A kernel without IPv6 has no sockets for it either. */
	auto_fd relay6 = make_listener(AF_INET6, false), pending6 = make_listener(AF_INET6, true);
	auto_fd syn = make_syn_socket(AF_INET, port_of(pending)),
		syn6 = make_syn_socket(AF_INET6, port_of(pending6));
	const int made[] = {resolver, relay, relay6, pending, pending6, syn, syn6};
	if (resolver < 0 || relay < 0 || pending < 0) {
		return err_sys(e, "network", "cannot make the sockets that lead to the gate");
	}
	return send_sockets(k->gate_fd, made) == 0
		       ? 0
		       : err_sys(e, "network", "cannot send the listeners to the gate's process");
}

/* Makes the namespace that the network process could not make. */
static int make_namespace(const struct kit *k, struct err *e) {
	return unshare(CLONE_NEWNET) == 0
		       ? bring_up_loopback(k, e)
		       : err_host(e, ERR_NO_NAMESPACES, "network",
				  "the kernel refused to make a network namespace");
}

static int join_namespace(const struct kit *k, struct err *e) {
	long rc = early_join(k->early, k->warden_fd);

	if (rc == -EPIPE) {
		errno = EOWNERDEAD; /* its row in data/remedies.c has the remedy */
		return err_sys(e, "network",
			       "the process that makes the network namespace was killed");
	}
	return rc == 0 ? 0 : make_namespace(k, e);
}

static int network_enter(struct kit *k, struct err *e) {
	if (!k->plan->own_net) {
		return 0; /* net.mode is full: the caller's own network */
	}
	if ((k->early == NULL ? bring_up_loopback : join_namespace)(k, e) != 0) {
		return -1;
	}
	set_sysctl(k, ECHO_GROUPS, k->echo_groups);
	return k->gate_fd < 0 ? 0 : connect_gate(k, e);
}

const struct layer layer_network = {
	.name = "network",
	.namespaces = true,
	.prepare = network_prepare,
	.enter = network_enter,
};
