/* Names in a home. */
#ifndef CORRAL_PLAN_HOME_H
#define CORRAL_PLAN_HOME_H

#include <stdbool.h>
#include <stddef.h>

/* Whether programs keep caches and settings of their own in the entry of a home that has this
 * name, of len bytes: .cache, .config, go. */
bool home_is_for_tools(const char *name, size_t len);

#endif
