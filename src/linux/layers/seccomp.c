/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and loads the seccomp filter: the system calls that the command may make.
 *
 * Pid 1 loads the filter and the command inherits it.  A filter with user notifications or with
 * calls of seccomp.extra_deny, and every filter of the engine without namespaces, is loaded by
 * the command's own process: pid 1 or the guard answers the notifications, so its own calls must
 * not create any.  It gets
 * the listener's descriptor because both processes share their descriptor table
 * (CLONE_FILES) until execve.
 *
 * Should:   build the BPF program in the parent and load it in the child.
 * Must not: run before any other layer (mounts, capabilities and Landlock need calls that the
 *           program refuses), or without no_new_privs (the kernel returns EACCES).  Later code
 *           may use clone and execve; clone3 returns ENOSYS from here on.
 * Fails:    closed. */
#include "data/syscalls.h"
#include "linux/bpf.h"
#include "linux/layer.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than Debian 12's headers.  Only fatal signals wake a caller after its notification
 * was received; otherwise Go's preemption signals would restart its call for ever. */
#define FLAG_WAIT_KILLABLE_RECV (1UL << 5)

static int seccomp_prepare(struct kit *k, struct err *e) {
	const struct bpf_options options = {
		.arch = bpf_native(), .traits = k->plan->traits, .denied = k->plan->denied};

	if (k->plan->level == LEVEL_NONE) {
		return 0; /* the user acknowledged that nothing is enforced */
	}
	if (plan_lacks_namespaces(k->plan) != ((options.traits & TRAIT_NO_NAMESPACES) != 0)) {
		/* The namespaces engine's filter allows ptrace, unix sockets and System V IPC,
		 * because the namespaces contain only the run's own; without them it would be
		 * too weak. */
		return err_set(e, ERR_SETUP, "seccomp",
			       "internal error: the filter was built for another engine");
	}
	return bpf_build(k->arena, &options, &k->filter, e);
}

static int load_filter(struct kit *k, unsigned long flags) {
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &k->filter);
}

static int refused(struct err *e) {
	if (errno == EACCES) {
		return err_sys(e, "seccomp",
			       "the kernel refused the filter: no_new_privs is not set");
	}
	return err_sys(e, "seccomp", "the kernel refused the filter");
}

/* A filter with calls of seccomp.extra_deny may lack a call that pid 1 needs. */
static bool command_loads_it(const struct kit *k) {
	return plan_lacks_namespaces(k->plan) || k->plan->broker || k->plan->denied != NULL;
}

static int seccomp_enter(struct kit *k, struct err *e) {
	if (k->filter.len == 0 || command_loads_it(k) || load_filter(k, 0) == 0) {
		return 0;
	}
	return refused(e);
}

static int seccomp_start(struct kit *k, struct err *e) {
	if (k->filter.len == 0 || !command_loads_it(k)) {
		return 0;
	}
	if (!k->plan->broker) {
		return load_filter(k, 0) == 0 ? 0 : refused(e);
	}
	int fd = load_filter(k, SECCOMP_FILTER_FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV);
	k->killable = fd >= 0;
	if (fd < 0 && errno == EINVAL) {
		fd = load_filter(k, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	}
	if (fd < 0) {
		/* EBUSY: an outer filter has a listener, and the kernel allows one per process. */
		return err_host(e, ERR_NO_BROKER, "broker",
				"seccomp user notification is not available "
				"(SECCOMP_FILTER_FLAG_NEW_LISTENER)");
	}
	k->listener_fd = fd;
	return 0;
}

const struct layer layer_seccomp = {
	.name = "seccomp",
	.prepare = seccomp_prepare,
	.enter = seccomp_enter,
	.start = seccomp_start,
};
