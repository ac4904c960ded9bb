/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and locks the private home of a workspace: a directory in Corral's state with the home
 * itself and, not visible to the command, a record of the workspace's path.
 *
 * Should:   create both if they are missing, the record first.
 * Must not: open a home without a record, or with the record of another workspace: it could
 *           contain another project's files.
 * Fails:    closed. */
#include "backend/home.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/home_set.h"
#include "linux/mount_points.h"
#include "linux/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Attempts to lock a home that another process keeps removing. */
#define LOCK_TRIES 100

/* The paths of one home. */
struct places {
	char dir[PATH_MAX], record[PATH_MAX], draft[PATH_MAX];
};

static int find_places(const char *home, struct places *ret, struct err *e) {
	bool fits = path_parent(home, ret->dir);
	int n = snprintf(ret->record, sizeof ret->record, "%s/" HOME_RECORD, fits ? ret->dir : "");
	int m = snprintf(ret->draft, sizeof ret->draft, "%s/" HOME_RECORD ".%d",
			 fits ? ret->dir : "", (int)gettid()); /* of this thread alone */
	if (!fits || n < 0 || m < 0 || (size_t)m >= sizeof ret->draft) {
		errno = ENAMETOOLONG;
		return err_sys_at(e, "home", "cannot create the private home", home);
	}
	return 0;
}

static int refuse(const struct places *at, const char *why, const char *other, struct err *e) {
	(void)err_set(e, ERR_REFUSED, "home", "the private home %s %s%s", at->dir, why, other);
	return err_fix(e, "check its files, then remove it: rm -r %s; or use --home ephemeral",
		       at->dir);
}

/* 1: the record names this workspace; 0: no record; -1: refused. */
static int read_record(const struct places *at, const char *workspace, struct err *e) {
	struct stat st;
	char text[PATH_MAX + 1];
	auto_fd fd = open(at->record, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) != 0) {
		return err_sys_at(e, "home", "cannot read the record of the private home",
				  at->record);
	}
	bool ours = S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
		    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
	ssize_t n = ours ? read(fd, text, sizeof text - 1) : -1;
	if (n < 0) {
		return refuse(at, "has a record that other users can write", "", e);
	}
	text[n] = '\0';
	if (!streq(text, workspace)) {
		str_hide_controls(text, false);
		return refuse(at, "belongs to another workspace, ", text, e);
	}
	return 1;
}

/* By link(2), complete or not at all: a concurrent run reads it too. */
static int write_record(const struct places *at, const char *workspace, struct err *e) {
	(void)unlink(at->draft); /* left by a killed thread with the same id; O_EXCL decides */
	auto_fd fd = open(at->draft, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool done = fd >= 0 && fd_write_all(fd, workspace, strlen(workspace)) == 0 &&
		    (link(at->draft, at->record) == 0 || errno == EEXIST);
	if (!done) {
		err_sys_at(e, "home", "cannot write the record of the private home", at->record);
		(void)err_fix(e, "use --home ephemeral, or make the state directory writable");
	}
	(void)unlink(at->draft); /* the record is another hard link */
	return done ? 0 : -1;
}

static int make_record(const struct places *at, const char *home, const char *workspace,
		       struct err *e) {
	struct stat st;
	if (lstat(home, &st) == 0) {
		/* A concurrent first run may have created both since. */
		int found = read_record(at, workspace, e);
		return found == 0 ? refuse(at, "has no record of its workspace", "", e)
				  : (found > 0 ? 0 : -1);
	}
	if (scratch_make_dirs(at->dir, e) != 0 || write_record(at, workspace, e) != 0) {
		return -1;
	}
	return read_record(at, workspace, e) > 0 ? 0 : -1;
}

int home_check(const struct plan *plan, struct err *e) {
	struct places at;
	if (plan->home_source == NULL) {
		return 0;
	}
	return find_places(plan->home_source, &at, e) != 0 ||
			       read_record(&at, plan->workspace, e) < 0
		       ? -1
		       : 0;
}

int home_make(const struct plan *plan, struct err *e) {
	const char *home = plan->home_source;
	struct places at;
	if (home == NULL) {
		return 0;
	}
	if (find_places(home, &at, e) != 0) {
		return -1;
	}
	int found = read_record(&at, plan->workspace, e);
	if (found < 0 || (found == 0 && make_record(&at, home, plan->workspace, e) != 0)) {
		return -1;
	}
	if (mkdir(home, 0700) != 0 && errno != EEXIST) {
		err_sys_at(e, "home", "cannot create the private home", home);
		return err_fix(e, "use --home ephemeral, or make the state directory writable");
	}
	return 0;
}

/* ---- use by a run ---- */

/* Whether the directory was not removed between open and flock. */
static bool is_still(int dir, const char *path) {
	struct stat held, named;
	return fstat(dir, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

/* With an exclusive lock, removes the mount points that the last of several runs left.  The shared
 * lock is converted, or lost: the kernel drops it before it refuses the other. */
static void sweep_if_alone(int dir) {
	if (mount_points_left(dir) && flock(dir, LOCK_EX | LOCK_NB) == 0) {
		mount_points_sweep(dir);
	}
}

static int refuse_taken(const struct places *at, struct err *e) {
	(void)err_set(e, ERR_HOME_TAKEN, "home",
		      "other runs use the private home %s with other mount points", at->dir);
	return err_fix(e, "wait until they have ended, or use --home ephemeral");
}

int home_begin(const struct plan *plan, struct home_use *ret, struct err *e) {
	struct places at;
	*ret = (struct home_use)HOME_UNUSED;
	if (plan->home_source == NULL) {
		return 0;
	}
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (home_make(plan, e) != 0 || find_places(plan->home_source, &at, e) != 0) {
			return -1;
		}
		auto_fd dir = open(at.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0 && errno != ENOENT) {
			return err_sys_at(e, "home", "cannot open the private home", at.dir);
		}
		bool joined = dir >= 0 && home_set_join(dir, plan->home_set);
		if (dir < 0 || !is_still(dir, at.dir)) {
			continue; /* removed since */
		}
		if (!joined) {
			return refuse_taken(&at, e);
		}
		(void)futimens(dir, NULL); /* the time of the last use, for `corral home list` */
		mount_points_make(plan, dir);
		ret->dir = take_fd(&dir);
		return 0;
	}
	return refuse(&at, "was removed repeatedly while the run started", "", e);
}

void home_end(struct home_use *u) {
	if (u->dir >= 0) {
		sweep_if_alone(u->dir); /* the lock is not needed any more */
		/* Explicitly: a child that the caller's program forked has a copy of it. */
		(void)flock(u->dir, LOCK_UN);
	}
	drop_fd(&u->dir);
}
