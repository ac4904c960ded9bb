/* Limits: resource limits of the command's processes, and their processors.
 *
 * The first process and the guard keep time and end the run, so the command's limits
 * are not theirs: RLIMIT_CPU would kill them, RLIMIT_NOFILE and RLIMIT_AS would stop
 * the broker.  Only the limits on what a call writes hold for them as well, because the
 * broker makes such calls on a caller's behalf.
 *
 * Should:   put the command's process, and so everything it will start, under the
 *           plan's limits.
 * Must not: raise anything above what the caller had, or run before the last
 *           layer that opens descriptors: their numbers may lie above the limit.
 * Fails:    closed. */
#include "linux/layer.h"
#include "linux/processors.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static rlim_t lower(rlim_t a, rlim_t b) {
	return a < b ? a : b; /* RLIM_INFINITY is the largest value of the type */
}

static int limit(const struct rlimit_row *row, struct err *e) {
	struct rlimit now, next;

	if (prlimit(0, row->resource, NULL, &now) != 0) {
		return err_sys(e, "limits", "cannot read a resource limit");
	}
	/* A caller with a smaller hard limit keeps it: that is stricter than the
	 * policy, and nobody may raise it anyway. */
	next.rlim_cur = lower((rlim_t)row->value, now.rlim_max);
	next.rlim_max = next.rlim_cur;
	if (row->resource == RLIMIT_CPU) {
		/* SIGXCPU first, so that the result can tell a limit from a plain
		 * kill; SIGKILL a second later for a command that catches it. */
		next.rlim_max = lower((rlim_t)row->value + 1, now.rlim_max);
	}
	if (prlimit(0, row->resource, &next, NULL) != 0) {
		return err_sys(e, "limits", "cannot set a resource limit");
	}
	return 0;
}

/* The broker truncates files for callers, and nobody's memory goes into a core file. */
static bool holds_for_broker(const struct rlimit_row *row) {
	return row->resource == RLIMIT_FSIZE || row->resource == RLIMIT_CORE;
}

static int limits_prepare(struct kit *k, struct err *e) {
	return k->plan->processors == 0 ? 0
					: processors_choose(k->arena, k->plan->processors,
							    &k->processors, &k->processors_len, e);
}

static int limits_enter(struct kit *k, struct err *e) {
	for (size_t i = 0; i < k->plan->nrlimits; i++) {
		const struct rlimit_row *row = &k->plan->rlimits[i];
		if (holds_for_broker(row) && limit(row, e) != 0) {
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
	for (size_t i = 0; i < k->plan->nrlimits; i++) {
		const struct rlimit_row *row = &k->plan->rlimits[i];
		if (!holds_for_broker(row) && limit(row, e) != 0) {
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
