/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking name look-up outside the gate; reads /etc/resolv.conf and /etc/hosts itself. */
#ifndef CORRAL_GATE_DNS_LOOKUP_SYNC_H
#define CORRAL_GATE_DNS_LOOKUP_SYNC_H

#include "gate/dns/resolver.h"

/* name: lower case.  0: *ret has the result, with ret->code for "no such name" and failures;
 * -errno: no query was possible (-EINVAL: not a host name; or the error of reading a file).  Blocks
 * as long as resolv.conf's time-outs, twelve seconds with its defaults and three servers that do
 * not answer.  Thread-safe. */
int lookup_sync(const char *name, struct resolved *ret);

#endif
