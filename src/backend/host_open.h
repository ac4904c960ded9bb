/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file of the host for a process in the sandbox's mount namespace. */
#ifndef CORRAL_BACKEND_HOST_OPEN_H
#define CORRAL_BACKEND_HOST_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

struct host_open {
	int view;         /* the sandbox's mount namespace; -1: the run has none */
	int held;         /* O_PATH: the file, or the directory of a new one */
	const char *real; /* its real path */
	const char *name; /* of a new file in that directory; NULL: the file exists */
	int flags;        /* of open(2) */
	mode_t mode;      /* of a new file */
	bool noexec;      /* the command may execute listed programs only */
};

/* A descriptor, or -errno.  -ESTALE: another file has this path now. */
int host_open(const struct host_open *o);

#endif
