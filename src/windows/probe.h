/* SPDX-License-Identifier: Apache-2.0 */
/* The mechanisms that this machine has, tried out. */
#ifndef CORRAL_WINDOWS_PROBE_H
#define CORRAL_WINDOWS_PROBE_H

#include "base/arena.h"
#include "windows/enforcement.h"

void probe_facts(struct arena *a, struct facts *ret);

#endif
