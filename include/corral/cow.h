/* SPDX-License-Identifier: Apache-2.0 */
/* Copy-on-write changes (fs.cow): lists, shows, applies and discards them. */
#ifndef CORRAL_COW_H
#define CORRAL_COW_H

#include "error.h"
#include "format.h"
#include "policy.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* All pending changes: id, workspace, start time, number of changes. */
int corral_cow_list(enum corral_format format, char **text, struct corral_error *err);

/* The changes of a run, as a git patch or as JSON, with every mode that apply would set; at most
 * 64 MiB of the files' text, the rest by name.  paths ends with NULL and may be NULL for all; a
 * path is absolute, or relative to the current directory if that is in the workspace, else to the
 * workspace.  Fails while the run is alive. */
int corral_cow_diff(const char *id, const char *const *paths, enum corral_format format,
		    char **text, struct corral_error *err);

struct corral_cow_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *paths; /* as for corral_cow_diff; NULL for all */
	int force;                /* 1: overwrite changes of the host, and protected names */
	int reserved;             /* 0 */
};

/* Copies changes into the workspace, each file atomically.  CORRAL_E_REFUSED, with nothing
 * changed, when a file was changed on the host since, or when the present policy of that workspace
 * protects a file that paths does not name.  If the call is killed, or stopped by a full disk, the
 * next call completes it; the remedy of the error then has the progress.  Changes that remain
 * pending keep their id; without any the id is removed.  options NULL: all, not forced.  *text
 * lists the applied changes. */
int corral_cow_apply(const struct corral_policy *policy, const char *id,
		     const struct corral_cow_options *options, enum corral_format format,
		     char **text, struct corral_error *err);

/* Removes pending changes, and the temporary files of a killed apply in the workspace; id NULL
 * removes those of all runs that have ended. */
int corral_cow_discard(const char *id, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
