/* SPDX-License-Identifier: Apache-2.0 */
/* epoll(7) with one handler a descriptor.
 *
 * Should:   serve ready descriptors in turn: epoll returns the one that waits longest.
 * Must not: keep an event of a watch that was removed.
 * Fails:    only for lack of memory or descriptors. */
#include "session/daemon_loop.h"

#include "base/auto.h"

#include <errno.h>
#include <sys/epoll.h>

int daemon_loop_init(struct daemon_loop *l, struct err *e) {
	*l = (struct daemon_loop){.epoll = epoll_create1(EPOLL_CLOEXEC)};
	return l->epoll >= 0 ? 0 : err_sys(e, "loop", "cannot create an epoll descriptor");
}

void daemon_loop_done(struct daemon_loop *l) {
	drop_fd(&l->epoll);
}

int daemon_loop_watch(struct daemon_loop *l, struct watch *w, uint32_t events, struct err *e) {
	struct epoll_event event = {.events = events, .data = {.ptr = w}};

	if (w->events == events) {
		return 0;
	}
	int change = events == 0 ? EPOLL_CTL_DEL : w->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	if (epoll_ctl(l->epoll, change, w->fd, &event) != 0) {
		return err_sys(e, "loop", "cannot watch a descriptor");
	}
	w->events = events;
	return 0;
}

int daemon_loop_once(struct daemon_loop *l, int timeout_ms, struct err *e) {
	struct epoll_event event;
	int n = epoll_wait(l->epoll, &event, 1, timeout_ms);

	if (n < 0) {
		return errno == EINTR ? 0 : err_sys(e, "loop", "cannot wait for events");
	}
	if (n == 1) {
		struct watch *w = event.data.ptr;
		w->ready(w, event.events);
	}
	return 0;
}
