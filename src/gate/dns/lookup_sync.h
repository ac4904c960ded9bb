/* One name to its addresses for who is not the gate: blocks, and reads the host's files itself. */
#ifndef CORRAL_GATE_DNS_LOOKUP_SYNC_H
#define CORRAL_GATE_DNS_LOOKUP_SYNC_H

#include "gate/dns/resolver.h"

/* name in lower case.  0 with what was found, be it nothing (ret->code says); -errno when nothing
 * could be asked: -EINVAL for what is no name, or what reading a file gave.  Takes as long as
 * resolv.conf's time-outs do, twelve seconds with its defaults and three servers that are silent.
 * Any thread may call it. */
int lookup_sync(const char *name, struct names_found *ret);

#endif
