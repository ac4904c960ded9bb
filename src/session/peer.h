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

/* PEER_UNKNOWN: the process is gone or not visible, or has too many parents.  A process of a
 * session can bring that about, so it proves nothing. */
enum peer_relation { PEER_UNKNOWN, PEER_BELOW, PEER_OUTSIDE };

/* Whether `ancestor` is the process itself or one of its parents. */
enum peer_relation peer_relation(const struct peer *p, pid_t ancestor);

/* A process that was found outside, and is held by a pidfd; zeroed: none. */
struct peer_known {
	pid_t pid; /* 0: none */
	int pidfd;
};

/* Whether the process is outside, as peer_relation() finds it.  Keeps its parent in *known: its
 * other children need no look-up of their ancestors. */
bool peer_is_outside(const struct peer *p, pid_t ancestor, struct peer_known *known);

#endif
