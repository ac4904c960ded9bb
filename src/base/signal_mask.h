/* SPDX-License-Identifier: Apache-2.0 */
/* This thread's signal mask, by the raw system call.
 *
 * musl's pthread_sigmask() removes signal 34 from the mask that it returns, so restoring
 * that mask would unblock it. */
#ifndef CORRAL_BASE_SIGNAL_MASK_H
#define CORRAL_BASE_SIGNAL_MASK_H

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ret_before may be NULL. */
static inline void signal_mask(int how, const sigset_t *set, sigset_t *ret_before) {
	if (ret_before != NULL) {
		(void)sigemptyset(ret_before); /* the kernel fills its first eight bytes */
	}
	(void)syscall(SYS_rt_sigprocmask, how, set, ret_before,
		      (size_t)_NSIG / 8); /* fails only for a bad `how` */
}

#endif
