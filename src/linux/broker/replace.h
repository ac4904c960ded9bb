/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a rename onto a file that is granted by itself (--write FILE). */
#ifndef CORRAL_LINUX_BROKER_REPLACE_H
#define CORRAL_LINUX_BROKER_REPLACE_H

#include "linux/broker/resolve.h"

/* The kernel or the plan refused to rename `from` to `to` with `refusal`.  Where `to` is a
 * single file that the plan makes writable, a helper copies the content of `from` into it and
 * removes `from`; otherwise returns `refusal`. */
long replace_or_refuse(const struct call *c, const struct resolved *from, const struct resolved *to,
		       long refusal);

#endif
