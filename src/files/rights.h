/* A caller that is root has rights that root inside has not: capabilities pass the
 * checks of file modes.  A tool does without them while it works, in this thread
 * alone, so that the kernel judges modes as it does inside. */
#ifndef CORRAL_FILES_RIGHTS_H
#define CORRAL_FILES_RIGHTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct rights {
	bool laid_down;
	uint32_t effective[2];
};

/* Both do nothing for a caller without capabilities.  -1 with *e: nothing is done then. */
int rights_drop(struct rights *r, struct err *e);
void rights_restore(struct rights *r);

#endif
