/* Pid 1 inside: starts the command, reaps, forwards, keeps time, reports. */
#ifndef CORRAL_LINUX_INIT_H
#define CORRAL_LINUX_INIT_H

#include "linux/layer.h"

/* Runs in the child after every layer; system calls only.  Does not return. */
_Noreturn void init_run(struct kit *k);

/* Sends the error up and ends; for failures before the command runs. */
_Noreturn void init_fail(const struct kit *k, const struct err *e);

/* Every signal to its default action, as a fresh process has it. */
void init_reset_signals(void);

#endif
