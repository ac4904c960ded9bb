/* One epoll loop: descriptors with a function each, and alarms.
 *
 * Nothing here allocates: watches and alarms live in their owners. */
#ifndef CORRAL_GATE_LOOP_H
#define CORRAL_GATE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch {
	int fd; /* -1: none */
	uint32_t events;
	void (*ready)(struct watch *w, uint32_t events); /* EPOLLIN, …; may end its owner */
};

struct alarm {
	int64_t at; /* ms of the monotonic clock */
	size_t place; /* 1 + index in the heap; 0: not set */
	void (*ring)(struct alarm *a);
};

#define LOOP_ALARMS 8192

struct loop {
	int epoll;
	int64_t now; /* of this turn */
	size_t nalarms;
	struct alarm *alarms[LOOP_ALARMS];
	bool over;
};

int loop_init(struct loop *l); /* 0 or -errno */

/* 0 or -errno; w->fd and w->ready are set before. */
int loop_add(struct loop *l, struct watch *w, uint32_t events);
void loop_want(struct loop *l, struct watch *w, uint32_t events); /* no call when nothing changes */
/* Also forgets events of this turn that were not delivered yet.  Does not close. */
void loop_drop(struct loop *l, struct watch *w);

void alarm_set(struct loop *l, struct alarm *a, int64_t in_ms); /* moves one that is set */
void alarm_clear(struct loop *l, struct alarm *a);

/* Until l->over. */
void loop_run(struct loop *l);

#endif
