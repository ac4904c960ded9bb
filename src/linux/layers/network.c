/* The network: a namespace that holds nothing but its own loopback.
 *
 * Should:   bring up "lo", so that servers and clients inside can talk, and let
 *           the caller's group send echo requests there, as distributions do
 *           outside: ping(8) has no capability to open a raw socket with.
 * Must not: add a route, an address or another interface; run after mounts.c
 *           (the new /proc/sys is read-only).
 * Fails:    closed, but for the echo requests. */
#include "linux/layer.h"

#include "base/auto.h"

#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define ECHO_GROUPS "/proc/sys/net/ipv4/ping_group_range"

static int network_prepare(struct kit *k, struct err *e) {
	(void)e;
	(void)snprintf(k->echo_groups, sizeof k->echo_groups, "%u %u", k->host->gid, k->host->gid);
	return 0;
}

static int bring_up_loopback(struct err *e) {
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return err_host(e, "network", "cannot open a socket in the new namespace");
	}
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	if (ioctl(fd, SIOCSIFFLAGS, &up) != 0) {
		return err_host(e, "network", "cannot bring up the loopback interface");
	}
	return 0;
}

/* A comfort: where a container's /proc/sys is read-only, ping says so itself. */
static void allow_echo(const char *groups) {
	auto_fd fd = open(ECHO_GROUPS, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, groups, strlen(groups)); /* as above */
	}
}

static int network_enter(struct kit *k, struct err *e) {
	if (!k->plan->own_net) {
		return 0; /* net.mode is full: the caller's own network */
	}
	if (bring_up_loopback(e) != 0) {
		return -1;
	}
	allow_echo(k->echo_groups);
	return 0;
}

const struct layer layer_network = {
	.name = "network",
	.namespaces = true,
	.prepare = network_prepare,
	.enter = network_enter,
};
