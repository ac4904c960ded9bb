/* SPDX-License-Identifier: Apache-2.0 */
/* Serves system calls that set priorities and CPU affinity, where there is no pid namespace.
 *
 * Should:   set them only for processes that descend from the guard.
 * Must not: accept a process group or a user: they have members outside the run.
 * Fails:    closed: EPERM, as for another user's process. */
#include "linux/broker/call.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than the kernel's largest CPU mask. */
#define MASK_MAX 1024
/* struct sched_attr has grown to 56 bytes; it begins with its size. */
#define ATTR_MAX 128
#define ATTR_MIN 48

#define WHICH_PROCESS 0  /* PRIO_PROCESS */
#define IOPRIO_PROCESS 1 /* IOPRIO_WHO_PROCESS */

static long or_errno(long r) {
	return r < 0 ? -errno : r;
}

long serve_sched_setaffinity(struct call *c) {
	char mask[MASK_MAX];
	size_t len = (uint32_t)c->args[1];
	int r = signals_caller_owns(c, call_int(c, 0));

	if (len > sizeof mask) {
		len = sizeof mask;
	}
	if (r == 0) {
		r = caller_bytes(c, c->args[2], mask, len);
	}
	return r != 0 ? r : or_errno(syscall(SYS_sched_setaffinity, call_int(c, 0), len, mask));
}

long serve_sched_setparam(struct call *c) {
	int param;
	int r = signals_caller_owns(c, call_int(c, 0));

	if (r == 0) {
		r = caller_bytes(c, c->args[1], &param, sizeof param);
	}
	return r != 0 ? r : or_errno(syscall(SYS_sched_setparam, call_int(c, 0), &param));
}

long serve_sched_setscheduler(struct call *c) {
	int param;
	int r = signals_caller_owns(c, call_int(c, 0));

	if (r == 0) {
		r = caller_bytes(c, c->args[2], &param, sizeof param);
	}
	return r != 0 ? r
		      : or_errno(syscall(SYS_sched_setscheduler, call_int(c, 0), call_int(c, 1),
					 &param));
}

long serve_sched_setattr(struct call *c) {
	char attr[ATTR_MAX];
	uint32_t size;
	int r = signals_caller_owns(c, call_int(c, 0));

	if (r == 0) {
		r = caller_bytes(c, c->args[1], &size, sizeof size);
	}
	if (r == 0 && size == 0) {
		size = ATTR_MIN; /* like the kernel */
	}
	if (r == 0 && (size < ATTR_MIN || size > sizeof attr)) {
		r = -E2BIG;
	}
	if (r == 0) {
		r = caller_bytes(c, c->args[1], attr, size);
	}
	if (r != 0) {
		return r;
	}
	memcpy(attr, &size, sizeof size); /* the caller may have changed it between the reads */
	return or_errno(syscall(SYS_sched_setattr, call_int(c, 0), attr, call_int(c, 2)));
}

long serve_setpriority(struct call *c) {
	int r = call_int(c, 0) == WHICH_PROCESS ? signals_caller_owns(c, call_int(c, 1)) : -EPERM;

	return r != 0 ? r
		      : or_errno(syscall(SYS_setpriority, WHICH_PROCESS, call_int(c, 1),
					 call_int(c, 2)));
}

long serve_ioprio_set(struct call *c) {
	int r = call_int(c, 0) == IOPRIO_PROCESS ? signals_caller_owns(c, call_int(c, 1)) : -EPERM;

	return r != 0 ? r
		      : or_errno(syscall(SYS_ioprio_set, IOPRIO_PROCESS, call_int(c, 1),
					 call_int(c, 2)));
}
