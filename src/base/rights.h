/* SPDX-License-Identifier: Apache-2.0 */
/* Drops this thread's effective capabilities while a file tool works.
 *
 * The capabilities of a root caller bypass file modes; root in the sandbox has none.  Without
 * them the kernel checks modes for the tool as it does for a command. */
#ifndef CORRAL_BASE_RIGHTS_H
#define CORRAL_BASE_RIGHTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct rights {
	bool dropped;
	uint32_t effective[2];
};

/* Both do nothing for a caller without capabilities.  -1 with *e: nothing was changed. */
int rights_drop(struct rights *r, struct err *e);
void rights_restore(struct rights *r);

#endif
