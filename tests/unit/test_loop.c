/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's loop: which callbacks run, when, and which no longer. */
#include "test.h"

#include "base/auto.h"
#include "gate/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* One loop for all: it is large, and the tests run one after the other. */
static struct loop the_loop;

struct end {
	struct loop_watch watch;
	int other;
	int calls;
	uint32_t heard;
	struct end *drops; /* the watch that its callback drops */
	bool closes;       /* and closes */
	bool ends;         /* the loop */
};

struct bell {
	struct loop_alarm alarm;
	int rings, order;
	int64_t again; /* sets itself again, after so long; 0: not */
	bool ends;
};

static int order;

static void end_ready(struct loop_watch *w, uint32_t events) {
	struct end *e = (struct end *)w;
	e->calls++;
	e->heard |= events;
	if (e->drops != NULL) {
		(e->closes ? loop_close : loop_drop)(&the_loop, &e->drops->watch);
	}
	if (e->ends) {
		the_loop.over = true;
	}
}

static void bell_ring(struct loop_alarm *a) {
	struct bell *b = (struct bell *)a;
	b->rings++;
	b->order = ++order;
	if (b->again > 0) {
		(void)loop_alarm_set(&the_loop, a, b->again);
	}
	if (b->ends) {
		the_loop.over = true;
	}
}

static bool end_open(struct end *e, uint32_t events) {
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
		return false;
	}
	*e = (struct end){.watch = {.fd = pair[0], .ready = end_ready}, .other = pair[1]};
	return loop_add(&the_loop, &e->watch, events) == 0;
}

static void end_close(struct end *e) {
	loop_drop(&the_loop, &e->watch);
	(void)close(e->watch.fd);
	if (e->other >= 0) {
		(void)close(e->other);
	}
}

static void run_for(int64_t ms) {
	struct bell stop = {.alarm.ring = bell_ring, .ends = true};
	the_loop.over = false;
	CHECK(loop_alarm_set(&the_loop, &stop.alarm, ms));
	loop_run(&the_loop);
	loop_alarm_clear(&the_loop, &stop.alarm);
}

static bool loop_fresh(void) {
	order = 0;
	return loop_init(&the_loop) == 0;
}

static void end_loop(void) {
	CHECK_INT(close(the_loop.epoll), 0);
}

TEST(a_watch_is_called_for_what_it_wants_and_for_nothing_else) {
	struct end e;
	REQUIRE(loop_fresh() && end_open(&e, EPOLLIN));
	run_for(5);
	CHECK_INT(e.calls, 0);
	CHECK_INT(write(e.other, "x", 1), 1);
	e.ends = true;
	the_loop.over = false;
	loop_run(&the_loop);
	CHECK_INT(e.calls, 1);
	CHECK_INT(e.heard, EPOLLIN);
	e.ends = false;
	loop_want(&the_loop, &e.watch, EPOLLOUT);
	e.heard = 0;
	run_for(2);
	CHECK_INT(e.heard, EPOLLOUT);
	end_close(&e);
	end_loop();
}

TEST(a_hang_up_is_told_once_to_who_wants_nothing) {
	struct end e;
	REQUIRE(loop_fresh() && end_open(&e, 0));
	CHECK_INT(close(e.other), 0);
	e.other = -1;
	run_for(20);
	CHECK_INT(e.calls, 1);
	CHECK((e.heard & EPOLLHUP) != 0);
	loop_want(&the_loop, &e.watch, EPOLLIN); /* and it can want again */
	e.ends = true;
	the_loop.over = false;
	loop_run(&the_loop);
	CHECK_INT(e.calls, 2);
	end_close(&e);
	end_loop();
}

