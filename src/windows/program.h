/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of this machine: the program of a command, the workspace, granted paths. */
#ifndef CORRAL_WINDOWS_PROGRAM_H
#define CORRAL_WINDOWS_PROGRAM_H

#include "windows/api.h"

#include "base/arena.h"
#include "base/err.h"
#include "windows/environment.h"

#include <stdbool.h>

/* Absolute, with backslashes, without "." and "..", links resolved; ERR_NOT_FOUND. */
int program_real_path(struct arena *a, const char *path, const char **ret, bool *ret_directory,
		      struct err *e);

/* The file that CreateProcessW gets: a path as it is written, or a name from the PATH of the
 * command, with .exe or .com.  A batch file is refused. */
int program_find(struct arena *a, const char *name, const struct environment *env,
		 const char *directory, const char **ret, struct err *e);

/* Refuses a workspace that holds more than a project. */
int program_check_workspace(struct arena *a, const char *workspace, struct err *e);

#endif
