/* SPDX-License-Identifier: Apache-2.0 */
/* A timer that interrupts a system call on a socket that another process shares.
 *
 * The other process can make the socket blocking, or set SO_LINGER, at any moment.  SIGALRM then
 * ends the call with EINTR.  The timer repeats: its first signal may arrive before the call blocks.
 */
#ifndef CORRAL_BASE_INTERRUPT_TIMER_H
#define CORRAL_BASE_INTERRUPT_TIMER_H

#include "base/signal_mask.h"

#include <sys/time.h>

/* Far more than a call takes that does not block. */
#define INTERRUPT_US 20000

static inline void interrupt_timer_on_signal(int number) {
	(void)number;
}

/* Sets the handler, once for a process. */
static inline void interrupt_timer_handle(void) {
	const struct sigaction action = {.sa_handler =
						 interrupt_timer_on_signal}; /* no SA_RESTART */

	(void)sigaction(SIGALRM, &action, NULL); /* fails only for a bad signal */
}

/* Sets a mask with which the handler runs; ret_before: the mask before, or NULL. */
static inline void interrupt_timer_unblock(sigset_t *ret_before) {
	sigset_t alarm;

	(void)sigemptyset(&alarm); /* fails only for an invalid pointer, as the next */
	(void)sigaddset(&alarm, SIGALRM);
	signal_mask(SIG_UNBLOCK, &alarm, ret_before);
}

static inline void interrupt_timer_init(void) {
	interrupt_timer_handle();
	interrupt_timer_unblock(NULL);
}

static inline void interrupt_timer_set(long us) {
	const struct timeval interval = {.tv_usec = us};
	const struct itimerval timer = {.it_interval = interval, .it_value = interval};

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static inline void interrupt_timer_start(void) {
	interrupt_timer_set(INTERRUPT_US);
}

static inline void interrupt_timer_stop(void) {
	interrupt_timer_set(0);
}

#endif
