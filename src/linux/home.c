/* The private home of a workspace: a directory of Corral's state that holds the home itself and,
 * out of the command's reach beside it, a record of the workspace that it belongs to.
 *
 * Should:   make both where they are missing, the record first.
 * Must not: open a home whose record names another workspace, or that has none: by whatever
 *           way it came there, another project's files would be in it.
 * Fails:    closed. */
#include "linux/home.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/mount_points.h"
#include "linux/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/* A home that is removed again and again while a run begins. */
#define LOCK_TRIES 100

/* Names of one home. */
struct places {
	char dir[PATH_MAX], record[PATH_MAX], draft[PATH_MAX];
};

static int find_places(const char *home, struct places *ret, struct err *e) {
	bool fits = path_parent(home, ret->dir);
	int n = snprintf(ret->record, sizeof ret->record, "%s/" HOME_RECORD, fits ? ret->dir : "");
	int m = snprintf(ret->draft, sizeof ret->draft, "%s/" HOME_RECORD ".%d",
			 fits ? ret->dir : "", (int)getpid());
	if (!fits || n < 0 || m < 0 || (size_t)m >= sizeof ret->draft) {
		errno = ENAMETOOLONG;
		return err_sys_at(e, "home", "cannot make the private home", home);
	}
	return 0;
}

static int refuse(const struct places *at, const char *why, const char *other, struct err *e) {
	(void)err_set(e, ERR_REFUSED, "home", "the private home %s %s%s", at->dir, why, other);
	return err_fix(e, "look at it, then remove it (rm -r %s), or use --home ephemeral",
		       at->dir);
}

/* 1: the record names this workspace; 0: there is none; -1: refused. */
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
		return refuse(at, "has a record that others could have written", "", e);
	}
	text[n] = '\0';
	if (!streq(text, workspace)) {
		str_hide_controls(text, false);
		return refuse(at, "belongs to another workspace, ", text, e);
	}
	return 1;
}

/* Complete or not there: a run that starts at the same time reads it too. */
static int write_record(const struct places *at, const char *workspace, struct err *e) {
	(void)unlink(at->draft); /* of a process of the same number that died; O_EXCL decides */
	auto_fd fd = open(at->draft, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool done = fd >= 0 && fd_write_all(fd, workspace, strlen(workspace)) == 0 &&
		    (link(at->draft, at->record) == 0 || errno == EEXIST);
	if (!done) {
		err_sys_at(e, "home", "cannot write the record of the private home", at->record);
		(void)err_fix(e, "use --home ephemeral, or make the state directory writable");
	}
	(void)unlink(at->draft); /* the record is a link of its own */
	return done ? 0 : -1;
}

static int make_record(const struct places *at, const char *home, const char *workspace,
		       struct err *e) {
	struct stat st;
	if (lstat(home, &st) == 0) {
		/* Another first run may have made both since the record was looked for. */
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
		err_sys_at(e, "home", "cannot make the private home", home);
		return err_fix(e, "use --home ephemeral, or make the state directory writable");
	}
	return 0;
}

/* ---- use by a run ---- */

/* Where the file system has no such locks, a run does without. */
static void lock_for(int dir, int kind) {
	while (flock(dir, kind) != 0 && errno == EINTR) {
	}
}

/* The directory was not removed between the open and the lock. */
static bool is_still(int dir, const char *path) {
	struct stat held, named;
	return fstat(dir, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

/* Removes the mount points that the last of several runs, or one that was killed, left.  The
 * lock is another one then, or lost: the kernel gives it up before it refuses the other.  True
 * when there were any. */
static bool sweep_if_alone(int dir) {
	if (!mount_points_left(dir)) {
		return false;
	}
	if (flock(dir, LOCK_EX | LOCK_NB) == 0) {
		mount_points_sweep(dir);
	}
	return true;
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
		lock_for(dir, LOCK_SH);
		if (sweep_if_alone(dir)) {
			lock_for(dir, LOCK_SH);
		}
		if (!is_still(dir, at.dir)) {
			continue; /* it was removed since */
		}
		(void)futimens(dir, NULL); /* when it was used last; without it the list is wrong */
		mount_points_make(plan, dir);
		ret->dir = take_fd(&dir);
		return 0;
	}
	return refuse(&at, "is removed again and again while a run begins", "", e);
}

void home_end(struct home_use *u) {
	if (u->dir >= 0) {
		(void)sweep_if_alone(u->dir); /* the lock is not needed any more */
		/* In so many words: a child that the caller's program forked has a copy. */
		(void)flock(u->dir, LOCK_UN);
	}
	drop_fd(&u->dir);
}
