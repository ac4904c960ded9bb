/* Opening, looking at and removing what a command has filled as it liked.
 *
 * Should:   reach every entry beneath a root by descriptor, whatever its mode.
 * Must not: follow a symlink, leave a file system while removing, or recurse on a
 *           stack that the command's nesting could use up.
 * Fails:    with errno; a tree that cannot be emptied stays. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define OPAQUE "user.overlay.opaque"
#define TRUE_MODE "user.corral.mode"

static int open_how(int root, const char *path, int flags, uint64_t resolve) {
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};
	return (int)syscall(SYS_openat2, root, *path == '\0' ? "." : path, &how, sizeof how);
}

int cow_open_beneath(int root, const char *path, int flags) {
	return open_how(root, path, flags, 0);
}

int cow_chmod(int fd, mode_t mode) {
	char name[40];
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return chmod(name, mode);
}

/* A directory that its owner cannot enter is opened up and its own mode written
 * beside it; a file gets its mode back at once. */
static int open_closed(const struct cow *c, const char *path, int flags) {
	auto_fd at = open_how(c->upper, path, O_PATH, 0);
	struct stat st;
	char mode[16];
	if (at < 0 || fstat(at, &st) != 0 || cow_chmod(at, (st.st_mode & 0777) | 0700) != 0) {
		return -1;
	}
	int fd = open_how(c->upper, path, flags, 0);
	if (!S_ISDIR(st.st_mode)) {
		return cow_chmod(at, st.st_mode & 0777) == 0 ? fd : -1;
	}
	int len = snprintf(mode, sizeof mode, "%o", (unsigned)st.st_mode & 0777);
	if (fd >= 0 && fsetxattr(fd, TRUE_MODE, mode, (size_t)len, XATTR_CREATE) != 0 &&
	    errno != EEXIST) {
		drop_fd(&fd);
	}
	return fd;
}

/* A directory that can be listed but not searched hides what its names stand for. */
static bool is_shut(int fd, int flags) {
	struct stat st;

	if (fd < 0) {
		return errno == EACCES;
	}
	return (flags & O_DIRECTORY) != 0 && fstatat(fd, ".", &st, 0) != 0 && errno == EACCES;
}

int cow_open_upper(const struct cow *c, const char *path, int flags) {
	int fd = open_how(c->upper, path, flags, 0);

	if (!is_shut(fd, flags)) {
		return fd;
	}
	drop_fd(&fd);
	return open_closed(c, path, flags);
}

bool cow_is_opaque(int dir) {
	char value;
	return fgetxattr(dir, OPAQUE, &value, 1) == 1 && value == 'y';
}

mode_t cow_true_mode(int dir, mode_t mode) {
	char value[16];
	ssize_t len = fgetxattr(dir, TRUE_MODE, value, sizeof value - 1);
	if (len <= 0) {
		return mode;
	}
	value[len] = '\0';
	return (mode & S_IFMT) | ((mode_t)strtoul(value, NULL, 8) & 0777);
}

bool cow_is_whiteout(const struct stat *st) {
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

/* ---- removing ---- */

/* Each directory with something in it is moved up beside its parent before that is
 * removed, so two levels are all that is ever open. */
struct removal {
	int top;
	uint64_t moved; /* for names that are free */
};

static int open_to_empty(int dir, const char *name) {
	int flags = O_RDONLY | O_DIRECTORY;
	int fd = open_how(dir, name, flags, RESOLVE_NO_XDEV);
	if (fd < 0 && errno == EACCES) {
		auto_fd at = open_how(dir, name, O_PATH | O_DIRECTORY, RESOLVE_NO_XDEV);
		if (at >= 0 && cow_chmod(at, 0700) == 0) {
			fd = open_how(dir, name, flags, RESOLVE_NO_XDEV);
		}
	}
	/* Entries of a read-only directory cannot be removed. */
	if (fd >= 0 && fchmod(fd, 0700) != 0) {
		drop_fd(&fd);
	}
	return fd;
}

static int lift(struct removal *r, int dir, const char *name) {
	char to[32];
	auto_fd sub = open_to_empty(dir, name); /* moving one needs the right to write into it */
	if (sub < 0) {
		return errno == ENOENT ? 0 : -1;
	}
	for (;;) {
		(void)snprintf(to, sizeof to, ".corral-%llu", (unsigned long long)r->moved++);
		if (renameat(dir, name, r->top, to) == 0) {
			return 0;
		}
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) {
			return -1;
		}
	}
}

static int remove_entry(struct removal *r, int dir, const char *name, bool at_top);

/* Calls remove_entry for everything in a directory. */
static int empty(struct removal *r, int fd, bool at_top) {
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	auto_dir list = own < 0 ? NULL : fdopendir(own);
	int rc = 0;
	if (list == NULL) {
		drop_fd(&own);
		return -1;
	}
	rewinddir(list);
	for (struct dirent *d; (d = readdir(list)) != NULL;) {
		if (!streq(d->d_name, ".") && !streq(d->d_name, "..") &&
		    remove_entry(r, fd, d->d_name, at_top) != 0) {
			rc = -1; /* the others go all the same */
		}
	}
	return rc;
}

static int remove_entry(struct removal *r, int dir, const char *name, bool at_top) {
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) {
		return 0;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0) {
		return 0;
	}
	if (!at_top) {
		return lift(r, dir, name);
	}
	auto_fd sub = open_to_empty(dir, name);
	if (sub < 0) {
		return errno == ENOENT ? 0 : -1; /* two of us may be at it */
	}
	if (empty(r, sub, false) != 0) {
		return -1;
	}
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}

int cow_remove_tree(int parent, const char *name) {
	auto_fd top = open_to_empty(parent, name);
	struct removal r = {.top = top};
	uint64_t moved;
	if (top < 0) {
		return errno == ENOENT ? 0 : -1;
	}
	/* What was lifted while the top was read may need another round. */
	do {
		moved = r.moved;
		if (empty(&r, top, true) != 0) {
			return -1;
		}
	} while (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno == ENOTEMPTY &&
		 r.moved != moved);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}
