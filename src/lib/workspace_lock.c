/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a workspace (key `lock`): flock(2) on a file of Corral's state, named after the
 * directory's device and inode, so that each name of a directory is the same lock.
 *
 * The file stays when the lock is free: a removed name would let two processes lock two files.  The
 * kernel releases the lock when its holder ends, by any cause; the processes of the sandbox have no
 * copy of the descriptor after their set-up.
 *
 * Should:   name the holder to one that is refused.
 * Must not: write anything into the workspace.
 * Fails:    closed: without the lock the run does not start. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/rfc3339.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 20000000L
#define HOLDER_MAX 160

static int open_file(const struct prepared *p, int *ret, struct err *e) {
	char dir[PATH_MAX], path[PATH_MAX + 64], failed[PATH_MAX];
	struct stat st;

	if (p->host.state_dir == NULL || p->host.state_closed) {
		(void)err_set(e, ERR_SETUP, "lock", "Corral's state directory cannot be written");
		return err_fix(e, "set HOME or XDG_STATE_HOME to a directory that is yours");
	}
	if (stat(p->plan.workspace, &st) != 0) {
		return err_sys_at(e, "lock", "cannot read the workspace", p->plan.workspace);
	}
	(void)snprintf(dir, sizeof dir, "%s/locks", p->host.state_dir);
	if (dirs_make(dir, failed) != 0) {
		return err_sys_at(e, "lock", "cannot create", failed);
	}
	(void)snprintf(path, sizeof path, "%s/%llx-%llx", dir, (unsigned long long)st.st_dev,
		       (unsigned long long)st.st_ino);
	*ret = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret >= 0 ? 0 : err_sys_at(e, "lock", "cannot open", path);
}

/* A variable that a session has. */
static const char *session_of(const struct plan *plan) {
	for (size_t i = 0; i < plan->nenv; i++) {
		const char *at = strstr(plan->env[i], "_SESSION_ID=sess_");
		if (at != NULL) {
			return strchr(at, '=') + 1;
		}
	}
	return NULL;
}

/* For one that is refused; if it fails, the message names no holder. */
static void write_holder(int fd, const struct prepared *p) {
	const char *session = session_of(&p->plan);
	char text[HOLDER_MAX], since[32];
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now); /* fails only for an unknown clock */
	rfc3339_text((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, since);
	int n = snprintf(text, sizeof text, "%s %s (pid %d, since %s)",
			 session == NULL ? "run" : "session",
			 session == NULL ? p->host.run_id : session, (int)getpid(), since);
	if (ftruncate(fd, 0) == 0 && n > 0) {
		(void)!pwrite(fd, text, (size_t)n, 0);
	}
}

static int refuse(int fd, const struct prepared *p, struct err *e) {
	char holder[HOLDER_MAX] = "";
	ssize_t n = pread(fd, holder, sizeof holder - 1, 0);

	holder[n < 0 ? 0 : n] = '\0';
	(void)err_set(e, ERR_REFUSED, "lock", "%s is locked by %s", p->plan.workspace,
		      holder[0] == '\0' ? "another run" : holder);
	return err_fix(e,
		       "wait for it: --lock-wait 10m; or end it: corral session stop ID, kill PID");
}

int workspace_lock_take(const struct prepared *p, int *ret, struct err *e) {
	const struct timespec step = {.tv_nsec = STEP_NS};
	int64_t began = clock_ms();

	*ret = -1;
	if (policy_num(&p->policy, KEY_LOCK) != LOCK_WORKSPACE) {
		return 0;
	}
	int64_t wait = policy_num(&p->policy, KEY_LOCK_WAIT);
	int opened = -1;
	if (open_file(p, &opened, e) != 0) {
		return -1;
	}
	auto_fd fd = opened;
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			return err_sys_at(e, "lock", "cannot lock", p->plan.workspace);
		}
		if (wait != LIMIT_NONE && clock_ms() - began >= wait) {
			return refuse(fd, p, e);
		}
		(void)nanosleep(&step, NULL); /* a signal ends it early */
	}
	write_holder(fd, p);
	*ret = take_fd(&fd);
	return 0;
}
