/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll loop of the gate.
 *
 * Should:   call each watch that is ready and each alarm that is due, once a turn.
 * Must not: use a watch or an alarm after its callback, which may have ended the owner.
 * Fails:    closed: if epoll_wait(2) fails the loop ends, and the gate with it. */
#include "gate/loop.h"

#include "base/auto.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

int loop_init(struct loop *l) {
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0) {
		return -errno;
	}
	l->epoll = epoll;
	l->now = clock_ms();
	l->nalarms = l->next = l->count = 0;
	l->over = false;
	return 0;
}

/* ---- descriptors ---- */

/* epoll always reports EPOLLHUP; EPOLLONESHOT keeps a watch that wants no event from spinning on
 * it. */
static uint32_t epoll_events(uint32_t events) {
	return events == 0 ? EPOLLONESHOT : events;
}

int loop_add(struct loop *l, struct loop_watch *w, uint32_t events) {
	struct epoll_event event = {.events = epoll_events(events), .data.ptr = w};
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &event) != 0) {
		return -errno;
	}
	w->events = events;
	w->in = true;
	return 0;
}

int loop_want(struct loop *l, struct loop_watch *w, uint32_t events) {
	struct epoll_event event = {.events = epoll_events(events), .data.ptr = w};
	if (w->fd < 0 || (w->in && w->events == events)) {
		return 0;
	}
	if (!w->in) {
		return loop_add(l, w, events);
	}
	w->events = events;
	/* EPOLL_CTL_MOD of a member of the set allocates nothing and cannot fail. */
	(void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &event);
	return 0;
}

/* Undelivered events of this turn must not reach its owner. */
static void forget(struct loop *l, struct loop_watch *w) {
	for (size_t i = l->next; i < l->count; i++) {
		if (l->turn[i].data.ptr == w) {
			l->turn[i].data.ptr = NULL;
		}
	}
	w->events = 0;
	w->in = false;
}

void loop_drop(struct loop *l, struct loop_watch *w) {
	struct epoll_event unused = {0};
	if (w->fd < 0 || !w->in) {
		return;
	}
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, &unused); /* it is in the set */
	forget(l, w);
}

void loop_close(struct loop *l, struct loop_watch *w) {
	if (w->fd < 0) {
		return;
	}
	if (w->in) {
		forget(l, w);
	}
	drop_fd(&w->fd);
}

/* ---- alarms: a binary heap, the earliest at the top ---- */

static void heap_place(struct loop *l, size_t at, struct loop_alarm *a) {
	l->alarms[at] = a;
	a->place = at + 1;
}

static void sift_up(struct loop *l, size_t at) {
	struct loop_alarm *a = l->alarms[at];
	while (at > 0 && a->at < l->alarms[(at - 1) / 2]->at) {
		heap_place(l, at, l->alarms[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_place(l, at, a);
}

static void sift_down(struct loop *l, size_t at) {
	struct loop_alarm *a = l->alarms[at];
	for (size_t child; (child = 2 * at + 1) < l->nalarms; at = child) {
		if (child + 1 < l->nalarms && l->alarms[child + 1]->at < l->alarms[child]->at) {
			child++;
		}
		if (l->alarms[child]->at >= a->at) {
			break;
		}
		heap_place(l, at, l->alarms[child]);
	}
	heap_place(l, at, a);
}

bool loop_alarm_set(struct loop *l, struct loop_alarm *a, int64_t in_ms) {
	if (a->place == 0) {
		if (l->nalarms == LOOP_ALARMS) {
			return false;
		}
		heap_place(l, l->nalarms++, a);
	}
	/* Never in this turn: an alarm that sets itself again would keep the loop in it. */
	a->at = l->now + (in_ms < 1 ? 1 : in_ms);
	sift_up(l, a->place - 1);
	sift_down(l, a->place - 1);
	return true;
}

void loop_alarm_clear(struct loop *l, struct loop_alarm *a) {
	if (a->place == 0) {
		return;
	}
	size_t at = a->place - 1;
	struct loop_alarm *last = l->alarms[--l->nalarms];
	a->place = 0;
	if (last == a) {
		return;
	}
	heap_place(l, at, last);
	sift_up(l, at);
	sift_down(l, last->place - 1);
}

/* ---- turns ---- */

static int timeout_of(const struct loop *l) {
	if (l->nalarms == 0) {
		return -1;
	}
	int64_t left = l->alarms[0]->at - l->now;
	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static void deliver(struct loop *l) {
	while (l->next < l->count && !l->over) {
		struct epoll_event *event = &l->turn[l->next++];
		struct loop_watch *w = event->data.ptr;
		/* A callback of this turn may have dropped the watch or changed its events. */
		uint32_t events = w == NULL ? 0 : event->events & (w->events | EPOLLERR | EPOLLHUP);
		if (events != 0) {
			w->ready(w, events);
		}
	}
	l->next = l->count = 0;
}

static void ring(struct loop *l) {
	while (l->nalarms > 0 && l->alarms[0]->at <= l->now && !l->over) {
		struct loop_alarm *a = l->alarms[0];
		loop_alarm_clear(l, a);
		a->ring(a);
	}
}

void loop_run(struct loop *l) {
	while (!l->over) {
		l->now = clock_ms();
		int n = epoll_wait(l->epoll, l->turn, LOOP_TURN, timeout_of(l));
		if (n < 0 && errno != EINTR) {
			l->over = true;
			return;
		}
		l->now = clock_ms();
		l->next = 0;
		l->count = n < 0 ? 0 : (size_t)n;
		deliver(l);
		ring(l);
	}
}
