/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a home. */
#ifndef CORRAL_PLAN_HOME_H
#define CORRAL_PLAN_HOME_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the entry of a home with this name, of len bytes, is one where programs keep caches and
 * settings: .cache, .config, go. */
bool home_is_for_tools(const char *name, size_t len);

#endif
