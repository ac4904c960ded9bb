/* Seccomp: which system calls the command may make, and with which arguments.
 *
 * Should:   build the program in the parent and load it in the child.
 * Must not: run before any other layer (mounts, capabilities and Landlock need
 *           calls that the program refuses), or without no_new_privs (the kernel
 *           answers EACCES).  What comes after may use clone and execve; clone3
 *           answers ENOSYS from here on.
 * Fails:    closed.  An engine whose filter does not exist stops the run. */
#include "linux/bpf.h"
#include "linux/layer.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

static int seccomp_prepare(struct kit *k, struct err *e) {
	const struct bpf_options options = {.arch = bpf_native()};

	if (k->plan->level == LEVEL_NONE) {
		return 0; /* the user acknowledged that nothing is enforced */
	}
	if (k->plan->engine != ENGINE_NAMESPACES) {
		/* ptrace, unix sockets and System V IPC are allowed because the namespaces
		 * hold only our own; without them this program would be too weak. */
		return err_set(e, ERR_SETUP, "seccomp",
			       "there is a filter for the namespaces engine only");
	}
	return bpf_build(k->arena, &options, &k->filter, e);
}

static int seccomp_enter(struct kit *k, struct err *e) {
	if (k->filter.len == 0) {
		return 0;
	}
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &k->filter) == 0) {
		return 0;
	}
	if (errno == EACCES) {
		return err_sys(e, "seccomp",
			       "the kernel refused the filter: no_new_privs is not set");
	}
	return err_sys(e, "seccomp", "the kernel refused the filter");
}

const struct layer layer_seccomp = {
	.name = "seccomp",
	.prepare = seccomp_prepare,
	.enter = seccomp_enter,
};
