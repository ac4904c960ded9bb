/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the supervisor about calls that the broker would refuse (`--ask`). */
#ifndef CORRAL_LINUX_BROKER_ASK_H
#define CORRAL_LINUX_BROKER_ASK_H

#include "linux/broker/call.h"

/* True: the supervisor decides, and ask_answered() answers the call. */
bool ask_begin(const struct call *c, int error);

/* Reads the supervisor's answers. */
void ask_answered(struct broker *b);

/* Milliseconds until ask_sweep() is due; -1: no call waits. */
int ask_wake(const struct broker *b, int64_t now);

/* Withdraws the questions of callers that no longer wait. */
void ask_sweep(struct broker *b, int64_t now);

#endif
