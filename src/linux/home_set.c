/* SPDX-License-Identifier: Apache-2.0 */
/* Lets only runs with the same mount points use one private home at the same time; plan/home_set.c
 * has the reason.
 *
 * Theory.  A record beside the home names the set of mount points; without a record it is the usual
 * set.  A run holds a shared lock on the directory of both.  The record changes only under an
 * exclusive lock, which no other run survives: a run that has the shared lock and reads the name of
 * its own set shares the home with its like alone.
 *
 * To change the record a run also locks the file that names the workspace, the turn.  Otherwise two
 * runs that start together would each refuse the other the exclusive lock.
 *
 * Should:   cost a run with the usual set no system call more than the lock and one look.
 * Must not: hold the shared lock without the right record.
 * Fails:    closed: without flock(2), or a readable record, the run uses another home. */
#include "linux/home_set.h"

#include "backend/home.h"
#include "base/auto.h"
#include "base/str.h"
#include "linux/mount_points.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define SET_RECORD "set"

/* The longest name: a SHA-256 in hexadecimal. */
#define SET_MAX 64

static bool lock(int fd, int kind) {
	int rc;
	while ((rc = flock(fd, kind)) != 0 && errno == EINTR) {
	}
	return rc == 0;
}

/* The record is a symlink, so that one call reads it. */
static bool record_is(int dir, const char *set) {
	char text[SET_MAX + 1];
	ssize_t n = readlinkat(dir, SET_RECORD, text, sizeof text);
	if (set == NULL) {
		return n < 0 && errno == ENOENT;
	}
	return n >= 0 && (size_t)n == strlen(set) && memcmp(text, set, (size_t)n) == 0;
}

/* Under the exclusive lock. */
static bool write_record(int dir, const char *set) {
	if (unlinkat(dir, SET_RECORD, 0) != 0 && errno != ENOENT) {
		return false;
	}
	return set == NULL || symlinkat(set, dir, SET_RECORD) == 0;
}

/* Without the turn: for a run whose set is the recorded one.  A run with a named set looks before
 * it takes the lock: a shared lock for a moment would refuse another run the exclusive one. */
static bool join_at_once(int dir, const char *set) {
	if (set != NULL && !record_is(dir, set)) {
		return false;
	}
	if (lock(dir, LOCK_SH) && record_is(dir, set)) {
		return true;
	}
	(void)flock(dir, LOCK_UN); /* it was not locked, or is not now */
	return false;
}

bool home_set_join(int dir, const char *set) {
	if (join_at_once(dir, set)) {
		return true;
	}
	auto_fd turn = openat(dir, HOME_RECORD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (turn < 0 || !lock(turn, LOCK_EX)) {
		return false;
	}
	if (!record_is(dir, set)) {
		if (!lock(dir, LOCK_EX | LOCK_NB)) {
			return false;
		}
		mount_points_sweep(dir);
		if (!write_record(dir, set)) {
			(void)flock(dir, LOCK_UN); /* the descriptor is closed soon */
			return false;
		}
	}
	/* Nobody else has the turn, so the record stays. */
	return lock(dir, LOCK_SH);
}
