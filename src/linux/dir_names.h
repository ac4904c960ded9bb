/* SPDX-License-Identifier: Apache-2.0 */
/* host_fs.names of the real host. */
#ifndef CORRAL_LINUX_DIR_NAMES_H
#define CORRAL_LINUX_DIR_NAMES_H

#include "plan/name_filter.h"

bool dir_names(void *ctx, const char *path, struct name_filter *out);

#endif
