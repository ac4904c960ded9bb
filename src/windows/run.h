/* SPDX-License-Identifier: Apache-2.0 */
/* One run: set-up, the command, its end, and the undoing of its changes. */
#ifndef CORRAL_WINDOWS_RUN_H
#define CORRAL_WINDOWS_RUN_H

#include "base/arena.h"
#include "base/err.h"
#include "windows/report.h"

/* Fills the report also on failure, as far as it is known.  The guarantees are those of the process
 * that was started. */
int run_command(struct arena *a, const struct run_choices *c, const struct facts *facts,
		struct windows_enforcement *ret_g, struct windows_report *ret, struct err *e);

#endif
