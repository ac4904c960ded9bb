/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the verbs of the service over to corrald, the second binary, with the same command line:
 * all but `session exec`, which is often called and has its client in both (client/).
 *
 * Should:   execute the corrald in the directory of this program, which came with it, and pass
 *           arguments, environment and descriptors unchanged.
 * Must not: search PATH: the program that is found there may be another user's choice, and it
 *           would get the policy and the secrets of the caller.
 * Fails:    closed, with the remedy, if corrald is not there. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/read_link.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define SERVICE "corrald"

static int hand_over(const struct invocation *inv, struct corral_error *err) {
	char path[PATH_MAX + sizeof SERVICE];

	if (check_caller(err) != 0) {
		return -1;
	}
	if (!read_link("/proc/self/exe", path, PATH_MAX)) {
		return setup_error(err, "mount /proc", "cannot read /proc/self/exe");
	}
	char *name = strrchr(path, '/');
	if (name == NULL) {
		return setup_error(err, "mount /proc", "/proc/self/exe is not a path");
	}
	memcpy(name + 1, SERVICE, sizeof SERVICE);
	(void)execve(path, inv->argv, environ);
	int sys = errno;
	(void)setup_error(err, "install corrald in the directory of corral: make install",
			  "this verb needs the program corrald beside corral, which cannot be "
			  "executed");
	err->sys_errno = sys;
	return -1;
}

#define HAND_OVER(verb)                                                                            \
	int verb(struct invocation *inv, struct corral_error *err) {                               \
		return hand_over(inv, err);                                                        \
	}

HAND_OVER(verb_mcp)
HAND_OVER(verb_daemon)
HAND_OVER(verb_daemon_status)
HAND_OVER(verb_daemon_metrics)
HAND_OVER(verb_daemon_reload)
HAND_OVER(verb_daemon_questions)
HAND_OVER(verb_daemon_answer)
HAND_OVER(verb_daemon_stop)
HAND_OVER(verb_session_create)
HAND_OVER(verb_session_attach)
HAND_OVER(verb_session_list)
HAND_OVER(verb_session_agents)
HAND_OVER(verb_session_show)
HAND_OVER(verb_session_stop)
HAND_OVER(verb_session_activity)
HAND_OVER(verb_session_token)
HAND_OVER(verb_session_revoke)
HAND_OVER(verb_ui)
HAND_OVER(verb_oci)

int verb_exec_terminal(const struct invocation *inv, const char *const *argv,
		       struct corral_error *err) {
	(void)argv; /* they are in inv->argv too */
	return hand_over(inv, err);
}
