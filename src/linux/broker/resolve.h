/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path of the caller to an O_PATH descriptor and a real path. */
#ifndef CORRAL_LINUX_BROKER_RESOLVE_H
#define CORRAL_LINUX_BROKER_RESOLVE_H

#include "linux/broker/call.h"

#include <sys/stat.h>

#define REAL_MAX (PATH_MAX + NAME_MAX + 2)

/* A file, or a name in a directory. */
struct resolved {
	int fd;        /* O_PATH: the file, or the directory of the name */
	bool has_name; /* it is a name, which need not exist */
	bool slash;    /* the path has a trailing slash */
	bool by_proc;  /* the path went through procfs: it means another file to the guard */
	bool lent;     /* fd belongs to another struct resolved, which closes it */
	bool inner;    /* on a file system that was mounted inside: no rule is about it (view.c) */
	bool kernels; /* a file of procfs that belongs to no process, of a caller in its own view */
	bool mounted; /* the name is a mount point in the caller's own view */
	mode_t mode;  /* of the file; of the directory */
	nlink_t nlink;
	dev_t rdev;
	mode_t entry; /* of a name that rename(2) moves; 0: it does not exist (dirents.c) */
	char name[NAME_MAX +
		  3];        /* as written; "/" for the root, "." and ".." are left to the kernel */
	char dir[REAL_MAX];  /* real path of the directory; "" for a file */
	char real[REAL_MAX]; /* real path of the file, or of directory and name; "" when a
			      * component before the last is missing */
};

static inline void place_done(const struct resolved *p) {
	if (p->fd >= 0 && !p->lent) {
		(void)close(p->fd); /* an error cannot be handled */
	}
}

#define auto_place __attribute__((cleanup(place_done))) struct resolved

/* Resolves two paths for one call as resolve_name() does; the directory of both is opened once if
 * they name it alike. */
struct two_paths {
	int from_dir, to_dir;
	const char *from, *to;
};
int resolve_names(const struct call *c, const struct two_paths *at, struct resolved *from,
		  struct resolved *to);

/* Resolves an existing file; follow: a last symlink, too.  On -ENOENT `real` is the missing
 * path, where that is known. */
int resolve_file(const struct call *c, int dirfd, const char *path, bool follow,
		 struct resolved *ret);

/* Resolves a descriptor of the caller. */
int resolve_fd(const struct call *c, int fd, struct resolved *ret);

/* Resolves the directory of the last component; a symlink of that name is not followed. */
int resolve_name(const struct call *c, int dirfd, const char *path, struct resolved *ret);

/* resolve_fast.c: the same with few system calls, where a path means the same to the guard as to
 * the caller; -EAGAIN when they are not applicable. */
int resolve_fast_name(const struct call *c, int dirfd, const char *path, struct resolved *p);
int resolve_fast_file(const struct call *c, int dirfd, const char *path, bool follow,
		      struct resolved *p);

/* Like resolve_name(), for a name that does not exist in a directory outside of procfs; -EAGAIN in
 * all other cases. */
int resolve_absent(const struct call *c, int dirfd, const char *path, struct resolved *ret);

/* Like resolve_name(), for open(2) with O_CREAT: a dangling symlink is followed to the missing
 * name.  -EEXIST when the file exists. */
int resolve_missing(const struct call *c, int dirfd, const char *path, struct resolved *ret);

#endif
