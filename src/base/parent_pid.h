/* SPDX-License-Identifier: Apache-2.0 */
/* The parent of any process, from /proc. */
#ifndef CORRAL_BASE_PARENT_PID_H
#define CORRAL_BASE_PARENT_PID_H

#include <sys/types.h>

/* The parent of the process that has this pid now.  0: it is pid 1, or its parent is outside of
 * this pid namespace.  -1: the process is gone or not visible. */
pid_t parent_pid(pid_t pid);

#endif
