/* SPDX-License-Identifier: Apache-2.0 */
/* The directories and files of a run on macOS. */
#ifndef CORRAL_MACOS_RUN_FILES_H
#define CORRAL_MACOS_RUN_FILES_H

#include "base/err.h"
#include "plan/plan.h"

/* Creates the directories and files of the run itself: TMPDIR, HOME, generated files. */
int macos_prepare(const struct plan *plan, struct err *e);
/* Removes the directory of the run. */
void macos_clean(const struct plan *plan);

#endif
