/* Should:   remove a tree that a command has filled as it liked.
 * Must not: follow a link, or recurse on a stack that the command's nesting could
 *           use up: what lies deeper than the bound is moved up first.
 * Fails:    open: what stays is in a directory of the run's own, and harmless. */
#include "linux/scratch.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* One descriptor and one buffer a level. */
#define DEPTH_MAX 32

/* Where linux_dirent64 has the length of an entry, and its name. */
#define ENTRY_LENGTH 16
#define ENTRY_NAME 19

static long entry_length(const char *entry) {
	uint16_t length;
	memcpy(&length, entry + ENTRY_LENGTH, sizeof length);
	return length;
}

struct removal {
	int top;
	unsigned moved; /* for names that are free */
};

/* A directory that lies too deep goes to the top, to be removed from there. */
static void lift(struct removal *r, int dir, const char *name) {
	char to[16] = "..corral-";
	for (int tries = 0; tries < 1000; tries++, r->moved++) {
		unsigned n = r->moved;
		for (size_t i = 14; i > 8; i--, n /= 10) {
			to[i] = (char)('0' + n % 10);
		}
		to[15] = '\0';
		if (renameat(dir, name, r->top, to) == 0 ||
		    (errno != EEXIST && errno != ENOTEMPTY)) {
			return;
		}
	}
}

static void empty(struct removal *r, int dir, int depth);

static void remove_entry(struct removal *r, int dir, const char *name, int depth) {
	if (unlinkat(dir, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) {
		return;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0) {
		return;
	}
	if (depth == DEPTH_MAX) {
		lift(r, dir, name);
		return;
	}
	auto_fd sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0) {
		sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (sub >= 0) {
		(void)fchmod(sub, 0700); /* entries of a read-only directory cannot be removed */
		empty(r, sub, depth + 1);
	}
	(void)unlinkat(dir, name, AT_REMOVEDIR); /* what is left in it keeps it */
}

static void empty(struct removal *r, int dir, int depth) {
	char space[4096];
	long n;
	while ((n = syscall(SYS_getdents64, dir, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += entry_length(space + at)) {
			const char *name = space + at + ENTRY_NAME;
			if (!streq(name, ".") && !streq(name, "..")) {
				remove_entry(r, dir, name, depth);
			}
		}
	}
}

/* ---- what a killed run left ---- */

static void sweep_one(int parent, const char *name) {
	auto_fd dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	/* Who is alive holds the lock; who is just being made is young. */
	if (dir < 0 || fstat(dir, &st) != 0 || st.st_uid != geteuid() ||
	    time(NULL) - st.st_ctime < 2 || flock(dir, LOCK_EX | LOCK_NB) != 0) {
		return;
	}
	struct removal r = {.top = dir};
	empty(&r, dir, 0);
	(void)unlinkat(parent, name, AT_REMOVEDIR); /* what could not be removed keeps it */
}

void scratch_sweep(const char *run_dir) {
	char parent_path[PATH_MAX];
	const char *name = strrchr(run_dir, '/') + 1;
	size_t dir = (size_t)(name - run_dir), common = (size_t)(strrchr(name, '-') - name) + 1;
	char space[4096];
	long n;

	if (dir >= sizeof parent_path) {
		return;
	}
	memcpy(parent_path, run_dir, dir);
	parent_path[dir] = '\0';
	auto_fd parent = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (parent >= 0 && (n = syscall(SYS_getdents64, parent, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += entry_length(space + at)) {
			const char *other = space + at + ENTRY_NAME;
			if (strncmp(other, name, common) == 0 && !streq(other, name)) {
				sweep_one(parent, other);
			}
		}
	}
}

void scratch_remove(const char *run_dir) {
	if (run_dir == NULL) {
		return;
	}
	/* What was lifted while the top was read needs another round. */
	for (int round = 0; round < 1000 && rmdir(run_dir) != 0; round++) {
		struct removal r = {.moved = 0};
		if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) {
			return;
		}
		auto_fd top = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (top < 0) {
			return;
		}
		r.top = top;
		empty(&r, top, 0);
	}
}
