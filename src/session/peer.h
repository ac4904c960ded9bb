/* SPDX-License-Identifier: Apache-2.0 */
/* Which process connected to a unix socket.
 *
 * The processes of a session are descendants of its supervisor: pid 1 of the sandbox, or without
 * namespaces its guard, is the reaper of orphans, and itself a descendant of the supervisor.  So
 * the parents of a process lead to the supervisor, also after setsid(2) and double forks. */
#ifndef CORRAL_SESSION_PEER_H
#define CORRAL_SESSION_PEER_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct peer {
	pid_t pid;
	uid_t uid;
	int pidfd; /* -1: the kernel has none for it */
};

/* The process that called connect(2).  The caller ends with peer_done(). */
int peer_of(int fd, struct peer *ret, struct err *e);
void peer_done(struct peer *p);

/* Whether `ancestor` is the process itself or one of its parents.  False also when the process is
 * gone, or not visible. */
bool peer_descends_from(const struct peer *p, pid_t ancestor);

#endif
