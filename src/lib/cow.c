/* A run whose changes are kept apart: the place for them before it, the count after.
 *
 * Should:   hand the engine descriptors, so that no path is looked up twice.
 * Must not: start anything when the place cannot be had.
 * Fails:    closed before the run; after it the changes stay, and the result says that
 *           there are some. */
#include "lib/internal.h"

#include "base/str.h"
#include "data/remedies.h"

#include <stdio.h>

int keeping_begin(const struct prepared *p, struct keeping *k, struct run_request *request,
		  struct err *e) {
	*k = (struct keeping){.used = p->plan.cow_dir != NULL};
	request->cow = NULL;
	if (!k->used) {
		return 0;
	}
	if (cow_begin(p->plan.cow_dir, p->plan.workspace, &k->run, e) != 0) {
		k->used = false;
		return -1;
	}
	k->fds = (struct cow_fds){.upper = k->run.upper, .work = k->run.work, .lock = k->run.lock};
	request->cow = &k->fds;
	return 0;
}

/* The child can only tell errno. */
static void add_remedy(struct err *failure) {
	const char *fix = remedy_for(COW_WHERE, failure->sys);
	if (streq(failure->where, COW_WHERE) && failure->fix[0] == '\0' && fix != NULL) {
		(void)err_fix(failure, "%s", fix);
	}
}

void keeping_end(struct keeping *k, struct corral_result *result, struct err *failure) {
	struct err e = {0};
	int64_t changes = 0;
	if (!k->used) {
		return;
	}
	k->used = false;
	if (cow_end(&k->run, &changes, &e) != 0) {
		changes = -1; /* a command that ended has its result; `corral diff` says why */
	}
	if (result != NULL) {
		result->cow = true;
		result->cow_changes = changes;
		(void)snprintf(result->cow_id, sizeof result->cow_id, "%s",
			       changes == 0 ? "" : k->run.id);
	}
	if (failure != NULL) {
		add_remedy(failure);
	}
}