/* Both are ready in one turn; the first callback drops the other watch. */
TEST(an_event_of_this_turn_is_forgotten_with_its_watch) {
	struct end a, b;
	REQUIRE(loop_fresh() && end_open(&a, EPOLLIN) && end_open(&b, EPOLLIN));
	a.drops = &b;
	b.drops = &a;
	CHECK_INT(write(a.other, "x", 1) + write(b.other, "x", 1), 2);
	run_for(3);
	CHECK((a.calls == 0) != (b.calls == 0));
	end_close(&a);
	end_close(&b);
	end_loop();
}

static struct end *whom;

static void unwant(struct loop_watch *w, uint32_t events) {
	(void)events;
	((struct end *)w)->calls++;
	loop_want(&the_loop, &whom->watch, 0);
	loop_drop(&the_loop, w);
}

TEST(an_event_that_is_no_longer_wanted_is_not_delivered) {
	struct end a, b;
	REQUIRE(loop_fresh() && end_open(&a, EPOLLIN) && end_open(&b, EPOLLIN));
	a.watch.ready = unwant;
	whom = &b;
	CHECK_INT(write(a.other, "x", 1), 1); /* first in the kernel's list */
	CHECK_INT(write(b.other, "x", 1), 1);
	run_for(3);
	CHECK_INT(a.calls, 1);
	CHECK_INT(b.calls, 0);
	end_close(&a);
	end_close(&b);
	end_loop();
}

enum { MANY = 300 };
static size_t served;

static void serve(struct loop_watch *w, uint32_t events) {
	(void)events;
	served += ((struct end *)w)->calls++ == 0 ? 1 : 0;
	the_loop.over = served == MANY;
}

/* More events than one epoll_wait(2) returns: none is lost. */
TEST(three_hundred_watches_are_all_served) {
	static struct end ends[MANY];
	REQUIRE(loop_fresh());
	for (size_t i = 0; i < MANY; i++) {
		REQUIRE(end_open(&ends[i], EPOLLIN));
		ends[i].watch.ready = serve;
		CHECK_INT(write(ends[i].other, "x", 1), 1);
	}
	run_for(60 * 1000); /* it ends with the last one; how many turns that takes is the machine's
			       affair */
	for (size_t i = 0; i < MANY; i++) {
		end_close(&ends[i]);
	}
	CHECK_INT(served, MANY);
	end_loop();
}

TEST(a_watch_that_is_closed_is_forgotten_too) {
	struct end a, b;
	REQUIRE(loop_fresh() && end_open(&a, EPOLLIN) && end_open(&b, EPOLLIN));
	a.drops = &b;
	a.closes = true;
	CHECK_INT(write(a.other, "x", 1), 1); /* first in the kernel's list */
	CHECK_INT(write(b.other, "x", 1), 1);
	run_for(3);
	CHECK(a.calls > 0);
	CHECK_INT(b.calls, 0);
	CHECK_INT(b.watch.fd, -1);
	CHECK_INT(send(b.other, "x", 1, MSG_NOSIGNAL), -1); /* its other end is gone */
	loop_close(&the_loop, &b.watch);                    /* there is none */
	(void)close(b.other);
	end_close(&a);
	end_loop();
}

TEST(errors_are_numbers_and_a_watch_without_a_descriptor_is_left_alone) {
	struct loop_watch none = {.fd = -1, .ready = end_ready};
	REQUIRE(loop_fresh());
	CHECK_INT(loop_add(&the_loop, &none, EPOLLIN), -EBADF);
	loop_want(&the_loop, &none, EPOLLIN);
	loop_drop(&the_loop, &none);
	end_loop();
	the_loop.over = false;
	loop_run(&the_loop); /* its descriptor is gone: it ends */
	CHECK(the_loop.over);
}

