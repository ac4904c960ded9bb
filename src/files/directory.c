/* SPDX-License-Identifier: Apache-2.0 */
/* The tool that creates a directory.
 *
 * Should:   with DIRECTORY_PARENTS do as `mkdir -p`: a directory that exists is a success.
 * Must not: create a directory through a symlink that leads nowhere; leave directories behind for a
 *           path that is refused.
 * Fails:    closed, with errno. */
#include "files/tools.h"

#include "base/path.h"
#include "files/named.h"

#include <errno.h>

static int exists(const char *path, struct err *e) {
	(void)err_set(e, ERR_FILE, "files", "%s exists already", path);
	e->sys = EEXIST;
	return -1;
}

/* The path names an entry.  `mkdir -p` accepts a symlink to a directory as well. */
static int accept_directory(const struct lens *v, const char *path, struct err *e) {
	struct place p;

	if (access_allowed(v, path, 0, ACCESS_READ, &p, e) != 0) {
		return -1;
	}
	bool directory = p.kind == PLACE_OURS || (p.kind == PLACE_FILE && S_ISDIR(p.st.st_mode));
	place_done(&p);
	return directory ? 0 : exists(path, e);
}

static bool is_there(const struct place *p) {
	return p->kind == PLACE_FILE || p->kind == PLACE_OURS;
}

/* Creates the missing entry, and with DIRECTORY_PARENTS the directories before it. */
static int create(const struct lens *v, const char *path, unsigned flags, struct place *p,
		  struct err *e) {
	bool parents = (flags & DIRECTORY_PARENTS) != 0;

	if (p->dir < 0 && parents) {
		place_done(p);
		*p = (struct place){.fd = -1, .dir = -1};
		if (named_find(v, path, WALK_PARENTS, p, e) != 0 ||
		    access_judge_or_fail(v, p, ACCESS_WRITE, e) != 0) {
			return -1;
		}
	}
	if (p->kind != PLACE_MISSING || p->dir < 0) {
		(void)place_failed(p->dir < 0 ? ENOENT : EEXIST, "create the directory", p->path,
				   e);
		return p->dir < 0 ? err_fix(e, "create its directory first") : -1;
	}
	if (mkdirat(p->dir, p->name, 0777) == 0) {
		return 0;
	}
	/* Another process may have created it since. */
	return errno == EEXIST && parents ? accept_directory(v, path, e)
					  : place_failed(errno, "create the directory", p->path, e);
}

int tool_make_directory(const struct lens *v, const char *path, unsigned flags, struct err *e) {
	struct place p;
	int rc;

	if (named_find(v, path, 0, &p, e) != 0) {
		return -1;
	}
	if (is_there(&p)) {
		rc = access_judge_or_fail(v, &p, ACCESS_READ, e);
		if (rc == 0) {
			rc = (flags & DIRECTORY_PARENTS) != 0 ? accept_directory(v, path, e)
							      : exists(p.path, e);
		}
	} else {
		/* First without new directories: a path that is refused leaves none behind. */
		rc = access_judge_or_fail(v, &p, ACCESS_WRITE, e);
		rc = rc == 0 ? create(v, path, flags, &p, e) : rc;
	}
	place_done(&p);
	return rc;
}
