/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the run's directory and the private home's symlinks, where there are no namespaces.
 *
 * An earlier command may have put anything into the private home: no symlink in it is
 * followed, and a file that occupies the name of one of our symlinks stays.
 *
 * Should:   create the run's own directory with its private directories and files, and the
 *           symlinks to toolchains.
 * Must not: use a directory that existed before: in /tmp another user may own it.
 * Fails:    closed, except for a symlink to a toolchain. */
#include "linux/scratch.h"

#include "backend/secrets.h"
#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

int scratch_make_dirs(const char *path, struct err *e) {
	char failed[PATH_MAX];

	if (dirs_make(path, failed) != 0) {
		err_sys_at(e, "scratch", "cannot make the private home", failed);
		return err_fix(e, "use --home ephemeral, or make the directory writable");
	}
	return 0;
}

/* ---- files and symlinks ---- */

static bool has_contents(const char *path, const char *text) {
	struct buf have;
	buf_init(&have);
	bool same = fd_read_file(path, strlen(text), &have) == 0 && have.len == strlen(text) &&
		    memcmp(have.data, text, have.len) == 0;
	buf_done(&have);
	return same;
}

static int make_parents(const char *path, struct err *e) {
	char dir[PATH_MAX];
	return path_parent(path, dir) ? scratch_make_dirs(dir, e) : -1;
}

static int open_draft(const char *path) {
	return open(path, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A file in Corral's state directory, which stays there: usually it exists already. */
static int make_file(const struct mount *m, struct err *e) {
	char draft[PATH_MAX];
	if (has_contents(m->target, m->text)) {
		return 0;
	}
	int n = snprintf(draft, sizeof draft, "%s.%d", m->target, (int)getpid());
	if (n < 0 || (size_t)n >= sizeof draft) {
		errno = ENAMETOOLONG;
		return err_sys_at(e, "scratch", "cannot create", m->target);
	}
	auto_fd fd = open_draft(draft);
	if (fd < 0 && errno == ENOENT && make_parents(m->target, e) == 0) {
		fd = open_draft(draft);
	}
	if (fd < 0 || fd_write_all(fd, m->text, strlen(m->text)) != 0 ||
	    rename(draft, m->target) != 0) {
		return err_sys_at(e, "scratch", "cannot create", m->target);
	}
	return 0;
}

/* A file in the run's directory, which is new, so that no command has access to it yet. */
static int make_text(const struct mount *m, struct err *e) {
	auto_fd fd = open(m->source, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0 || fd_write_all(fd, m->text, strlen(m->text)) != 0) {
		return err_sys_at(e, "scratch", "cannot create the copy of", m->target);
	}
	return 0;
}

/* A secret, in the run's directory.  A run that is only planned has no values. */
static int make_secret(const struct kit *k, const struct mount *m, struct err *e) {
	const struct secret_bytes *secret = secrets_find(k->secrets, m->secret);
	auto_fd fd = open(m->target, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, m->mode);
	if (fd < 0 || (secret != NULL && fd_write_all(fd, secret->bytes, secret->len) != 0)) {
		return err_sys_at(e, "scratch", "cannot create the file of secret", m->secret);
	}
	return 0;
}

/* The parent directory of path, beneath the home; missing components are created.  -1: a
 * component is not a directory. */
static int parent_beneath(const char *home, const char *path, const char **ret_name) {
	int dir = open(home, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *at = path + strlen(home) + 1;
	for (const char *slash; dir >= 0 && (slash = strchr(at, '/')) != NULL; at = slash + 1) {
		char name[NAME_MAX + 1];
		size_t len = (size_t)(slash - at);
		if (len > NAME_MAX) {
			drop_fd(&dir);
			break;
		}
		memcpy(name, at, len);
		name[len] = '\0';
		(void)mkdirat(dir, name, 0755); /* openat() fails if it is missing */
		int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		drop_fd(&dir);
		dir = next;
	}
	*ret_name = at;
	return dir;
}

static void link_toolchain(const char *home, const struct mount *m) {
	const char *name;
	auto_fd dir = parent_beneath(home, m->target, &name);
	char text[PATH_MAX];
	if (dir < 0 || symlinkat(m->text, dir, name) == 0 || errno != EEXIST) {
		return;
	}
	ssize_t n = readlinkat(dir, name, text, sizeof text - 1);
	if (n < 0) {
		return; /* not a symlink: an earlier command's file stays */
	}
	text[n] = '\0';
	if (!streq(text, m->text) && unlinkat(dir, name, 0) == 0) {
		(void)!symlinkat(m->text, dir, name); /* without it the toolchain is not found */
	}
}

/* Directories of killed runs are removed in one of sixteen runs: listing /tmp costs more
 * than the rest of this layer. */
static bool time_to_sweep(const char *run_dir) {
	return run_dir[strlen(run_dir) - 1] == '0'; /* the last character is a random hex digit */
}

static bool home_is_ephemeral(const struct plan *plan) {
	return path_within(plan->home_at, plan->run_dir);
}

static void link_toolchains(const struct plan *plan) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_LINK && path_within(m->target, plan->home_at)) {
			link_toolchain(plan->home_at, m);
		}
	}
}

