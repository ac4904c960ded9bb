/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the caller or root owns a configuration file, and that no other user can write
 * it: these files decide how a run is confined.
 *
 * Should:   follow symbolic links and check their target; name the command that repairs it.
 * Must not: fail for a missing file.
 * Fails:    closed: a file that another user owns or can write is not read. */
#include "policy/policy.h"

#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* A user-private group has the uid as its gid, and no other member; with umask 002 every new
 * directory is writable by it. */
static bool is_private_group(const struct stat *st) {
	return st->st_gid == getegid() && (uid_t)st->st_gid == geteuid();
}

int owner_check(const char *path, struct err *e) {
	struct stat st;
	if (stat(path, &st) != 0) {
		return 0; /* missing: the reader reports it if it needs the file */
	}
	if (st.st_uid != geteuid() && st.st_uid != 0) {
		(void)err_set(e, ERR_REFUSED, "policy", "%s belongs to another user (uid %u)", path,
			      (unsigned)st.st_uid);
		return err_fix(e, "set HOME to your own home, or take it over: chown -R %u %s",
			       (unsigned)geteuid(), path);
	}
	bool group = (st.st_mode & S_IWGRP) != 0 && !is_private_group(&st);
	if (group || (st.st_mode & S_IWOTH) != 0) {
		(void)err_set(e, ERR_REFUSED, "policy", "%s is writable by other users", path);
		return err_fix(e, "check its content, then: chmod go-w %s", path);
	}
	return 0;
}

int owner_check_dir(const char *path, struct err *e) {
	char dir[PATH_MAX];
	return path == NULL || !path_parent(path, dir) ? 0 : owner_check(dir, e);
}
