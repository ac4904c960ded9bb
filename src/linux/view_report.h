/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the sandbox's mount namespace to the supervisor, for linux/follow.c and --ask. */
#ifndef CORRAL_LINUX_VIEW_REPORT_H
#define CORRAL_LINUX_VIEW_REPORT_H

#include "linux/layer.h"

/* Opens it while the old root's procfs is still mounted, and sends it now or keeps it. */
int view_report_open(struct kit *k, struct err *e);

/* Sends the one that was kept; 0 if there is none, -1 with errno. */
int view_report_send(struct kit *k);

#endif
