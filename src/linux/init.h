/* SPDX-License-Identifier: Apache-2.0 */
/* Pid 1 of the sandbox: starts the command, reaps, forwards signals, enforces the timeout,
 * runs the broker, and reports. */
#ifndef CORRAL_LINUX_INIT_H
#define CORRAL_LINUX_INIT_H

#include "linux/layer.h"

/* Runs in the child after every layer; system calls only.  Does not return. */
_Noreturn void init_run(struct kit *k);

/* Sends REPORT_ERROR and exits; for failures before the command runs. */
_Noreturn void init_fail(const struct kit *k, const struct err *e);

#endif
