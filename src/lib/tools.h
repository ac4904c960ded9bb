/* SPDX-License-Identifier: Apache-2.0 */
/* Tools: programs that the user installed for runs, each with its hash.
 *
 *   STATE/tools/NAME/bin/NAME    the program, mode 0555; a run shows "bin"
 *   STATE/tools/NAME/sha256      its hash, which no run shows
 *
 * STATE is a directory of Corral's own, which no sandbox can write, also not one with a grant for
 * the home.  A tool is installed and replaced by one rename. */
#ifndef CORRAL_LIB_TOOLS_H
#define CORRAL_LIB_TOOLS_H

#include "lib/internal.h"

/* Checks the hashes of the tools that the policy names, of a session before each command. */
int tools_check(const struct prepared *p, struct err *e);

#endif
