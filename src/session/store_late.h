/* SPDX-License-Identifier: Apache-2.0 */
/* States of sessions that are not in the database yet, because a write failed.
 *
 * Should:   hold the last state of each such session, until it is recorded.
 * Must not: hold more than one entry for a session: their number is that of sessions. */
#ifndef CORRAL_SESSION_STORE_LATE_H
#define CORRAL_SESSION_STORE_LATE_H

#include "session/store.h"

struct late {
	char id[SESSION_ID_LENGTH + 1];
	enum session_state state;
	char reason[360], level[16];
	int64_t started, ended;
	struct late *next;
};

struct late *store_late_find(struct late *list, const char *id);
/* Adds an entry, or changes the one of the session. */
void store_late_put(struct late **list, const struct state_change *c, enum session_state to);
void store_late_remove(struct late **list, struct late *entry);
/* Changes a row that was read, if the list has its session. */
void store_late_apply(struct late *list, struct session_row *row);

#endif
