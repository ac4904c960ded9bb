/* SPDX-License-Identifier: Apache-2.0 */
/* Installs descriptors in callers, on one processor where waking another one takes long. */
#ifndef CORRAL_LINUX_BROKER_HANDOVER_H
#define CORRAL_LINUX_BROKER_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Hand-overs that are judged together. */
#define HANDOVER_GROUP 16

/* All zero: nothing measured yet. */
struct handover {
	bool off;             /* one processor, or it did not help, or the kernel refused */
	bool mixed;           /* this group has hand-overs to several threads */
	uint8_t count, slow;  /* hand-overs of this group */
	uint8_t in_vain;      /* groups in a row that were no faster on one processor */
	unsigned groups_left; /* that are made on one processor; 0: the scheduler chooses */
	pid_t tid;            /* the caller of this group */
	int64_t since, spent; /* when the group began; the sum of its hand-overs; ns */
	int64_t without;      /* spent of the last group where the scheduler chose */
};

struct call;
struct seccomp_notif_addfd;

/* SECCOMP_IOCTL_NOTIF_ADDFD: the descriptor's number in the caller, or -1 with errno. */
int handover_add(const struct call *c, struct seccomp_notif_addfd *add);

/* Lets the guard run on all of its processors again. */
void handover_unpin(void);

/* The decision alone: whether the next hand-over to this thread is to be made on one processor,
 * after one that lasted from begun to now. */
bool handover_judge(struct handover *h, pid_t tid, int64_t begun, int64_t now);

#endif
