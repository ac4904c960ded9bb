/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the host name in the new UTS namespace, so that the command does not see the machine's.
 *
 * Should:   set the plan's host name, and no NIS domain name.
 * Must not: run outside that namespace (the kernel's capability check prevents it).
 * Fails:    closed: the machine's name would stay visible.  Except in a container, whose seccomp
 *           profile refuses the calls: there the name of the container stays. */
#include "linux/layer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int hostname_enter(struct kit *k, struct err *e) {
	if (sethostname(k->plan->hostname, strlen(k->plan->hostname)) != 0) {
		/* The sandbox owns the namespace: only a filter or an LSM returns EPERM. */
		return errno == EPERM ? 0 : err_sys(e, "names", "cannot set the host name");
	}
	if (setdomainname("(none)", 6) != 0) {
		return err_sys(e, "names", "cannot set the domain name");
	}
	return 0;
}

const struct layer layer_hostname = {.name = "names", .namespaces = true, .enter = hostname_enter};
