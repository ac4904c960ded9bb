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

/* Without namespaces: whether the name is a symlink of the private home to a file that is granted
 * by itself, for reading or writing, and its path. */
bool replace_leads_to_grant(const struct call *c, const struct resolved *to, char ret[PATH_MAX]);

#endif
