/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a Mac that a plan depends on. */
#ifndef CORRAL_MACOS_PROBE_H
#define CORRAL_MACOS_PROBE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"

/* The facts of this Mac.  Strings belong to the arena. */
int macos_probe(struct arena *a, struct host *h, struct err *e);

#endif
