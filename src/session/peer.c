/* SPDX-License-Identifier: Apache-2.0 */
/* SO_PEERCRED, SO_PEERPIDFD, and the parents of a process.
 *
 * Should:   hold the process by a pidfd, so that its number cannot be another process's.
 * Must not: trust a number that the peer sent.
 * Fails:    closed: a process that cannot be looked up is neither below nor outside. */
#include "session/peer.h"

#include "base/auto.h"
#include "base/parent_pid.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Debian 12's headers stop at Linux 6.1. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A chain of parents in a sandbox can be long; a longer one is refused. */
#define DEPTH_MAX 256

int peer_of(int fd, struct peer *ret, struct err *e) {
	struct ucred cred;
	socklen_t len = sizeof cred;
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0) {
		return err_sys(e, "peer", "cannot read the credentials of a client");
	}
	len = sizeof pidfd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) != 0) {
		/* Before Linux 6.5: the number can have been reused since connect(2).  After it,
		 * the process is gone. */
		pidfd = errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, cred.pid, 0) : -1;
	}
	*ret = (struct peer){.pid = cred.pid, .uid = cred.uid, .pidfd = pidfd};
	return 0;
}

void peer_done(struct peer *p) {
	drop_fd(&p->pidfd);
}

static bool is_running(int pidfd) {
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return pidfd >= 0 && poll(&ended, 1, 0) == 0;
}

static bool is_alive(const struct peer *p) {
	return is_running(p->pidfd);
}

enum peer_relation peer_relation(const struct peer *p, pid_t ancestor) {
	pid_t pid = p->pid;
	pid_t first = pid > 1 && pid != ancestor ? parent_pid_of(p->pidfd) : -1;

	pid = first >= 0 ? first : pid; /* a pidfd saves one look-up */
	for (int i = 0; i < DEPTH_MAX && pid > 1 && pid != ancestor; i++) {
		pid = parent_pid(pid);
	}
	/* If it is alive, p->pid was its number all the time. */
	if (!is_alive(p) || (pid != ancestor && (pid < 0 || pid > 1))) {
		return PEER_UNKNOWN;
	}
	return pid == ancestor ? PEER_BELOW : PEER_OUTSIDE;
}

/* When the parent of a process ends, one of its ancestors, or the first process, takes its place:
 * so a process that is outside stays outside, and its children are.  The number of a parent that is
 * alive before and after a look-up is that of one process. */
bool peer_is_outside(const struct peer *p, pid_t ancestor, struct peer_known *known) {
	pid_t parent = parent_pid_of(p->pidfd);

	if (parent > 1 && parent == known->pid && is_running(known->pidfd) &&
	    parent_pid_of(p->pidfd) == parent) {
		return is_alive(p);
	}
	if (peer_relation(p, ancestor) != PEER_OUTSIDE) {
		return false;
	}
	if (known->pid != 0) {
		drop_fd(&known->pidfd);
	}
	*known = (struct peer_known){.pid = 0, .pidfd = -1};
	int pidfd = parent > 1 ? (int)syscall(SYS_pidfd_open, parent, 0) : -1;
	if (pidfd >= 0 && parent_pid_of(p->pidfd) == parent) {
		*known = (struct peer_known){.pid = parent, .pidfd = pidfd};
	} else {
		drop_fd(&pidfd);
	}
	return true;
}
