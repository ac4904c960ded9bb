/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner's actions in a run, and the guarantee `leaks`. */
#ifndef CORRAL_PLAN_LEAKS_H
#define CORRAL_PLAN_LEAKS_H

#include "plan/plan.h"

/* Fills plan->scan_* and the guarantee. */
int plan_leaks(struct plan *plan, const struct policy *p, const struct host *h, struct err *e);

#endif
