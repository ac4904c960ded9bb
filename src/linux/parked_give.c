/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a sandbox of the pool from its keeper to a caller; parked.h has the theory.
 *
 * Should:   make the caller the supervisor: status channel, pidfd, shared memory, control group.
 * Must not: give a sandbox to two callers (J2), or to a process that is confined otherwise than
 *           the keeper (J3).
 * Fails:    closed: a sandbox whose way is cut off ends, because its socket is closed. */
#include "linux/parked.h"

#include "base/auto.h"
#include "base/fdpass.h"
#include "linux/cgroup.h"
#include "linux/follow.h"
#include "backend/journal.h"
#include "linux/warm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A keeper that builds a sandbox meanwhile answers within this time; then the run is cold. */
#define ANSWER_MS 500

enum { GIFT_CHANNEL, GIFT_PIDFD, GIFT_REQUESTS, GIFT_MEMORY, GIFT_FDS };

struct gift {
	int32_t pid; /* of the first process; 0: there is no sandbox */
	uint32_t journal_size;
	struct cgroup_image cgroup;
};

/* Both sides: the other process has the same ids, and the kernel lets us inspect it: its
 * capabilities are not more, and its Landlock domain is ours or beneath ours.  As both sides check
 * it, the domain is the same. */
bool parked_peer_is_fit(int socket) {
	struct ucred peer = {.pid = 0};
	socklen_t len = sizeof peer;
	struct stat theirs, ours;
	char path[64];

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.pid <= 0 ||
	    peer.uid != geteuid() || peer.gid != getegid()) {
		return false;
	}
	(void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)peer.pid);
	return stat(path, &theirs) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 &&
	       theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

int parked_give(int socket, struct child *c, int *requests) {
	struct gift gift = {.journal_size = sizeof(struct journal)};
	int fds[GIFT_FDS] = {-1, -1, -1, -1};

	if (c != NULL) {
		gift.pid = c->pid;
		cgroup_describe(c->cgroup, &gift.cgroup);
		fds[GIFT_CHANNEL] = c->channel;
		fds[GIFT_PIDFD] = c->pidfd;
		fds[GIFT_REQUESTS] = *requests;
		fds[GIFT_MEMORY] = c->memory;
	}
	if (fdpass_send(socket, (struct iovec){&gift, sizeof gift}, fds, c == NULL ? 0 : GIFT_FDS,
			MSG_DONTWAIT) != 0 ||
	    c == NULL) {
		return -1;
	}
	/* J2: our ends are closed, and the caller's death is the end of the sandbox (J5). */
	drop_fd(&c->channel);
	drop_fd(requests);
	cgroup_forget(take_ptr(c->cgroup));
	spawn_free_records(c);
	return 0;
}

static int receive(int socket, struct gift *ret, int fds[FDPASS_MAX]) {
	struct pollfd slot = {.fd = socket, .events = POLLIN};
	size_t n = 0;

	if (poll(&slot, 1, ANSWER_MS) <= 0 ||
	    fdpass_receive(socket, (struct iovec){ret, sizeof *ret}, fds, &n) != 0) {
		return -1;
	}
	if (n == GIFT_FDS && ret->pid > 0 && ret->journal_size == sizeof(struct journal)) {
		return 0;
	}
	while (n > 0) {
		drop_fd(&fds[--n]);
	}
	return -1;
}

/* The parts of a child that its supervisor makes before the clone. */
static int adopt(const struct plan *plan, const struct gift *gift, struct child *c) {
	struct err unused = {0};

	if (parked_memory_map(c->memory, &c->run_state, &c->journal) != 0) {
		return -1;
	}
	if (!spawn_keeps_journal(plan)) {
		journal_free(take_ptr(c->journal));
	}
	c->cgroup = cgroup_adopt(&gift->cgroup);
	if (plan->use_cgroup != (c->cgroup != NULL)) {
		return -1;
	}
	return follow_new(plan, &c->follow, &unused);
}

/* -1: there is none, and nothing has happened. */
static int take(int socket, const struct plan *plan, struct child *ret, int *ret_requests) {
	struct gift gift = {.pid = 0};
	int fds[FDPASS_MAX];

	if (!parked_peer_is_fit(socket) || receive(socket, &gift, fds) != 0) {
		return -1;
	}
	struct child c = {.pidfd = fds[GIFT_PIDFD],
			  .pid = gift.pid,
			  .channel = fds[GIFT_CHANNEL],
			  .ask = -1,
			  .adopted = true,
			  .memory = fds[GIFT_MEMORY],
			  .scope = SCOPE_NONE,
			  .gate = GATE_PROCESS_NONE,
			  .samplers = SAMPLERS_NONE};
	auto_fd requests = fds[GIFT_REQUESTS];

	if (adopt(plan, &gift, &c) != 0) {
		spawn_finish(&c, NULL);
		return -1;
	}
	*ret = c;
	*ret_requests = take_fd(&requests);
	return 0;
}

/* -1: the sandbox has ended. */
static int start(int requests, const struct spawn_request *r) {
	const struct warm_command c = {.argv = (const char *const *)r->argv,
				       .env = (const char *const *)r->plan->env};
	struct warm_message m = {.bytes = NULL};
	auto_fd self = (int)syscall(SYS_pidfd_open, getpid(), 0U);
	struct err unused = {0};

	if (self < 0 || warm_message_new(&c, &m, &unused) != 0) {
		return -1;
	}
	int rc = warm_message_send(&m, requests, r->fds, 3, self);
	warm_message_done(&m);
	return rc;
}

int parked_run(int socket, const struct spawn_request *r, struct child_room *room,
	       struct child **ret) {
	struct child *c = (struct child *)(void *)room->bytes;
	int requests = -1;

	if (take(socket, r->plan, c, &requests) != 0) {
		return -1;
	}
	auto_fd own = requests;
	if (start(own, r) != 0) {
		spawn_finish(c, NULL);
		return -1;
	}
	c->backend = &backend_linux;
	*ret = c;
	return 0;
}
