/* SPDX-License-Identifier: Apache-2.0 */
/* The job object of a run: all its processes die with it, and share its limits. */
#ifndef CORRAL_WINDOWS_JOB_H
#define CORRAL_WINDOWS_JOB_H

#include "windows/api.h"

#include "base/err.h"
#include "windows/enforcement.h"

#include <stdint.h>

/* Which limits this machine's job objects take.  Wine accepts limits that it does not enforce:
 * those do not count. */
void job_probe(bool wine, struct facts *ret);

#ifdef _WIN32
/* With kill on close and the limits of the choices that the facts have. */
int job_create(const struct facts *facts, const struct run_choices *c, HANDLE *ret, struct err *e);

/* Processor time of all its processes, also of those that ended; -1: unknown. */
int64_t job_cpu_ms(HANDLE job);
#endif

#endif
