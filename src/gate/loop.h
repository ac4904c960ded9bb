/* SPDX-License-Identifier: Apache-2.0 */
/* An epoll loop: a callback for each descriptor, and timers.
 *
 * Nothing allocates: watches and alarms are members of their owners. */
#ifndef CORRAL_GATE_LOOP_H
#define CORRAL_GATE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct loop_watch {
	int fd;          /* -1: none */
	uint32_t events; /* set by the loop: the events in the epoll set */
	bool in;         /* set by the loop: it is in the epoll set */
	void (*ready)(struct loop_watch *w, uint32_t events); /* EPOLLIN, …; may end its owner */
};

struct loop_alarm {
	int64_t at;   /* CLOCK_MONOTONIC, milliseconds */
	size_t place; /* 1 + index in the heap; 0: not set */
	void (*ring)(struct loop_alarm *a);
};

#define LOOP_ALARMS 8192
#define LOOP_TURN 256 /* events of one epoll_wait(2); the next one returns the rest */

struct loop {
	int epoll;
	int64_t now; /* clock_ms() when this turn began */
	size_t nalarms;
	struct loop_alarm *alarms[LOOP_ALARMS];
	bool over;
	size_t next, count; /* index of the next event of turn[] to deliver, and their number */
	struct epoll_event turn[LOOP_TURN];
};

int loop_init(struct loop *l); /* 0 or -errno */

/* 0 or -errno; w->fd and w->ready are set before.  Level-triggered; EPOLLERR and EPOLLHUP are
 * always reported, but only once while events is 0. */
int loop_add(struct loop *l, struct loop_watch *w, uint32_t events);
/* Changes the events, without a system call if they are the same; adds a watch that is not in the
 * set.  0 or -errno. */
int loop_want(struct loop *l, struct loop_watch *w, uint32_t events);
/* EPOLL_CTL_DEL; also discards undelivered events of this turn.  Call it before close(2). */
void loop_drop(struct loop *l, struct loop_watch *w);
/* Closes the descriptor instead, which removes it from the epoll set if no other descriptor
 * refers to the open file description. */
void loop_close(struct loop *l, struct loop_watch *w);

/* Sets an alarm, or moves it if it is set.  It rings in a later turn, even after 0 ms.  False:
 * LOOP_ALARMS are set already, it will not ring. */
bool loop_alarm_set(struct loop *l, struct loop_alarm *a, int64_t in_ms);
void loop_alarm_clear(struct loop *l, struct loop_alarm *a);

/* Until l->over, which is also set when epoll_wait(2) fails. */
void loop_run(struct loop *l);

#endif
