/* SPDX-License-Identifier: Apache-2.0 */
/* The tool that changes permission bits.
 *
 * Should:   follow a symlink, as chmod(1) does, and change the file that was judged.
 * Must not: set a set-user-id, set-group-id or sticky bit.  A directory keeps those that it has,
 *           because new files in it depend on them; a file loses them.
 * Fails:    closed, with errno. */
#include "files/tools.h"

#include "base/beneath.h"

#include <errno.h>

#define PERMISSIONS 0777U
#define DIRECTORY_BITS (S_ISGID | S_ISVTX)

int tool_chmod(const struct lens *v, const char *path, unsigned mode, struct err *e) {
	struct place p;

	if ((mode & ~PERMISSIONS) != 0) {
		(void)err_set(e, ERR_USAGE, "files", "the mode %o has bits beyond 0777", mode);
		return err_fix(e, "set-user-id, set-group-id and sticky bits cannot be set");
	}
	if (access_allowed(v, path, 0, ACCESS_WRITE, &p, e) != 0) {
		return -1;
	}
	int rc = 0;
	if (p.kind != PLACE_FILE) {
		rc = place_failed(ENOENT, "change the mode of", p.path, e);
	} else if (!S_ISDIR(p.st.st_mode) && tool_check_regular(p.path, p.st.st_mode, e) != 0) {
		rc = -1;
	} else {
		mode_t kept = S_ISDIR(p.st.st_mode) ? p.st.st_mode & DIRECTORY_BITS : 0;
		if (beneath_chmod(p.fd, (mode_t)mode | kept) != 0) {
			rc = place_failed(errno, "change the mode of", p.path, e);
		}
	}
	place_done(&p);
	return rc;
}
