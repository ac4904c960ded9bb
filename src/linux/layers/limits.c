/* Limits: resource limits of each process and of the user namespace.
 *
 * Should:   put this process, and so everything it will start, under the plan's
 *           limits.
 * Must not: raise anything above what the caller had, or run before the last
 *           layer that opens descriptors: their numbers may lie above the limit.
 * Fails:    closed. */
#include "linux/layer.h"

#include <sys/resource.h>

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

static int limits_enter(struct kit *k, struct err *e) {
	for (size_t i = 0; i < k->plan->nrlimits; i++) {
		if (limit(&k->plan->rlimits[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

const struct layer layer_limits = {
	.name = "limits",
	.enter = limits_enter,
};
