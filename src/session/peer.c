/* SPDX-License-Identifier: Apache-2.0 */
/* SO_PEERCRED, SO_PEERPIDFD, and the parents of a process in /proc.
 *
 * Should:   hold the process by a pidfd, so that its number cannot be another process's.
 * Must not: trust a number that the peer sent.
 * Fails:    closed: a process that cannot be looked up descends from nothing. */
#include "session/peer.h"

#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
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
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) != 0 && cred.pid > 0) {
		/* Before Linux 6.5: the number can have been reused since connect(2). */
		pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
	}
	*ret = (struct peer){.pid = cred.pid, .uid = cred.uid, .pidfd = pidfd};
	return 0;
}

void peer_done(struct peer *p) {
	drop_fd(&p->pidfd);
}

/* 0: the process is gone or not visible. */
static pid_t parent_of(pid_t pid) {
	char path[48], text[512];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0) {
		return 0;
	}
	text[n] = '\0';
	/* "PID (COMM) S PPID …": the command may contain any character. */
	const char *end = strrchr(text, ')');
	if (end == NULL || strnlen(end, 5) < 5) {
		return 0;
	}
	long parent = strtol(end + 4, NULL, 10); /* after ") S " */
	return parent > 0 && parent <= INT_MAX ? (pid_t)parent : 0;
}

static bool is_alive(const struct peer *p) {
	struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
	return p->pidfd >= 0 && poll(&ended, 1, 0) == 0;
}

bool peer_descends_from(const struct peer *p, pid_t ancestor) {
	pid_t pid = p->pid;

	for (int i = 0; i < DEPTH_MAX && pid > 1; i++) {
		if (pid == ancestor) {
			return is_alive(p); /* so p->pid was its number all the time */
		}
		pid = parent_of(pid);
	}
	return false;
}
