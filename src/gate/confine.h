/* What the gate gives up before it reads the first byte of a program. */
#ifndef CORRAL_GATE_CONFINE_H
#define CORRAL_GATE_CONFINE_H

/* Descriptors that a full gate has: eight of each flow, and the rest. */
#define GATE_FILES (8 * 2048 + 2048)

/* 0 or -errno, and then the process must end.  The loop and all listeners are made before: what
 * is not in the list of confine.c kills the process from here on.  landlock_abi: 0 where the
 * kernel has none.  System calls only. */
int gate_confine(int landlock_abi);

#endif
