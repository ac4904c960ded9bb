/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts about a Mac that a plan depends on.
 *
 * Should:   give canonical paths: /var is /private/var, and Seatbelt compares the second.
 * Must not: follow a final symlink where host.h says so.
 * Fails:    closed: without a home or a current directory there is no plan.
 *
 * It has not been run. */
#include "macos/probe.h"

#include "base/path.h"
#include "base/read_link.h"
#include "base/str.h"
#include "plan/look_kind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define WHERE "probe"

extern char **environ;

/* ---- files ---- */

static struct look fs_look(void *ctx, const char *path) {
	struct look seen = {.kind = LOOK_NOTHING};
	struct stat st;
	(void)ctx;
	if (lstat(path, &st) != 0) {
		return seen;
	}
	seen.kind = look_kind(st.st_mode);
	seen.dev = (uint64_t)st.st_dev;
	seen.ino = st.st_ino;
	seen.uid = st.st_uid;
	seen.mode = st.st_mode & 07777U;
	seen.names = st.st_nlink;
	seen.reachable = access(path, R_OK) == 0 || access(path, W_OK) == 0;
	return seen;
}

static bool fs_readlink(void *ctx, const char *path, char *out, size_t cap) {
	(void)ctx;
	return read_link(path, out, cap);
}

static bool fs_resolve(void *ctx, const char *path, char *out, size_t cap) {
	char full[PATH_MAX];
	(void)ctx;
	if (realpath(path, full) == NULL || strlen(full) >= cap) {
		return false;
	}
	memcpy(out, full, strlen(full) + 1);
	return true;
}

static bool fs_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		    void *arg) {
	DIR *dir = opendir(path);
	(void)ctx;
	if (dir == NULL) {
		return false;
	}
	for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
		if (!streq(d->d_name, ".") && !streq(d->d_name, "..")) {
			each(arg, d->d_name);
		}
	}
	(void)closedir(dir); /* it was only read */
	return true;
}

/* APFS ignores case unless it was made otherwise; an unknown answer ignores it too, so that a
 * pattern matches more. */
static bool fs_folds(void *ctx, const char *path) {
	(void)ctx;
	return pathconf(path, _PC_CASE_SENSITIVE) != 1;
}

static size_t read_some(const char *path, char *out, size_t cap) {
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	size_t len = 0;
	if (fd < 0) {
		return 0;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		for (ssize_t n; len < cap && (n = read(fd, out + len, cap - len)) > 0;) {
			len += (size_t)n;
		}
	}
	(void)close(fd); /* it was only read */
	return len;
}

static bool fs_read(void *ctx, const char *path, size_t limit, struct buf *out) {
	struct stat st;
	(void)ctx;
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > limit) {
		return false;
	}
	char *text = calloc((size_t)st.st_size + 1, 1);
	if (text == NULL) {
		return false;
	}
	size_t len = read_some(path, text, (size_t)st.st_size);
	buf_add(out, text, len);
	free(text);
	return !buf_failed(out);
}

static size_t fs_head(void *ctx, const char *path, char *out, size_t cap) {
	(void)ctx;
	return read_some(path, out, cap);
}

/* ---- the caller ---- */

static const char *canonical(struct arena *a, const char *path) {
	char full[PATH_MAX];
	return path == NULL || realpath(path, full) == NULL ? NULL : arena_strdup(a, full);
}

static const char *new_run_dir(struct arena *a) {
	uint64_t chance;
	arc4random_buf(&chance, sizeof chance);
	return arena_printf(a, "/private/tmp/corral-%u-%016llx", (unsigned)getuid(),
			    (unsigned long long)chance);
}

int macos_probe(struct arena *a, struct host *h, struct err *e) {
	const struct passwd *pw = getpwuid(getuid());
	char cwd[PATH_MAX];
	*h = (struct host){
		.uid = getuid(),
		.gid = getgid(),
		.privileged = geteuid() == 0,
		.user = pw == NULL ? NULL : arena_strdup(a, pw->pw_name),
		.home = canonical(a, getenv("HOME") != NULL ? getenv("HOME")
							    : (pw == NULL ? NULL : pw->pw_dir)),
		.cwd = getcwd(cwd, sizeof cwd) == NULL ? NULL : canonical(a, cwd),
		.environ = (const char *const *)environ,
		.run_dir = new_run_dir(a),
		.fs = {.look = fs_look,
		       .readlink = fs_readlink,
		       .resolve = fs_resolve,
		       .list = fs_list,
		       .folds = fs_folds,
		       .read = fs_read,
		       .head = fs_head},
	};
	host_as_macos(h);
	if (h->home == NULL || h->cwd == NULL || h->run_dir == NULL) {
		(void)err_set(e, ERR_SETUP, WHERE, "HOME or the current directory is not known");
		return err_fix(e, "set HOME to an existing directory, and start in one");
	}
	h->state_dir = path_join(a, h->home, ".local/state/corral");
	return h->state_dir == NULL ? err_memory(e, WHERE) : 0;
}
