/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors in the options of a run or of a command of a session. */
#ifndef CORRAL_LIB_DESCRIPTORS_H
#define CORRAL_LIB_DESCRIPTORS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct descriptors {
	int in, out, err; /* descriptor, CORRAL_NULL or CORRAL_CAPTURE */
	const int *fds;
	size_t nfds;
	bool capture;         /* out and err may be CORRAL_CAPTURE … */
	const char *capturer; /* … as they may be for this function */
};

int descriptors_check(const struct descriptors *d, struct err *e);

/* One that has to be open. */
int descriptor_check(int fd, const char *field, struct err *e);

#endif
