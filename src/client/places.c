/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the daemon's directories and sockets.
 *
 * Should:   give daemon and clients the same names.
 * Must not: create or check anything: session/places_take.c does, for the daemon.
 * Fails:    without a runtime directory or a home, with the remedy. */
#include "client/places.h"

#include "base/runtime_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static int find_runtime(char *ret, size_t cap, struct err *e) {
	if (runtime_dir_find(getenv("XDG_RUNTIME_DIR"), ret, cap) == 0) {
		return 0;
	}
	(void)err_set(e, ERR_SETUP, "daemon",
		      "XDG_RUNTIME_DIR is not set, and /run/user/%u does not exist",
		      (unsigned)geteuid());
	return err_fix(e, "log in with a session, or: export XDG_RUNTIME_DIR=DIR, a "
			  "directory of mode 0700 that is yours");
}

static int find_state(char *ret, size_t cap, struct err *e) {
	const char *dir = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (dir != NULL && dir[0] == '/') {
		(void)snprintf(ret, cap, "%s/corral/daemon", dir);
	} else if (home != NULL && home[0] == '/') {
		(void)snprintf(ret, cap, "%s/.local/state/corral/daemon", home);
	} else {
		(void)err_set(e, ERR_SETUP, "daemon", "neither XDG_STATE_HOME nor HOME is set");
		return err_fix(e, "export HOME");
	}
	return 0;
}

/* Leaves room for the longest name of a socket: sun_path has 108 bytes. */
#define RUNTIME_MAX (sizeof((struct sockaddr_un){0}.sun_path) - sizeof "/s/sess_.sock" - 26)

int places_find(struct places *p, struct err *e) {
	char runtime[PATH_MAX - 64], state[PATH_MAX - 64];

	*p = (struct places){.runtime_lock = -1, .state_lock = -1};
	if (find_runtime(runtime, sizeof runtime, e) != 0 ||
	    find_state(state, sizeof state, e) != 0) {
		return -1;
	}
	if (strlen(runtime) > RUNTIME_MAX) {
		(void)err_set(e, ERR_SETUP, "daemon",
			      "%s is too long: the name of a socket has at most 107 bytes",
			      runtime);
		return err_fix(e, "set XDG_RUNTIME_DIR to a shorter path");
	}
	(void)snprintf(p->runtime, sizeof p->runtime, "%s", runtime);
	(void)snprintf(p->sessions, sizeof p->sessions, "%s/s", runtime);
	(void)snprintf(p->direct, sizeof p->direct, "%s/x", runtime);
	(void)snprintf(p->pools, sizeof p->pools, "%s/p", runtime);
	(void)snprintf(p->admin, sizeof p->admin, "%s/admin.sock", runtime);
	(void)snprintf(p->state, sizeof p->state, "%s", state);
	(void)snprintf(p->database, sizeof p->database, "%s/sessions.db", state);
	return 0;
}

int places_session_socket(const struct places *p, const char *id, char ret[PATH_MAX]) {
	return snprintf(ret, PATH_MAX, "%s/%s.sock", p->sessions, id) < PATH_MAX ? 0 : -1;
}
