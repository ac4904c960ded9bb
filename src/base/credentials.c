/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the four user ids and four group ids of this process, and AT_SECURE.
 *
 * Should:   name all ids and the remedy in the error.
 * Must not: change an id.
 * Fails:    closed: also when an id cannot be read. */
#include "base/credentials.h"

#include "base/auto.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHERE "identity"

/* The four ids of one kind, which must be equal. */
struct ids {
	const char *kind, *fix;
	unsigned real, effective, saved, filesystem;
};

static int check_equal(const struct ids *i, struct err *e) {
	if (i->real == i->effective && i->real == i->saved && i->real == i->filesystem) {
		return 0;
	}
	(void)err_set(e, ERR_SETUP, WHERE,
		      "this process has more than one %s id: real %u, effective %u, saved %u, "
		      "file-system %u; the command could switch between them",
		      i->kind, i->real, i->effective, i->saved, i->filesystem);
	return err_fix(e, "%s", i->fix);
}

/* A new pipe belongs to the file-system ids of the thread that creates it.  (So does a socket,
 * but an outer sandbox may refuse sockets.) */
static int filesystem_ids(struct stat *ret, struct err *e) {
	int ends[2] = {-1, -1};
	bool known = pipe2(ends, O_CLOEXEC) == 0 && fstat(ends[0], ret) == 0;
	drop_fd(&ends[0]);
	drop_fd(&ends[1]);
	if (!known) {
		return err_sys(e, WHERE, "cannot read the file-system user id");
	}
	return 0;
}

static int check_secure(struct err *e) {
	if (getauxval(AT_SECURE) == 0) {
		return 0;
	}
	(void)err_set(e, ERR_SETUP, WHERE,
		      "this program was started with more privileges than its caller has: its "
		      "file is set-user-id or set-group-id, or has file capabilities");
	return err_fix(e, "remove them: chmod ug-s FILE; setcap -r FILE");
}

int credentials_read(uid_t *ret_uid, gid_t *ret_gid, struct err *e) {
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;
	struct stat own;

	if (getresuid(&ruid, &euid, &suid) != 0 || getresgid(&rgid, &egid, &sgid) != 0) {
		return err_sys(e, WHERE, "cannot read the user and group ids of this process");
	}
	if (filesystem_ids(&own, e) != 0) {
		return -1;
	}
	const struct ids users = {"user",
				  "call setresuid(UID, UID, UID) first; or, for a set-user-id "
				  "program: chmod u-s FILE",
				  ruid,
				  euid,
				  suid,
				  own.st_uid};
	const struct ids groups = {"group",
				   "call setresgid(GID, GID, GID) first; or, for a set-group-id "
				   "program: chmod g-s FILE",
				   rgid,
				   egid,
				   sgid,
				   own.st_gid};
	if (check_equal(&users, e) != 0 || check_equal(&groups, e) != 0) {
		return -1;
	}
	*ret_uid = euid;
	*ret_gid = egid;
	return check_secure(e);
}

int credentials_check(struct err *e) {
	uid_t uid;
	gid_t gid;

	return credentials_read(&uid, &gid, e);
}
