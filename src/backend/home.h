/* SPDX-License-Identifier: Apache-2.0 */
/* The private home of a workspace. */
#ifndef CORRAL_BACKEND_HOME_H
#define CORRAL_BACKEND_HOME_H

#include "base/err.h"
#include "plan/plan.h"

/* In the directory of one home: the home itself, and the path of its workspace. */
#define HOME_NAME "home"
#define HOME_RECORD "workspace"

/* Creates the plan's private home, mode 0700, if it is missing.  Refuses a home of another
 * workspace.  A plan without one is fine. */
int home_make(const struct plan *plan, struct err *e);

/* Only the check of the record: for callers that do not write. */
int home_check(const struct plan *plan, struct err *e);

/* A run's use of its private home: a shared lock on its directory, so that `corral home clean`
 * does not remove the home meanwhile, and the last run removes the mount points. */
struct home_use {
	int dir; /* -1: the plan has no private home */
};
#define HOME_UNUSED                                                                                \
	{ .dir = -1 }

/* home_make(), the lock, and the mount points.  Waits while another process removes the home. */
int home_begin(const struct plan *plan, struct home_use *ret, struct err *e);
void home_end(struct home_use *u);

#endif
