/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a file of the host, and opens it for a process in the sandbox's view of files. */
#ifndef CORRAL_BACKEND_HOST_OPEN_H
#define CORRAL_BACKEND_HOST_OPEN_H

#include <stdbool.h>
#include <sys/types.h>

/* Holds the file of an absolute path, without opening it for reading; its symlinks are followed,
 * but none of procfs.  flags: O_NOFOLLOW, O_DIRECTORY.  -1 with errno. */
int host_hold(const char *path, int flags);

/* Whether the caller has these rights (R_OK, W_OK, X_OK) to a held file. */
bool host_has_rights(int held, int rights);

struct host_open {
	int view;         /* of REPORT_VIEW; -1: the run has none */
	int held;         /* of host_hold(): the file, or the directory of a new one */
	const char *real; /* its real path */
	const char *name; /* of a new file in that directory; NULL: the file exists */
	int flags;        /* of open(2) */
	mode_t mode;      /* of a new file */
	bool noexec;      /* the command may execute listed programs only */
};

/* A descriptor, or -errno.  -ESTALE: another file has this path now. */
int host_open(const struct host_open *o);

#endif
