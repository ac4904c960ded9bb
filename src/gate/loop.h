/* One epoll loop: descriptors with a function each, and alarms.
 *
 * Nothing here allocates: watches and alarms live in their owners. */
#ifndef CORRAL_GATE_LOOP_H
#define CORRAL_GATE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct loop_watch {
	int fd;          /* -1: none */
	uint32_t events; /* the loop's own: what is wanted, */
	bool in;         /* and whether the kernel knows of it */
	void (*ready)(struct loop_watch *w, uint32_t events); /* EPOLLIN, …; may end its owner */
};

struct loop_alarm {
	int64_t at;   /* ms of the monotonic clock */
	size_t place; /* 1 + index in the heap; 0: not set */
	void (*ring)(struct loop_alarm *a);
};

#define LOOP_ALARMS 8192
#define LOOP_TURN 256 /* events that one wait brings; more come with the next */

struct loop {
	int epoll;
	int64_t now; /* of this turn */
	size_t nalarms;
	struct loop_alarm *alarms[LOOP_ALARMS];
	bool over;
	size_t next, count; /* of turn: the event to be delivered next, and how many came */
	struct epoll_event turn[LOOP_TURN];
};

int loop_init(struct loop *l); /* 0 or -errno */

/* 0 or -errno; w->fd and w->ready are set before.  Level-triggered; EPOLLERR and EPOLLHUP come
 * unasked, and once only while events is 0. */
int loop_add(struct loop *l, struct loop_watch *w, uint32_t events);
/* No call when nothing changes; one that is not in yet is added, 0 or -errno. */
int loop_want(struct loop *l, struct loop_watch *w, uint32_t events);
/* Also forgets events of this turn that were not delivered yet.  Does not close; is called before
 * the descriptor is closed. */
void loop_drop(struct loop *l, struct loop_watch *w);
/* The same, and closes: the kernel then forgets it by itself, which needs that nobody else
 * has the description. */
void loop_close(struct loop *l, struct loop_watch *w);

/* Moves one that is set.  Rings in a later turn, also after 0 ms.  False when LOOP_ALARMS are
 * set: it will not ring. */
bool loop_alarm_set(struct loop *l, struct loop_alarm *a, int64_t in_ms);
void loop_alarm_clear(struct loop *l, struct loop_alarm *a);

/* Until l->over, which is also set when the kernel refuses to wait. */
void loop_run(struct loop *l);

#endif
