/* SPDX-License-Identifier: Apache-2.0 */
/* The files of this host, for a plan. */
#ifndef CORRAL_LINUX_HOST_FILES_H
#define CORRAL_LINUX_HOST_FILES_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"

#include <sys/types.h>

/* uid: the effective one of the caller. */
int host_files(struct arena *a, uid_t uid, struct host_fs *ret, struct err *e);

#endif
