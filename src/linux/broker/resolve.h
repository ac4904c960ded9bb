/* From a path in the caller's words to a descriptor and a real path. */
#ifndef CORRAL_LINUX_BROKER_RESOLVE_H
#define CORRAL_LINUX_BROKER_RESOLVE_H

#include "linux/broker/call.h"

#include <sys/stat.h>

#define REAL_MAX (PATH_MAX + NAME_MAX + 2)

/* A file, or a name in a directory. */
struct resolved {
	int fd;        /* O_PATH: the file, or the directory that holds the name */
	bool has_name; /* it is a name, which need not exist */
	bool slash;    /* the caller wrote a slash behind the last name */
	bool by_proc;  /* the path led through procfs: its words mean another file to us */
	mode_t mode;   /* of the file; of the directory */
	nlink_t nlink;
	dev_t rdev;
	char name[NAME_MAX +
		  3];        /* as written; "/" for the root, "." and ".." are left to the kernel */
	char dir[REAL_MAX];  /* real path of the directory; "" for a file */
	char real[REAL_MAX]; /* real path of the file, or of directory and name; "" when the
			      * path ended before its last name */
};

static inline void place_done(const struct resolved *p) {
	if (p->fd >= 0) {
		(void)close(p->fd); /* nothing can be done about it */
	}
}

#define auto_place __attribute__((cleanup(place_done))) struct resolved

/* An existing file.  A last symlink is followed or is the file.  On -ENOENT `real`
 * says what is missing, where that is known. */
int resolve_file(const struct call *c, int dirfd, const char *path, bool follow,
		 struct resolved *ret);

/* What a descriptor of the caller stands for. */
int resolve_fd(const struct call *c, int fd, struct resolved *ret);

/* A directory and a name in it; a symlink of that name is not followed. */
int resolve_name(const struct call *c, int dirfd, const char *path, struct resolved *ret);

/* resolve_fast.c: the same in few system calls; -EAGAIN when it has to be found otherwise. */
int resolve_fast_name(const struct call *c, int dirfd, const char *path, struct resolved *p);

/* As resolve_name(), for open(2) with O_CREAT: symlinks that lead to nothing are
 * followed to the name that is missing.  -EEXIST when it is not missing. */
int resolve_missing(const struct call *c, int dirfd, const char *path, struct resolved *ret);

#endif
