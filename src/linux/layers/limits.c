/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the rlimits and the CPU affinity of the command's process.
 *
 * Pid 1 and the guard enforce the timeout and run the broker, so they do not get the
 * command's limits: RLIMIT_CPU would kill them, RLIMIT_NOFILE and RLIMIT_AS would stop the
 * broker.  Only RLIMIT_FSIZE and RLIMIT_CORE apply to them as well, because the broker
 * truncates files on a caller's behalf.
 *
 * Should:   apply the plan's limits to the command's process, and so to its descendants.
 * Must not: raise a limit above the caller's (so it runs behind layer capabilities), or run
 *           before the last layer that opens descriptors: their numbers may be above
 *           RLIMIT_NOFILE.
 * Fails:    closed. */
#include "linux/layer.h"
#include "linux/processors.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Without a user namespace RLIMIT_NPROC counts all processes of the user, so it cannot be the limit
 * of a run.  Where that is sampled, it stops a fork bomb that would leave the sampler no processor,
 * and has room for so many new processes of the user outside. */
#define OTHERS_MAX 512

static rlim_t lower(rlim_t a, rlim_t b) {
	return a < b ? a : b; /* RLIM_INFINITY is the largest value of the type */
}

static int limit(const struct rlimit_row *row, struct err *e) {
	/* SIGXCPU first, so that the result can distinguish the limit from a plain kill; SIGKILL a
	 * second later for a command that catches it. */
	rlim_t extra = row->resource == RLIMIT_CPU ? 1 : 0;
	struct rlimit now, next = {(rlim_t)row->value, (rlim_t)row->value + extra};

	/* Layer capabilities has dropped CAP_SYS_RESOURCE, so this cannot raise a hard limit: the
	 * kernel returns EPERM where the caller's is smaller.  That one stays: it is stricter. */
	if (prlimit(0, row->resource, &next, NULL) == 0) {
		return 0;
	}
	if (errno != EPERM || prlimit(0, row->resource, NULL, &now) != 0) {
		return err_sys(e, "limits", "cannot read a resource limit");
	}
	next.rlim_cur = lower(next.rlim_cur, now.rlim_max);
	next.rlim_max = lower(next.rlim_max, now.rlim_max);
	if (prlimit(0, row->resource, &next, NULL) != 0) {
		return err_sys(e, "limits", "cannot set a resource limit");
	}
	return 0;
}

/* The broker truncates files for callers, and must not dump its memory into a core file. */
static bool applies_to_broker(const struct rlimit_row *row) {
	return row->resource == RLIMIT_FSIZE || row->resource == RLIMIT_CORE;
}

/* The number in a line such as "Uid:\t1000\t…"; 0: there is none. */
static unsigned long number_after(const char *text, const char *name) {
	const char *at = strstr(text, name);
	return at == NULL ? 0 : strtoul(at + strlen(name), NULL, 10);
}

/* The threads of all processes of this user, as the kernel counts them for RLIMIT_NPROC. */
static uint64_t count_own(void) {
	char path[64], text[2048];
	const struct dirent *entry;
	uint64_t count = 0;
	auto_dir proc = opendir("/proc");

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9') {
			continue;
		}
		(void)snprintf(path, sizeof path, "/proc/%.20s/status", entry->d_name);
		auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
		text[n < 0 ? 0 : n] = '\0';
		if (n > 0 && number_after(text, "\nUid:") == getuid()) {
			count += number_after(text, "\nThreads:");
		}
	}
	return count;
}

static int limits_prepare(struct kit *k, struct err *e) {
	/* The kernel applies it to no process of root. */
	if (plan_lacks_namespaces(k->plan) && k->plan->sampled.processes != 0 && getuid() != 0) {
		k->processes = count_own() + (uint64_t)k->plan->sampled.processes + OTHERS_MAX;
	}
	return k->plan->processors == 0 ? 0
					: processors_choose(k->arena, k->plan->processors,
							    &k->processors, &k->processors_len, e);
}

static int limits_enter(struct kit *k, struct err *e) {
	for (size_t i = 0; i < k->plan->nrlimits; i++) {
		const struct rlimit_row *row = &k->plan->rlimits[i];
		if (applies_to_broker(row) && limit(row, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int limits_start(struct kit *k, struct err *e) {
	if (k->processors != NULL &&
	    syscall(SYS_sched_setaffinity, 0, k->processors_len, k->processors) != 0) {
		return err_sys(e, "limits", "cannot pin the command to processors");
	}
	const struct rlimit_row all = {RLIMIT_NPROC, k->processes};
	if (k->warm == NULL && k->processes != 0 && limit(&all, e) != 0) {
		return -1;
	}
	/* In a session each command sets its own: RLIMIT_CPU would end the zygote. */
	for (size_t i = 0; k->warm == NULL && i < k->plan->nrlimits; i++) {
		const struct rlimit_row *row = &k->plan->rlimits[i];
		if (!applies_to_broker(row) && limit(row, e) != 0) {
			return -1;
		}
	}
	return 0;
}

const struct layer layer_limits = {
	.name = "limits",
	.prepare = limits_prepare,
	.enter = limits_enter,
	.start = limits_start,
};
