/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch directory of a run without a mount namespace. */
#ifndef CORRAL_LINUX_SCRATCH_H
#define CORRAL_LINUX_SCRATCH_H

#include "base/err.h"

/* The name of a scratch directory: this prefix, the uid, "-", and a random number. */
#define SCRATCH_PREFIX "corral-"

/* mkdir -p for Corral's state, mode 0700. */
int scratch_make_dirs(const char *path, struct err *e);

/* Removes the directories of killed runs beside this one. */
void scratch_sweep(const char *run_dir);

/* Removes the directory and everything beneath it, without following symlinks; files that
 * cannot be removed stay.  System calls only.  NULL is fine. */
void scratch_remove(const char *run_dir);

#endif
