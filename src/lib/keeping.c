/* SPDX-License-Identifier: Apache-2.0 */
/* The resources of a run outside its sandbox: the private home, the entry of `corral ps`, and
 * with fs.cow the directory of the changes before the run, their count after it.
 *
 * Should:   pass descriptors to the engine, so that no path is resolved twice.
 * Must not: let a run start when the home or the directory cannot be prepared.
 * Fails:    closed before the run; after it the changes stay, and the result has their id. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/remedies.h"
#include "run/terminal.h"

#include <stdio.h>

static int begin_changes(const struct prepared *p, struct keeping *k, struct run_request *request,
			 struct err *e) {
	k->used = p->plan.cow_dir != NULL;
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

/* The last step: after it nothing fails. */
static int begin_audit(struct prepared *p, struct keeping *k, const struct run_request *request,
		       struct err *e) {
	if (audit_begin(p, k->listed, e) != 0) {
		struct corral_result *none = NULL;
		keeping_end(k, none, e);
		return -1;
	}
	k->audited = p;
	k->argv = (const char *const *)request->argv;
	return 0;
}

static int begin_all(struct prepared *p, struct keeping *k, struct run_request *request,
		     struct err *e) {
	if (home_begin(request->plan, &k->home, e) != 0) {
		return -1;
	}
	if (begin_changes(p, k, request, e) != 0) {
		home_end(&k->home);
		return -1;
	}
	if (!request->rehearse && !p->host.state_closed) {
		k->listed = runs_enter(&p->host, request->plan,
				       p->shown_argv != NULL ? p->shown_argv : request->argv);
	}
	return request->rehearse ? 0 : begin_audit(p, k, request, e);
}

int keeping_begin(struct prepared *p, struct keeping *k, struct run_request *request,
		  struct err *e) {
	struct signals quiet;
	*k = (struct keeping){.home = HOME_UNUSED, .listed = -1, .locked = -1};
	/* With SIGXFSZ blocked a file over RLIMIT_FSIZE is EFBIG, not the end of the caller. */
	if (terminal_signals_block(&quiet, false, false, e) != 0) {
		return -1;
	}
	int rc = request->rehearse ? 0 : workspace_lock_take(p, &k->locked, e);
	if (rc == 0 && (rc = begin_all(p, k, request, e)) != 0) {
		drop_fd(&k->locked);
	}
	if (rc == 0) {
		strays_begin(&k->strays, request->plan);
	}
	terminal_signals_restore(&quiet);
	return rc;
}

/* The child's report has an errno but no remedy. */
static void add_remedy(struct err *failure) {
	const char *fix = remedy_for(COW_WHERE, failure->sys);
	if (streq(failure->where, COW_WHERE) && failure->fix[0] == '\0' && fix != NULL) {
		(void)err_fix(failure, "%s", fix);
	}
}

static void end_changes(struct keeping *k, struct corral_result *result, struct err *failure) {
	struct err e = {0};
	int64_t changes = 0;
	if (!k->used) {
		return;
	}
	k->used = false;
	if (cow_end(&k->run, &changes, &e) != 0) {
		changes = -1; /* the result is still returned; `corral diff` reports the reason */
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

void keeping_end(struct keeping *k, struct corral_result *result, struct err *failure) {
	if (failure == NULL) {
		audit_end(k, result);
	}
	runs_leave(&k->listed);
	home_end(&k->home);
	strays_end(&k->strays, result);
	end_changes(k, result, failure);
	drop_fd(&k->locked);
}
