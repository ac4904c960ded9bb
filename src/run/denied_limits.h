/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that a run has reached, as denials. */
#ifndef CORRAL_RUN_DENIED_LIMITS_H
#define CORRAL_RUN_DENIED_LIMITS_H

#include "run/run.h"

/* Adds the limits that kernel, samplers and supervisor report, to the denials of the outcome. */
void denied_limits_add(struct outcome *o, const struct plan *plan, const struct policy *policy);

#endif
