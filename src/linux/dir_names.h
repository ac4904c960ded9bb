/* SPDX-License-Identifier: Apache-2.0 */
/* host_fs.names of the real host. */
#ifndef CORRAL_LINUX_DIR_NAMES_H
#define CORRAL_LINUX_DIR_NAMES_H

#include "plan/name_filter.h"

/* Whether names that differ in case only are one file in this directory; false if unknown. */
bool dir_folds(int dir);

bool dir_names(void *ctx, const char *path, struct name_filter *out);

#endif
