/* SPDX-License-Identifier: Apache-2.0 */
/* The directories, sockets and locks of the daemon.
 *
 *   $XDG_RUNTIME_DIR/corral/           0700
 *     admin.sock                       0600; never visible in a sandbox
 *     daemon.lock                      held while the daemon runs
 *     s/ID.sock                        one a session, 0600
 *     s/ID.c                           the copy of a session with one (session/copy.h)
 *     x/ID, x/NAME                     of its supervisor, for `corral session exec`, while the
 *                                      session is RUNNING; 0600 (client/direct.h)
 *     p/KEY.sock                       one a pool of sandboxes, 0600 (linux/parked.h)
 *   ~/.local/state/corral/daemon/      0700, in the state directory of Corral
 *     sessions.db, daemon.lock */
#ifndef CORRAL_CLIENT_PLACES_H
#define CORRAL_CLIENT_PLACES_H

#include "base/err.h"

#include <limits.h>

struct places {
	char runtime[PATH_MAX];  /* …/corral */
	char sessions[PATH_MAX]; /* …/corral/s */
	char direct[PATH_MAX];   /* …/corral/x */
	char pools[PATH_MAX];    /* …/corral/p */
	char state[PATH_MAX];
	char admin[PATH_MAX], database[PATH_MAX];
	int runtime_lock, state_lock;
};

/* The names only; for clients. */
int places_find(struct places *p, struct err *e);

/* The socket of a session, whose id is valid; -1 when the name is too long. */
int places_session_socket(const struct places *p, const char *id, char ret[PATH_MAX]);

#endif
