/* SPDX-License-Identifier: Apache-2.0 */
/* The process that prepares a run while its caller plans, for a row of the table that has one
 * (struct backend, early); each build has its own. */
#ifndef CORRAL_BACKEND_EARLY_H
#define CORRAL_BACKEND_EARLY_H

struct early;

/* NULL: there is none, because only one processor is there or the kernel refused a process. */
struct early *early_start(void);

/* Reaps the early process and those that it started, frees it, and kills them before unless spawn()
 * of the backend has used it.  Accepts NULL. */
void early_free(struct early *e);

#endif