/* Files that stay after the run. */
static int make_state(const struct plan *plan, struct err *e) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_FILE && m->secret == NULL && make_file(m, e) != 0) {
			return -1;
		}
	}
	if (!home_is_ephemeral(plan)) {
		link_toolchains(plan);
	}
	return 0;
}

/* In the parent, where the error can carry a remedy; the child creates the directory. */
static int check_parent(const struct plan *plan, struct err *e) {
	char dir[PATH_MAX];
	if (path_parent(plan->run_dir, dir) && access(dir, W_OK) == 0) {
		return 0;
	}
	err_sys_at(e, "scratch", "cannot create the run's directory", plan->run_dir);
	return err_fix(e, "set TMPDIR to a directory that you can write to");
}

static int scratch_prepare(struct kit *k, struct err *e) {
	const struct plan *plan = k->plan;
	if (plan->run_dir == NULL) {
		return 0;
	}
	if (time_to_sweep(plan->run_dir)) {
		scratch_sweep(plan->run_dir);
	}
	return check_parent(plan, e) == 0 ? make_state(plan, e) : -1;
}

static int lock_run_dir(struct kit *k, struct err *e) {
	const struct plan *plan = k->plan;
	if (mkdir(plan->run_dir, 0700) != 0) {
		return err_sys_at(e, "scratch", "cannot create the run's directory", plan->run_dir);
	}
	/* Held by the inner warden and the guard as long as they live: see scratch_sweep(). */
	k->lock_fd = open(plan->run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k->lock_fd < 0 || flock(k->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		return err_sys_at(e, "scratch", "cannot lock the run's directory", plan->run_dir);
	}
	return 0;
}

/* In the child, below the outer warden, so that two processes can remove it, whichever
 * dies (linux/warden.h). */
static int scratch_enter(struct kit *k, struct err *e) {
	const struct plan *plan = k->plan;
	if (plan->run_dir == NULL) {
		return 0;
	}
	if (lock_run_dir(k, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool beneath = m->kind == MOUNT_PRIVATE && !streq(m->target, plan->run_dir);
		if (beneath && mkdir(m->target, 0700) != 0) {
			return err_sys_at(e, "scratch", "cannot create", m->target);
		}
		if (m->kind == MOUNT_TEXT && make_text(m, e) != 0) {
			return -1;
		}
		if (m->secret != NULL && make_secret(k, m, e) != 0) {
			return -1;
		}
	}
	if (home_is_ephemeral(plan)) {
		link_toolchains(plan);
	}
	return 0;
}

static void scratch_done(struct kit *k) {
	drop_fd(&k->lock_fd);
}

const struct layer layer_scratch = {.name = "scratch",
				    .prepare = scratch_prepare,
				    .enter = scratch_enter,
				    .done = scratch_done};
