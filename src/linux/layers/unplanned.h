/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of layers that the early process takes before there is a plan (linux/early.h).
 *
 * It shares its memory with the supervisor, so both make raw system calls, which leave errno
 * alone.  Both return 0, or -errno. */
#ifndef CORRAL_LINUX_LAYERS_UNPLANNED_H
#define CORRAL_LINUX_LAYERS_UNPLANNED_H

#include <stdbool.h>

/* Writes the limits of layer quotas; nested: those of --allow-nested. */
long quotas_lower(bool nested);

/* Empties the capability bounding set. */
long capabilities_drop_bounding(void);

#endif
