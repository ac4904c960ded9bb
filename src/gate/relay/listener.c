/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket in the loop, which pauses when the process is out of descriptors.
 *
 * Should:   accept connections for the owner of the watch.
 * Must not: spin: while accept4(2) fails with EMFILE, level-triggered epoll reports the listener
 *           again at once.
 * Fails:    closed: a connection waits in the accept queue; when that is full the kernel drops
 *           SYNs. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PAUSE_MS 100 /* until accept4(2) is tried again */

static void resume(struct loop_alarm *a) {
	struct listener *l = CONTAINER_OF(a, struct listener, pause);

	(void)loop_want(&l->gate->loop, &l->watch, EPOLLIN); /* it is in the set */
}

int listener_open(struct listener *l) {
	l->pause.ring = resume;
	return loop_add(&l->gate->loop, &l->watch, EPOLLIN);
}

/* The queue is empty, or the peer has aborted: not a lack of descriptors. */
static bool is_transient(int error) {
	return error == EAGAIN || error == ECONNABORTED || error == EINTR;
}

int listener_accept(struct listener *l) {
	struct gate *g = l->gate;
	int fd = accept4(l->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && !is_transient(errno)) {
		splice_release_spares(g);
		fd = accept4(l->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	if (fd < 0 && !is_transient(errno) && loop_alarm_set(&g->loop, &l->pause, PAUSE_MS)) {
		(void)loop_want(&g->loop, &l->watch, 0); /* it is in the set */
	}
	return fd;
}
