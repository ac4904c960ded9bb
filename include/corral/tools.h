/* SPDX-License-Identifier: Apache-2.0 */
/* Installs, removes and lists the programs that a policy gives to its runs. */
#ifndef CORRAL_TOOLS_H
#define CORRAL_TOOLS_H

#include "error.h"
#include "format.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Tools: programs that a run gets with the key env.tools, first in PATH and read-only.  Each run
 * compares their content with the hash of the installation.  Inside a sandbox the first two
 * fail. */
int corral_tool_install(const char *name, const char *path, struct corral_error *err);
int corral_tool_remove(const char *name, struct corral_error *err);
int corral_tool_list(enum corral_format format, char **text, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
