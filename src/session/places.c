/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, creates and checks the daemon's directories.
 *
 * Should:   use only directories of this user that no other user can enter.
 * Must not: follow a symlink as the last component; remove a lock file, because a second daemon
 *           could then lock another inode of the same name.
 * Fails:    closed: without a private runtime directory there is no daemon. */
#include "session/places.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/remove_tree.h"
#include "base/runtime_dir.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static int find_runtime(char *ret, size_t cap, struct err *e) {
	if (runtime_dir_find(getenv("XDG_RUNTIME_DIR"), ret, cap) == 0) {
		return 0;
	}
	(void)err_set(e, ERR_SETUP, "daemon",
		      "XDG_RUNTIME_DIR is not set, and /run/user/%u does not exist",
		      (unsigned)geteuid());
	return err_fix(e, "log in with a session, or: export XDG_RUNTIME_DIR=DIR, a "
			  "directory of mode 0700 that is yours");
}

static int find_state(char *ret, size_t cap, struct err *e) {
	const char *dir = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (dir != NULL && dir[0] == '/') {
		(void)snprintf(ret, cap, "%s/corral/daemon", dir);
	} else if (home != NULL && home[0] == '/') {
		(void)snprintf(ret, cap, "%s/.local/state/corral/daemon", home);
	} else {
		(void)err_set(e, ERR_SETUP, "daemon", "neither XDG_STATE_HOME nor HOME is set");
		return err_fix(e, "export HOME");
	}
	return 0;
}

/* Leaves room for the longest name of a socket: sun_path has 108 bytes. */
#define RUNTIME_MAX (sizeof((struct sockaddr_un){0}.sun_path) - sizeof "/s/sess_.sock" - 26)

int places_find(struct places *p, struct err *e) {
	char runtime[PATH_MAX - 64], state[PATH_MAX - 64];

	*p = (struct places){.runtime_lock = -1, .state_lock = -1};
	if (find_runtime(runtime, sizeof runtime, e) != 0 ||
	    find_state(state, sizeof state, e) != 0) {
		return -1;
	}
	if (strlen(runtime) > RUNTIME_MAX) {
		(void)err_set(e, ERR_SETUP, "daemon",
			      "%s is too long: the name of a socket has at most 107 bytes",
			      runtime);
		return err_fix(e, "set XDG_RUNTIME_DIR to a shorter path");
	}
	(void)snprintf(p->runtime, sizeof p->runtime, "%s", runtime);
	(void)snprintf(p->sessions, sizeof p->sessions, "%s/s", runtime);
	(void)snprintf(p->pools, sizeof p->pools, "%s/p", runtime);
	(void)snprintf(p->admin, sizeof p->admin, "%s/admin.sock", runtime);
	(void)snprintf(p->state, sizeof p->state, "%s", state);
	(void)snprintf(p->database, sizeof p->database, "%s/sessions.db", state);
	return 0;
}

static int private_directory(const char *path, struct err *e) {
	char failed[PATH_MAX];
	struct stat st;

	if (dirs_make(path, failed) != 0) {
		return err_sys_at(e, "daemon", "cannot create a directory", failed);
	}
	if (lstat(path, &st) != 0) {
		return err_sys_at(e, "daemon", "cannot read a directory", path);
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		(void)err_set(e, ERR_SETUP, "daemon",
			      "%s is not a directory of this user with mode 0700", path);
		return err_fix(e, "chmod 700 %s, if it is yours", path);
	}
	return 0;
}

static int take_lock(const char *dir, int *ret, struct err *e) {
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/daemon.lock", dir);
	auto_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	if (fd < 0) {
		return err_sys_at(e, "daemon", "cannot open the lock", path);
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK) {
			return err_sys_at(e, "daemon", "cannot lock", path);
		}
		(void)err_set(e, ERR_REFUSED, "daemon", "another daemon is running: it holds %s",
			      path);
		return err_fix(e, "use it (corral daemon status), or stop it (corral daemon stop)");
	}
	*ret = take_fd(&fd);
	return 0;
}

int places_take(struct places *p, struct err *e) {
	if (private_directory(p->runtime, e) != 0 || private_directory(p->sessions, e) != 0 ||
	    private_directory(p->pools, e) != 0 || private_directory(p->state, e) != 0) {
		return -1;
	}
	if (take_lock(p->runtime, &p->runtime_lock, e) != 0) {
		return -1;
	}
	return take_lock(p->state, &p->state_lock, e);
}

int places_session_socket(const struct places *p, const char *id, char ret[PATH_MAX]) {
	return snprintf(ret, PATH_MAX, "%s/%s.sock", p->sessions, id) < PATH_MAX ? 0 : -1;
}

/* The sandbox may have created any tree in it, whose removal could take long (H7): the next daemon
 * removes that. */
void places_remove_bridge(const struct places *p, const char *id) {
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof path, "%s/%s.d/bridge.sock", p->sessions, id);
	(void)unlink(path); /* it may be gone already */
	*strrchr(path, '/') = '\0';
	(void)rmdir(path); /* what else is in it the next daemon removes */
}

/* A process of the sandbox that is about to die may create a file behind the removal. */
#define REMOVE_TRIES 100
#define REMOVE_PAUSE_MS 20

static _Noreturn void remove_copy(int dir, const char *name) {
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_MS * 1000000L};

	for (int i = 0; i < REMOVE_TRIES && remove_tree(dir, name) != 0; i++) {
		(void)nanosleep(&pause, NULL); /* a signal only shortens it */
	}
	_exit(0); /* what is left the next daemon removes */
}

void places_remove_copy(const struct places *p, const char *id) {
	char name[64];
	struct stat st;
	auto_fd dir = open(p->sessions, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)snprintf(name, sizeof name, "%s.c", id);
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		fd_close_all_but(&dir, 1); /* the locks are the daemon's */
		if (fork() == 0) {
			remove_copy(dir, name);
		}
		_exit(0);
	}
	if (pid > 0) {
		(void)waitpid(pid, NULL, 0); /* it exits at once */
	}
}

void places_sweep(const struct places *p) {
	auto_dir d = opendir(p->sessions);

	for (const struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
		if (str_starts(entry->d_name, "sess_")) {
			/* A socket that stays has no listener; else the directory of a bridge
			 * or of a copy. */
			if (unlinkat(dirfd(d), entry->d_name, 0) != 0) {
				(void)remove_tree(dirfd(d), entry->d_name);
			}
		}
	}
}

void places_release(struct places *p) {
	drop_fd(&p->state_lock);
	drop_fd(&p->runtime_lock);
}
