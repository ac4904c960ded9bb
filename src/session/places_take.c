/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and checks the daemon's directories, and removes what sessions leave in them.
 *
 * Should:   use only directories of this user that no other user can enter.
 * Must not: follow a symlink as the last component; remove a lock file, because a second daemon
 *           could then lock another inode of the same name.
 * Fails:    closed: without a private runtime directory there is no daemon. */
#include "session/places_take.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/remove_tree.h"
#include "base/str.h"
#include "base/unix_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* For the locks of a daemon that was killed. */
#define LOCK_MS 2000
#define LOCK_STEP_MS 10

static int refuse_directory(const char *path, const struct stat *st, struct err *e) {
	(void)err_set(e, ERR_SETUP, "daemon", "%s is not a directory of this user with mode 0700",
		      path);
	if (!S_ISDIR(st->st_mode)) {
		return err_fix(e, "remove it: %s",
			       S_ISLNK(st->st_mode) ? "a symlink is not followed here"
						    : "it is not a directory");
	}
	if (st->st_uid != geteuid()) {
		return err_fix(e, "remove it: it belongs to the user %u", (unsigned)st->st_uid);
	}
	return err_fix(e, "chmod 700 %s", path);
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
		return refuse_directory(path, &st, e);
	}
	return 0;
}

static bool is_served(const char *path) {
	struct sockaddr_un address;
	socklen_t len = unix_address_set(&address, path, false);
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && len > 0 &&
	       (connect(fd, (const struct sockaddr *)&address, len) == 0 || errno == EAGAIN);
}

/* A daemon that was killed holds its locks until it is gone, which takes a moment after the signal;
 * one that runs has a socket. */
static int lock_soon(int fd, const char *admin) {
	const struct timespec pause = {.tv_nsec = LOCK_STEP_MS * 1000000L};
	int64_t until = clock_ms() + LOCK_MS;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		int sys = errno;
		if (sys != EWOULDBLOCK || clock_ms() >= until || is_served(admin)) {
			errno = sys;
			return -1;
		}
		(void)nanosleep(&pause, NULL); /* a signal only shortens it */
	}
	return 0;
}

static int take_lock(const char *dir, const char *admin, int *ret, struct err *e) {
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/daemon.lock", dir);
	auto_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	if (fd < 0) {
		(void)err_sys_at(e, "daemon", "cannot open the lock", path);
		return err_fix(e, "remove it, if no daemon is running");
	}
	if (lock_soon(fd, admin) != 0) {
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
	    private_directory(p->direct, e) != 0 || private_directory(p->pools, e) != 0 ||
	    private_directory(p->state, e) != 0) {
		return -1;
	}
	if (take_lock(p->runtime, p->admin, &p->runtime_lock, e) != 0) {
		return -1;
	}
	return take_lock(p->state, p->admin, &p->state_lock, e);
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
	_exit(0); /* the next daemon removes the rest */
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

/* A name that stays has no listener. */
static void sweep_direct(const struct places *p) {
	auto_dir d = opendir(p->direct);

	for (const struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
		(void)unlinkat(dirfd(d), entry->d_name, 0); /* fails for "." and ".." */
	}
}

void places_sweep(const struct places *p) {
	auto_dir d = opendir(p->sessions);

	sweep_direct(p);

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
