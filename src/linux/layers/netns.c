/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the run's network namespace, in a helper process beside pid 1.
 *
 * The kernel needs half a millisecond for it, as long as pid 1 needs for the mounts.  So pid 1
 * clones a helper here, and layer network joins the helper's namespace after the mounts:
 *
 *   pid 1 ──┬── id maps, quotas, mounts ──────────── wait4 ── SIOCGSKNS, setns ── …
 *           └── helper: unshare, socket, lo up, exit ──┘
 *
 * The helper shares memory and descriptors with pid 1, so it hands its socket over by number.  It
 * has a pid of its own choice: the command is pid 2, as if there were no helper.  It dies with
 * pid 1, like every process of the pid namespace, and pid 1 has reaped it before it joins.
 *
 * Should:   leave pid 1 in the caller's network until layer network; no layer between uses it.
 * Must not: touch errno or other thread-local memory in the helper, which is pid 1's; run before
 *           layer cgroup (the memory of the namespace counts as use of the run).
 * Fails:    closed: without a socket of the helper layer network stops the run.  If this host
 *           refuses the helper (ERR_NO_NETNS), the next attempt has the namespace from clone3(). */
#include "linux/layer.h"

#include "linux/kernel_api.h"
#include "linux/netns.h"
#include "linux/raw_call.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Below the pids that the kernel does not give out again, so no later process has it. */
#define HELPER_PID 299
#define HELPER_STACK ((size_t)8192)

int netns_loopback_up(void) {
	/* Static: the call does not change it, and a shared stack protector has nothing to check.
	 */
	static const struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	long fd = raw_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long failed = fd < 0 ? fd : raw_call(SYS_ioctl, fd, SIOCSIFFLAGS, raw_pointer(&up));

	return (int)(failed < 0 ? failed : fd);
}

static _Noreturn void helper_main(void *arg) {
	struct kit *k = arg;
	long failed = raw_call(SYS_unshare, CLONE_NEWNET);

	k->netns_step = failed < 0 ? NETNS_UNSHARE : NETNS_LOOPBACK;
	k->netns_socket = failed < 0 ? (int)failed : netns_loopback_up();
	for (;;) {
		(void)raw_call(SYS_exit, 0); /* does not return */
	}
}

static pid_t start_helper(struct kit *k) {
	static char stack[HELPER_STACK] __attribute__((aligned(16)));
	static const pid_t own = HELPER_PID;
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_FILES,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof stack,
		.set_tid = (uint64_t)(uintptr_t)&own,
		.set_tid_size = 1,
	};
	return (pid_t)raw_clone3(&args, sizeof args, helper_main, k);
}

static int netns_enter(struct kit *k, struct err *e) {
	if (!k->plan->own_net || k->netns == NETNS_HERE) {
		return 0; /* the caller's own network, or clone3() has created the namespace */
	}
	k->netns_socket = -ESRCH; /* until the helper has one */
	k->netns_helper = start_helper(k);
	if (k->netns_helper < 0) {
		errno = -k->netns_helper;
		return netns_refused(e);
	}
	k->netns = NETNS_HELPER;
	return 0;
}

const struct layer layer_netns = {
	.name = "namespace",
	.namespaces = true,
	.enter = netns_enter,
};
