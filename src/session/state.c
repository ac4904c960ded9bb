/* SPDX-License-Identifier: Apache-2.0 */
/* The transition table of sessions.
 *
 * Should:   have one row for each possible pair of state and event.
 * Must not: let an ended session start again: a token of it would be valid again.
 * Fails:    closed: a pair without a row is refused. */
#include "session/state.h"

#include "base/auto.h"
#include "base/str.h"

static const char *const names[SESSION_STATES] = {
	[SESSION_CREATED] = "CREATED", [SESSION_STARTING] = "STARTING",
	[SESSION_RUNNING] = "RUNNING", [SESSION_STOPPING] = "STOPPING",
	[SESSION_STOPPED] = "STOPPED", [SESSION_FAILED] = "FAILED",
};

static const struct {
	enum session_state from;
	enum session_event event;
	enum session_state to;
} rows[] = {
	{SESSION_CREATED, EVENT_START, SESSION_STARTING},
	{SESSION_CREATED, EVENT_STOP, SESSION_STOPPED}, /* no process to wait for */
	{SESSION_CREATED, EVENT_BROKE, SESSION_FAILED},
	{SESSION_STARTING, EVENT_READY, SESSION_RUNNING},
	{SESSION_STARTING, EVENT_STOP, SESSION_STOPPING},
	{SESSION_STARTING, EVENT_BROKE, SESSION_FAILED},
	{SESSION_RUNNING, EVENT_STOP, SESSION_STOPPING},
	{SESSION_RUNNING, EVENT_BROKE, SESSION_FAILED},
	{SESSION_STOPPING, EVENT_ENDED, SESSION_STOPPED},
	/* The daemon died while it stopped the session: the processes are gone, but they were not
	 * given their grace period. */
	{SESSION_STOPPING, EVENT_BROKE, SESSION_FAILED},
};

bool state_next(enum session_state from, enum session_event event, enum session_state *ret) {
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].from == from && rows[i].event == event) {
			*ret = rows[i].to;
			return true;
		}
	}
	return false;
}

const char *state_name(enum session_state state) {
	return names[state];
}

int state_by_name(const char *name) {
	for (int i = 0; i < SESSION_STATES; i++) {
		if (streq(names[i], name)) {
			return i;
		}
	}
	return -1;
}

bool state_is_final(enum session_state state) {
	return state == SESSION_STOPPED || state == SESSION_FAILED;
}
