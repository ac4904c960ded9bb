/* SPDX-License-Identifier: Apache-2.0 */
/* Between the layers that create the network namespace (layers/netns.c) and configure it
 * (layers/network.c). */
#ifndef CORRAL_LINUX_NETNS_H
#define CORRAL_LINUX_NETNS_H

#include "base/err.h"

/* Who creates the run's network namespace.  A kit starts with NETNS_NONE. */
enum netns_maker {
	NETNS_NONE,
	NETNS_HELPER, /* layer network joins the helper's namespace */
	NETNS_HERE,   /* clone3(): this process is in it */
};

/* What the helper did last. */
enum netns_step { NETNS_UNSHARE, NETNS_LOOPBACK };

/* Brings "lo" up in this process's network namespace: a socket in it, or -errno.  errno is not
 * changed. */
int netns_loopback_up(void);

/* The host refused the helper; errno has the reason. */
static inline int netns_refused(struct err *e) {
	return err_host(e, ERR_NO_NETNS, "namespaces",
			"the kernel refused to make the sandbox's network namespace");
}

#endif