TEST(alarms_ring_in_their_order_and_once) {
	struct bell bells[] = {
		{.alarm.ring = bell_ring},
		{.alarm.ring = bell_ring},
		{.alarm.ring = bell_ring},
		{.alarm.ring = bell_ring},
	};
	REQUIRE(loop_fresh());
	CHECK(loop_alarm_set(&the_loop, &bells[0].alarm, 9));
	CHECK(loop_alarm_set(&the_loop, &bells[1].alarm, 1));
	CHECK(loop_alarm_set(&the_loop, &bells[2].alarm, 5));
	CHECK(loop_alarm_set(&the_loop, &bells[3].alarm, 3));
	CHECK(loop_alarm_set(&the_loop, &bells[1].alarm, 12)); /* moved */
	loop_alarm_clear(&the_loop, &bells[2].alarm);
	loop_alarm_clear(&the_loop, &bells[2].alarm);
	run_for(30);
	CHECK_INT(bells[3].order, 1);
	CHECK_INT(bells[0].order, 2);
	CHECK_INT(bells[1].order, 3);
	CHECK_INT(bells[0].rings + bells[1].rings + bells[3].rings, 3);
	CHECK_INT(bells[2].rings, 0);
	CHECK_INT(the_loop.nalarms, 0);
	end_loop();
}

TEST(an_alarm_is_not_early) {
	struct timespec before, after;
	REQUIRE(loop_fresh());
	(void)clock_gettime(CLOCK_MONOTONIC, &before);
	run_for(25);
	(void)clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >=
	      24);
	end_loop();
}

TEST(an_alarm_that_sets_itself_again_keeps_nobody_waiting) {
	struct bell b = {.alarm.ring = bell_ring, .again = 1};
	struct end e;
	REQUIRE(loop_fresh() && end_open(&e, EPOLLIN));
	CHECK(loop_alarm_set(&the_loop, &b.alarm, 0));
	CHECK_INT(write(e.other, "x", 1), 1);
	run_for(10);
	CHECK(b.rings >= 2 && b.rings <= 11);
	CHECK(e.calls >= 1);
	loop_alarm_clear(&the_loop, &b.alarm);
	end_close(&e);
	end_loop();
}

static bool heap_holds(void) {
	for (size_t i = 0; i < the_loop.nalarms; i++) {
		const struct loop_alarm *a = the_loop.alarms[i];
		if (a->place != i + 1 || (i > 0 && the_loop.alarms[(i - 1) / 2]->at > a->at)) {
			return false;
		}
	}
	return true;
}

/* Whatever is set, moved and cleared: parents are earlier, and places are true. */
TEST(the_heap_is_a_heap_after_each_step) {
	static struct bell bells[512];
	unsigned seed = 1;
	size_t set = 0;
	REQUIRE(loop_fresh());
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1103515245U + 12345U;
		struct bell *b = &bells[(seed >> 16) % ARRAY_LEN(bells)];
		if ((seed >> 8) % 3 == 0) {
			set -= b->alarm.place != 0;
			loop_alarm_clear(&the_loop, &b->alarm);
		} else {
			set += b->alarm.place == 0;
			CHECK(loop_alarm_set(&the_loop, &b->alarm, (seed >> 12) % 1000));
		}
		if (the_loop.nalarms != set || (i % 64 == 0 && !heap_holds())) {
			break;
		}
	}
	CHECK_INT(the_loop.nalarms, set);
	CHECK(heap_holds());
	end_loop();
}

TEST(more_alarms_than_there_is_room_for_are_refused) {
	static struct bell bells[LOOP_ALARMS + 1];
	REQUIRE(loop_fresh());
	for (size_t i = 0; i < LOOP_ALARMS; i++) {
		CHECK(loop_alarm_set(&the_loop, &bells[i].alarm, 1000));
	}
	CHECK(!loop_alarm_set(&the_loop, &bells[LOOP_ALARMS].alarm, 1));
	CHECK_INT(bells[LOOP_ALARMS].alarm.place, 0);
	CHECK(loop_alarm_set(&the_loop, &bells[7].alarm, 1)); /* moving needs none */
	loop_alarm_clear(&the_loop, &bells[9].alarm);
	CHECK(loop_alarm_set(&the_loop, &bells[LOOP_ALARMS].alarm, 1));
	end_loop();
}

TESTS_MAIN
