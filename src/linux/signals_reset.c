/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the signals of a new process to their defaults.
 *
 * Should:   reset every signal that is ignored or has a handler, libc's internal ones too.
 * Must not: use errno or libc's wrappers (base/raw_call.h): the early process shares the memory of
 *           its parent.
 * Fails:    closed: without /proc it resets all of them. */
#include "linux/signals_reset.h"

#include "base/raw_call.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

/* The set of signals behind `name` in /proc/self/status; all if it is not there. */
static uint64_t signals_of(const char *status, const char *name) {
	const char *at = strstr(status, name);
	uint64_t set = 0;
	size_t n = 0;

	for (at = at == NULL ? "" : at + strlen(name); n < 16; n++, at++) {
		int digit = *at >= '0' && *at <= '9'   ? *at - '0'
			    : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
						       : -1;
		if (digit < 0) {
			return UINT64_MAX;
		}
		set = set << 4 | (uint64_t)digit;
	}
	return set;
}

/* The signals that are ignored or have a handler: one file instead of a call for each signal. */
static uint64_t signals_in_use(void) {
	char status[4096];
	const int flags = O_RDONLY | O_CLOEXEC;
	long fd = raw_call(SYS_openat, AT_FDCWD, raw_pointer("/proc/self/status"), flags, 0);
	long n = fd < 0 ? -1 : raw_call(SYS_read, fd, raw_pointer(status), sizeof status - 1);

	if (fd >= 0) {
		(void)raw_call(SYS_close, fd); /* nothing useful can be done about a failure */
	}
	status[n < 0 ? 0 : n] = '\0';
	return signals_of(status, "\nSigIgn:\t") | signals_of(status, "\nSigCgt:\t");
}

void signals_reset(void) {
	/* Raw, because libc refuses to change its two internal signals, and for the early process.
	 * execve would reset handlers, but an ignored signal would stay ignored. */
	static const unsigned long kernel_default[4];
	uint64_t in_use = signals_in_use();
	for (int n = 1; n < _NSIG; n++) {
		if ((in_use >> (n - 1) & 1) != 0) {
			/* EINVAL for SIGKILL and SIGSTOP */
			(void)raw_call(SYS_rt_sigaction, n, raw_pointer(kernel_default), 0,
				       _NSIG / 8);
		}
	}
}
