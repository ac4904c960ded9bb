/* Whose a file or directory of Corral's is: what decides about a run must be the caller's own.
 *
 * Should:   judge what a symbolic link leads to, and say what to do.
 * Must not: mind what is not there.
 * Fails:    closed: what others own or could write is not read. */
#include "policy/policy.h"

#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The group that a user alone is in has the user's own number, by the convention of
 * user-private groups; with umask 002 every new directory is open to it. */
static bool is_private_group(const struct stat *st) {
	return st->st_gid == getegid() && (uid_t)st->st_gid == geteuid();
}

int owner_check(const char *path, struct err *e) {
	struct stat st;
	if (stat(path, &st) != 0) {
		return 0; /* whoever needs it says so */
	}
	if (st.st_uid != geteuid() && st.st_uid != 0) {
		(void)err_set(e, ERR_REFUSED, "policy", "%s belongs to another user, number %u",
			      path, (unsigned)st.st_uid);
		return err_fix(e, "set HOME to a home of your own, or take it over: chown -R %u %s",
			       (unsigned)geteuid(), path);
	}
	bool group = (st.st_mode & S_IWGRP) != 0 && !is_private_group(&st);
	if (group || (st.st_mode & S_IWOTH) != 0) {
		(void)err_set(e, ERR_REFUSED, "policy", "%s can be written by other users", path);
		return err_fix(e, "look at what it holds, then: chmod go-w %s", path);
	}
	return 0;
}

int owner_check_dir(const char *path, struct err *e) {
	char dir[PATH_MAX];
	return path == NULL || !path_parent(path, dir) ? 0 : owner_check(dir, e);
}
