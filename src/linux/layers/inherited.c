/* SPDX-License-Identifier: Apache-2.0 */
/* Resets inherited process attributes that give the command more than an ordinary process has.
 *
 * A process inherits its priorities, its oom_score_adj, its personality and its core dump
 * filter.  A caller with CAP_SYS_NICE or CAP_SYS_RESOURCE, or a descendant of one, would pass
 * on more than the command could set itself.  CPU affinity, a lower priority and every other
 * attribute that only restricts stay as they are.
 *
 * Should:   reset each of these to the value of an ordinary process, in the first process
 *           and so in its descendants.
 * Must not: raise a priority, or run after mounts.c or landlock.c: /proc/self is not
 *           writable then.
 * Fails:    closed, except for the core dump filter where no socket receives core dumps. */
#include "linux/layer.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MEMORY_MERGE
#define PR_SET_MEMORY_MERGE 67
#define PR_GET_MEMORY_MERGE 68
#endif

/* From linux/ioprio.h, which older kernel headers lack. */
#define IO_WHO_PROCESS 1
#define IO_CLASS(priority) ((priority) >> 13)
#define IO_CLASS_RT 1

/* SCHED_DEADLINE; not every libc defines it. */
#define POLICY_DEADLINE 6

/* ---- priorities ---- */

/* Raw: musl's sched_* return ENOSYS, because Linux applies them to one thread. */
static int lower_scheduler(const struct kit *k, struct err *e) {
	(void)k;
	const struct sched_param ordinary = {.sched_priority = 0};
	long policy = syscall(SYS_sched_getscheduler, 0) & ~(long)SCHED_RESET_ON_FORK;

	if (policy != SCHED_FIFO && policy != SCHED_RR && policy != POLICY_DEADLINE) {
		return 0;
	}
	return syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary) == 0
		       ? 0
		       : err_sys(e, "inherited", "cannot leave the real-time scheduler");
}

/* The raw call returns 20 - nice. */
static int lower_nice(const struct kit *k, struct err *e) {
	(void)k;
	if (syscall(SYS_getpriority, PRIO_PROCESS, 0) <= 20) {
		return 0;
	}
	return syscall(SYS_setpriority, PRIO_PROCESS, 0, 0) == 0
		       ? 0
		       : err_sys(e, "inherited", "cannot raise a negative nice value to 0");
}

static int lower_io(const struct kit *k, struct err *e) {
	(void)k;
	long priority = syscall(SYS_ioprio_get, IO_WHO_PROCESS, 0);

	if (priority < 0 || IO_CLASS(priority) != IO_CLASS_RT) {
		return 0; /* also without CONFIG_BLOCK, where the call fails */
	}
	return syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, 0) == 0
		       ? 0
		       : err_sys(e, "inherited", "cannot leave the real-time I/O class");
}

/* ---- memory ---- */

/* Keeps the bits that the seccomp filter lets a command set; the others switch off memory
 * protections. */
static int reset_personality(const struct kit *k, struct err *e) {
	(void)k;
	long now = syscall(SYS_personality, 0xffffffffUL);
	long kept = now & (UNAME26 | ADDR_NO_RANDOMIZE);

	if (now < 0 || now == kept) {
		return 0; /* an outer seccomp filter refused the call: then none is set */
	}
	return syscall(SYS_personality, kept) >= 0
		       ? 0
		       : err_sys(e, "inherited", "cannot reset the personality");
}

/* KSM: write timing on merged pages reveals the contents of other processes' memory. */
static int stop_merging(const struct kit *k, struct err *e) {
	(void)k;
	if (prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0) <= 0) {
		return 0; /* off, or unknown to this kernel */
	}
	return prctl(PR_SET_MEMORY_MERGE, 0, 0, 0, 0) == 0
		       ? 0
		       : err_sys(e, "inherited", "cannot stop the merging of memory pages");
}

/* ---- files of /proc/self ---- */

/* The files of an undumpable process belong to root.  Layer idmap or terminal makes this
 * process undumpable again. */
static int open_own(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1 &&
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0) {
		fd = open(path, flags | O_CLOEXEC);
	}
	return fd;
}

/* Raising the value needs no privilege. */
static int raise_oom_score(const struct kit *k, struct err *e) {
	static const char path[] = "/proc/self/oom_score_adj";
	char text[16] = "";
	int now = open_own(path, O_RDONLY);

	if (now < 0 || read(now, text, sizeof text - 1) <= 0) {
		return err_sys_at(e, "inherited", "cannot read", path);
	}
	kit_leave_fd(k, now);
	if (text[0] != '-') {
		return 0;
	}
	auto_fd out = open_own(path, O_WRONLY);
	return out >= 0 && write(out, "0", 1) == 1
		       ? 0
		       : err_sys_at(e, "inherited", "cannot raise a negative", path);
}

/* RLIMIT_CORE 0 suppresses core dumps to files and pipes, but not to a socket. */
static int dumps_go_to_socket(void) {
	char first = '\0';
	auto_fd fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &first, 1) == 1 && first == '@';
}

static int empty_dumps(const struct kit *k, struct err *e) {
	static const char path[] = "/proc/self/coredump_filter";
	int fd = open_own(path, O_WRONLY);

	if (fd >= 0 && write(fd, "0", 1) == 1) {
		kit_leave_fd(k, fd);
		return 0;
	}
	int error = errno;
	if (!dumps_go_to_socket()) {
		return 0; /* /proc is read-only, as in an outer sandbox, and RLIMIT_CORE is enough
			   */
	}
	errno = error;
	return err_sys_at(
		e, "inherited",
		"core dumps go to a socket (kernel.core_pattern), and Corral cannot clear", path);
}

static int inherited_enter(struct kit *k, struct err *e) {
	static int (*const steps[])(const struct kit *, struct err *) = {
		lower_scheduler, lower_nice,      lower_io,    reset_personality,
		stop_merging,    raise_oom_score, empty_dumps,
	};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (steps[i](k, e) != 0) {
			return -1;
		}
	}
	return 0;
}

const struct layer layer_inherited = {.name = "inherited", .enter = inherited_enter};
