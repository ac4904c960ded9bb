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

static bool is_alive(const struct peer *p) {
	struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
	return p->pidfd >= 0 && poll(&ended, 1, 0) == 0;
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
