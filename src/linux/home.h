/* The private home of a workspace. */
#ifndef CORRAL_LINUX_HOME_H
#define CORRAL_LINUX_HOME_H

#include "base/err.h"
#include "plan/plan.h"

/* In the directory of one home: the home itself, and the path of its workspace. */
#define HOME_NAME "home"
#define HOME_RECORD "workspace"

/* Makes the plan's private home, 0700, where it is missing.  A home that belongs to another
 * workspace is refused.  A plan without one is fine. */
int home_make(const struct plan *plan, struct err *e);

/* The second half alone: for who only reads. */
int home_check(const struct plan *plan, struct err *e);

/* A run's use of its private home: a shared lock on the directory that holds it, so that
 * nobody removes the home meanwhile, and the last user removes the mount points. */
struct home_use {
	int dir; /* -1: the plan has no home of its own */
};
#define HOME_UNUSED                                                                                \
	{ .dir = -1 }

/* home_make(), and what the run needs in the home.  Waits for who removes the home. */
int home_begin(const struct plan *plan, struct home_use *ret, struct err *e);
void home_end(struct home_use *u);

#endif
