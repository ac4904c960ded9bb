/* SPDX-License-Identifier: Apache-2.0 */
/* The gate confines itself before it reads the first byte of a program. */
#ifndef CORRAL_GATE_CONFINE_H
#define CORRAL_GATE_CONFINE_H

/* RLIMIT_NOFILE: eight descriptors for each of 2048 flows, and the rest. */
#define GATE_FILES (8 * 2048 + 2048)

/* 0; or -errno, and then the process must end.  The loop and all listeners are made before: from
 * here on a call that is not in the list of confine.c kills the process.  landlock_abi: 0 where
 * the kernel has none.  System calls only. */
int gate_confine(int landlock_abi);

#endif
