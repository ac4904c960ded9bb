/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a plan: equal for two plans if their sandboxes are (linux/parked.h, J1). */
#ifndef CORRAL_PLAN_FINGERPRINT_H
#define CORRAL_PLAN_FINGERPRINT_H

#include "base/buf.h"
#include "plan/plan.h"

/* Appends every part of the plan that the engine uses, but not the environment, which comes with
 * the command, nor the texts of reports. */
void plan_fingerprint(const struct plan *plan, const struct host *host, struct buf *out);

#endif
