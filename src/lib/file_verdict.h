/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict about one path, for `corral check path` and `corral why`. */
#ifndef CORRAL_LIB_FILE_VERDICT_H
#define CORRAL_LIB_FILE_VERDICT_H

#include "corral.h"

#include "files/access.h"

/* A path that the kernel refuses to resolve (ELOOP, ENAMETOOLONG) is a verdict, not an error.  *p
 * keeps kind, path and st; its descriptors are closed. */
int file_verdict(const struct lens *v, const struct corral_check *check, struct place *p,
		 struct verdict *ret, struct err *e);

#endif
