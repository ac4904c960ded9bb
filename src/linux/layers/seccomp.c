/* Seccomp: which system calls the command may make, and with which arguments.
 *
 * Pid 1 loads the filter and the command inherits it.  Where the filter asks, and
 * without namespaces, the command's own process loads it, because the first process
 * answers and so must not be asked itself; the descriptor on which the questions arrive
 * is the first process's, because both share their descriptors until the command
 * executes.
 *
 * Should:   build the program in the parent and load it in the child.
 * Must not: run before any other layer (mounts, capabilities and Landlock need
 *           calls that the program refuses), or without no_new_privs (the kernel
 *           answers EACCES).  What comes after may use clone and execve; clone3
 *           answers ENOSYS from here on.
 * Fails:    closed. */
#include "data/syscalls.h"
#include "linux/bpf.h"
#include "linux/layer.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than Debian 12's headers: a caller that waits for an answer is woken by
 * nothing but death, or Go's preemption would restart its call for ever. */
#define FLAG_WAIT_KILLABLE_RECV (1UL << 5)

static int seccomp_prepare(struct kit *k, struct err *e) {
	const struct bpf_options options = {.arch = bpf_native(), .traits = k->plan->traits};

	if (k->plan->level == LEVEL_NONE) {
		return 0; /* the user acknowledged that nothing is enforced */
	}
	if (plan_lacks_namespaces(k->plan) != ((options.traits & TRAIT_NO_NAMESPACES) != 0)) {
		/* ptrace, unix sockets and System V IPC are allowed because the namespaces
		 * hold only our own; without them that program would be too weak. */
		return err_set(e, ERR_SETUP, "seccomp", "the filter is not this engine's");
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

static bool is_the_commands(const struct kit *k) {
	return plan_lacks_namespaces(k->plan) || k->plan->broker;
}

static int seccomp_enter(struct kit *k, struct err *e) {
	if (k->filter.len == 0 || is_the_commands(k) || load_filter(k, 0) == 0) {
		return 0;
	}
	return refused(e);
}

static int seccomp_start(struct kit *k, struct err *e) {
	if (k->filter.len == 0 || !is_the_commands(k)) {
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
		/* EBUSY: a filter around us has a listener already, and a chain has one. */
		return err_host(e, ERR_NO_BROKER, "broker",
				"the kernel gives this filter no listener");
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
