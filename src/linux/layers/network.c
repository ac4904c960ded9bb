/* The network: a namespace that holds nothing but its own loopback.
 *
 * Should:   bring up "lo", so that servers and clients inside can talk.
 * Must not: add a route, an address or another interface.
 * Fails:    closed. */
#include "linux/layer.h"

#include "base/auto.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int network_enter(struct kit *k, struct err *e) {
	if (!k->plan->own_net) {
		return 0; /* net.mode is full: the caller's own network */
	}
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return err_sys(e, "network", "cannot open a socket in the new namespace");
	}
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	if (ioctl(fd, SIOCSIFFLAGS, &up) != 0) {
		return err_sys(e, "network", "cannot bring up the loopback interface");
	}
	return 0;
}

const struct layer layer_network = {.name = "network", .enter = network_enter};
