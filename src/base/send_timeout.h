/* SPDX-License-Identifier: Apache-2.0 */
/* SO_SNDTIMEO, which also limits connect(2). */
#ifndef CORRAL_BASE_SEND_TIMEOUT_H
#define CORRAL_BASE_SEND_TIMEOUT_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>

/* In milliseconds, at least 1; 0: no limit. */
static inline int64_t send_timeout_ms(int fd) {
	struct timeval limit = {0};
	socklen_t len = sizeof limit;

	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &len) != 0 ||
	    limit.tv_sec > INT32_MAX) {
		return 0;
	}
	int64_t ms = (int64_t)limit.tv_sec * 1000 + limit.tv_usec / 1000;
	return ms == 0 && limit.tv_usec > 0 ? 1 : ms;
}

#endif
