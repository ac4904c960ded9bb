/* SPDX-License-Identifier: Apache-2.0 */
/* Reloads the policy files when they change: inotify(7) on their directories.
 *
 * A directory is watched, not the file: editors and configuration tools save by a rename.  Where
 * the directory does not exist, the nearest one above it is.  Events are collected for a moment, so
 * that a save in several steps is one reload. */
#ifndef CORRAL_SESSION_POLICY_WATCH_H
#define CORRAL_SESSION_POLICY_WATCH_H

#include "session/daemon_loop.h"

#include <stdint.h>

struct daemon;

/* Three files, each with the target of a symlink. */
#define POLICY_WATCH_PATHS 6

struct policy_watch {
	struct watch watch;
	char *paths[POLICY_WATCH_PATHS];
	size_t npaths;
	int64_t due; /* of the reload, CLOCK_MONOTONIC; 0: nothing changed */
};

/* Begins to watch.  Without inotify only SIGHUP and `daemon reload` reload. */
void policy_watch_begin(struct daemon *d);
void policy_watch_end(struct daemon *d);

/* Reloads when it is due; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t policy_watch_check(struct daemon *d, int64_t now);

#endif
