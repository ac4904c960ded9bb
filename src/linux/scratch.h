/* The private home, and the directory of a run that has no root of its own. */
#ifndef CORRAL_LINUX_SCRATCH_H
#define CORRAL_LINUX_SCRATCH_H

#include "base/err.h"

/* A run's directory is called by this, the user's number, "-", and a random one. */
#define SCRATCH_PREFIX "corral-"

/* mkdir -p for our own state, private to the user. */
int scratch_make_dirs(const char *path, struct err *e);

/* Removes what runs that were killed left beside this one. */
void scratch_sweep(const char *run_dir);

/* Removes the directory and all beneath it, following nothing; what cannot be
 * removed stays.  System calls only.  NULL is fine. */
void scratch_remove(const char *run_dir);

#endif
