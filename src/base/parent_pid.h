/* SPDX-License-Identifier: Apache-2.0 */
/* The parent of any process. */
#ifndef CORRAL_BASE_PARENT_PID_H
#define CORRAL_BASE_PARENT_PID_H

#include <sys/types.h>

/* The parent of the process that has this pid now.  0: it is pid 1, or its parent is outside of
 * this pid namespace.  -1: the process is gone or not visible. */
pid_t parent_pid(pid_t pid);

/* The same for the process of a pidfd.  -1: also before Linux 6.13. */
pid_t parent_pid_of(int pidfd);

#endif
