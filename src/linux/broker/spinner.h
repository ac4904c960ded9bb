/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a processor from halting while descriptors are handed over in quick succession. */
#ifndef CORRAL_LINUX_BROKER_SPINNER_H
#define CORRAL_LINUX_BROKER_SPINNER_H

#include <stdbool.h>
#include <stdint.h>

/* Hand-overs that are judged together. */
#define SPINNER_GROUP 16

/* All zero: it spins where that helps. */
struct spinner {
	bool off;             /* by the policy, or it did not help, or there is one processor */
	uint8_t count, slow;  /* hand-overs of this group */
	uint8_t in_vain;      /* groups in a row that were slow while the thread span */
	unsigned groups_left; /* for which the thread spins; 0: it does not */
	int64_t since, spent; /* when the group began; the sum of its hand-overs; ns */
	int64_t without;      /* spent of the last group without the thread */
};

/* The time before a hand-over; 0 when the spinner is off. */
int64_t spinner_begin(const struct spinner *s);

/* Call it after a hand-over with the time before it. */
void spinner_handed_over(struct spinner *s, int64_t begun);

/* The decision alone, without the thread: whether it is to spin after a hand-over that lasted from
 * begun to now. */
bool spinner_judge(struct spinner *s, int64_t begun, int64_t now);

/* Lets the thread spin, and creates it if there is none: 0 or -errno. */
int spinner_spin(void);

#endif
