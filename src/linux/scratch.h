/* Taking down the directory of a run that has no root of its own. */
#ifndef CORRAL_LINUX_SCRATCH_H
#define CORRAL_LINUX_SCRATCH_H

/* Hexadecimal digits in the name of a run's directory. */
#define SCRATCH_NAME 16

/* Removes what runs that were killed left in the directory of all runs of a user. */
void scratch_sweep(const char *parent);

/* Removes the directory and all beneath it, following nothing; what cannot be
 * removed stays.  System calls only.  NULL is fine. */
void scratch_remove(const char *run_dir);

#endif
