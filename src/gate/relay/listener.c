/* Should:   give whoever connects to the one who watches the listener.
 * Must not: ask again and again for a descriptor where there is none: the loop would bring the
 *           same news without end.
 * Fails:    by waiting: a call stays in the kernel's queue, and beyond its length is refused. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PAUSE_MS 100 /* until it is asked again whether there is a descriptor */

static void go_on(struct loop_alarm *a) {
	struct listener *l = HOLDER(a, struct listener, pause);

	(void)loop_want(&l->gate->loop, &l->watch, EPOLLIN); /* it is in */
}

int listener_open(struct listener *l) {
	l->pause.ring = go_on;
	return loop_add(&l->gate->loop, &l->watch, EPOLLIN);
}

/* Nobody is there any more, or the one who was is gone: what follows may be well. */
static bool passes(int error) {
	return error == EAGAIN || error == ECONNABORTED || error == EINTR;
}

int listener_accept(struct listener *l) {
	struct gate *g = l->gate;
	int fd = accept4(l->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && !passes(errno)) {
		splice_release_spares(g);
		fd = accept4(l->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	if (fd < 0 && !passes(errno) && loop_alarm_set(&g->loop, &l->pause, PAUSE_MS)) {
		(void)loop_want(&g->loop, &l->watch, 0); /* it is in */
	}
	return fd;
}
