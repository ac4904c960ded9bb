/* What those who make files share. */
#ifndef CORRAL_LINUX_BROKER_FILES_H
#define CORRAL_LINUX_BROKER_FILES_H

#include "linux/broker/call.h"

/* Takes on the caller's umask: 0 or -errno. */
int files_take_umask(const struct call *c);

#endif
