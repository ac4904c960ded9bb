/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-overs on one processor: when the guard makes them, that the caller gets its descriptor, and
 * that no CPU mask stays changed. */
#include "linux/broker/handover.h"

#include "base/auto.h"
#include "linux/broker/call.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define US ((int64_t)1000)
#define QUICK (12 * US)
#define SLOW (80 * US)
#define LONG (3000 * US)
#define BUSY_CALLER (40 * US) /* between two hand-overs */
#define LEISURELY (10000 * US)

#define CALLER 7
#define OTHER 8

/* ---- the decision ---- */

struct stream {
	struct handover h;
	int64_t now;
	pid_t tid;
};

static struct stream fresh(void) {
	return (struct stream){.now = 1, .tid = CALLER};
}

/* So many hand-overs; true: the next is made on one processor. */
static bool hand_over(struct stream *t, int count, int64_t took, int64_t apart) {
	bool pins = false;

	for (int i = 0; i < count; i++) {
		int64_t begun = t->now + apart;
		t->now = begun + took;
		pins = handover_judge(&t->h, t->tid, begun, t->now);
	}
	return pins;
}

static bool have_processors(void) {
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

static struct stream pinned(void) {
	struct stream t = fresh();

	CHECK(!hand_over(&t, HANDOVER_GROUP - 1, SLOW, BUSY_CALLER));
	CHECK_INT(hand_over(&t, 1, SLOW, BUSY_CALLER), have_processors());
	CHECK_INT(t.h.off, !have_processors());
	return t;
}

TEST(a_group_of_slow_hand_overs_in_quick_succession_begins_it) {
	struct stream t = pinned();

	CHECK_INT(hand_over(&t, HANDOVER_GROUP, QUICK, BUSY_CALLER), have_processors());
}

TEST(hand_overs_that_are_quick_never_begin_it) {
	struct stream t = fresh();

	CHECK(!hand_over(&t, 1000 * HANDOVER_GROUP, QUICK, BUSY_CALLER));
	CHECK(!t.h.off);
}

TEST(hand_overs_that_wait_for_a_busy_machine_do_not_begin_it) {
	struct stream t = fresh();

	CHECK(!hand_over(&t, 10 * HANDOVER_GROUP, LONG, 0));
}

TEST(slow_hand_overs_that_are_far_apart_do_not_begin_it) {
	struct stream t = fresh();

	CHECK(!hand_over(&t, 10 * HANDOVER_GROUP, SLOW, LEISURELY));
}

TEST(hand_overs_to_several_threads_do_not_begin_it) {
	struct stream t = fresh();

	for (int i = 0; i < 10 * HANDOVER_GROUP; i++) {
		t.tid = i % 2 == 0 ? CALLER : OTHER;
		CHECK(!hand_over(&t, 1, SLOW, BUSY_CALLER));
	}
}

TEST(a_hand_over_to_another_thread_ends_it) {
	struct stream t = pinned();

	for (int i = 0; i < 10 && !t.h.off; i++) {
		t.tid = CALLER;
		(void)hand_over(&t, HANDOVER_GROUP - 1, QUICK, BUSY_CALLER);
		t.tid = OTHER;
		CHECK(!hand_over(&t, 1, SLOW, BUSY_CALLER));
		t.tid = CALLER;
		CHECK_INT(hand_over(&t, HANDOVER_GROUP, SLOW, BUSY_CALLER), have_processors());
	}
	CHECK_INT(t.h.off, !have_processors()); /* that says nothing about its use */
}

TEST(it_ends_when_hand_overs_become_rare) {
	struct stream t = pinned();

	CHECK(!hand_over(&t, HANDOVER_GROUP, QUICK, LEISURELY));
	CHECK_INT(hand_over(&t, HANDOVER_GROUP, SLOW, BUSY_CALLER), have_processors());
}

TEST(it_ends_now_and_then_to_measure_without_it) {
	struct stream t = pinned();
	int groups = 0;

	while (groups < 10000 && hand_over(&t, HANDOVER_GROUP, QUICK, BUSY_CALLER)) {
		groups++;
	}
	CHECK(groups < 10000);
	CHECK(!hand_over(&t, HANDOVER_GROUP, QUICK, BUSY_CALLER));
	CHECK(!have_processors() || !t.h.off);
	CHECK_INT(hand_over(&t, HANDOVER_GROUP, SLOW, BUSY_CALLER), have_processors());
}

TEST(it_is_off_for_the_run_where_it_does_not_help) {
	struct stream t = pinned();

	(void)hand_over(&t, 10 * HANDOVER_GROUP, SLOW, BUSY_CALLER);
	CHECK(t.h.off);
	CHECK_INT(t.h.groups_left, 0);
}

TEST(a_slow_group_now_and_then_does_not_turn_it_off) {
	struct stream t = pinned();

	for (int i = 0; i < 100; i++) {
		(void)hand_over(&t, 3 * HANDOVER_GROUP, SLOW, BUSY_CALLER);
		(void)hand_over(&t, HANDOVER_GROUP, QUICK, BUSY_CALLER);
	}
	CHECK(!have_processors() || !t.h.off);
}

/* ---- a caller and its guard ---- */

#define HAND_OVERS 50
#define KILLABLE (1UL << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */

/* getppid(2) is a notification from now on; the listener. */
static int listen_for_getppid(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_LEN(code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		return -1;
	}
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER | KILLABLE, &program);
}

/* Only this processor of those that the process has; all of them with -1. */
static cpu_set_t processors(int which) {
	cpu_set_t all, some;

	(void)sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&some);
	for (int i = 0, seen = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &all) && (which < 0 || seen++ == which)) {
			CPU_SET(i, &some);
		}
	}
	return some;
}

/* Each call returns a descriptor of /dev/null, and the mask is the one that it had. */
static _Noreturn void be_caller(int channel, cpu_set_t mask) {
	int listener = listen_for_getppid();
	struct stat st;
	cpu_set_t now;

	if (listener < 0 || sched_setaffinity(0, sizeof mask, &mask) != 0 ||
	    write(channel, &listener, sizeof listener) != sizeof listener ||
	    read(channel, &listener, sizeof listener) != sizeof listener) {
		_exit(2);
	}
	for (int i = 0; i < HAND_OVERS; i++) {
		int fd = (int)syscall(SYS_getppid);
		if (fd < 0 || fstat(fd, &st) != 0 || !S_ISCHR(st.st_mode) ||
		    sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &mask)) {
			_exit(1);
		}
		close(fd);
	}
	_exit(0);
}

/* The listener of a caller, in this process. */
static int take_listener(pid_t caller, int channel) {
	int number = -1;

	if (read(channel, &number, sizeof number) != sizeof number) {
		return -1;
	}
	auto_fd process = (int)syscall(SYS_pidfd_open, caller, 0U);
	int got = (int)syscall(SYS_pidfd_getfd, process, number, 0U);
	return write(channel, &number, sizeof number) == sizeof number ? got : -1;
}

/* Serves one call; the guard's mask has so many processors meanwhile. */
static int serve_one(struct broker *b, int file) {
	struct seccomp_notif n = {0};
	cpu_set_t mine;

	if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) != 0) {
		return -1;
	}
	b->handover.tid = (pid_t)n.pid;
	const struct call c = {.b = b, .id = n.id, .tid = (pid_t)n.pid};
	struct seccomp_notif_addfd add = {
		.id = n.id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)file};
	if (handover_add(&c, &add) < 0 || sched_getaffinity(0, sizeof mine, &mine) != 0) {
		return -1;
	}
	return CPU_COUNT(&mine);
}

/* In a process of its own, which has this CPU mask; the caller has the other: 0, or what failed.
 * pins: hand-overs are made on one processor. */
static int run_guard(cpu_set_t mine, cpu_set_t callers, bool pins) {
	static struct broker b;
	int ends[2], status = -1, file = open("/dev/null", O_RDWR | O_CLOEXEC);
	cpu_set_t after;

	b = (struct broker){.killable = true, .handover = {.groups_left = 1000, .without = LONG}};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
		return 1;
	}
	pid_t caller = fork();
	if (caller == 0) {
		be_caller(ends[1], callers);
	}
	b.listener = take_listener(caller, ends[0]);
	if (b.listener < 0 || sched_setaffinity(0, sizeof mine, &mine) != 0) {
		return 2;
	}
	for (int i = 0; i < HAND_OVERS; i++) {
		/* The judge must not end it because this machine is busy. */
		b.handover.count = b.handover.in_vain = 0;
		int has = serve_one(&b, file);
		if (has < 0 || (pins && has != 1)) {
			return 3;
		}
	}
	handover_unpin();
	if (sched_getaffinity(0, sizeof after, &after) != 0 || !CPU_EQUAL(&after, &mine)) {
		return 4;
	}
	return waitpid(caller, &status, 0) == caller && status == 0 ? 0 : 5;
}

static int run_apart(cpu_set_t mine, cpu_set_t callers, bool pins) {
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		_exit(run_guard(mine, callers, pins));
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_caller_gets_its_descriptor_and_keeps_its_processors) {
	CHECK_INT(run_apart(processors(-1), processors(-1), true), 0);
}

TEST(a_caller_that_chose_a_processor_keeps_it) {
	CHECK_INT(run_apart(processors(0), processors(0), true), 0);
}

TEST(a_caller_on_a_processor_that_the_guard_is_not_on_is_not_moved) {
	if (!have_processors()) {
		printf("# SKIP one processor\n");
		return;
	}
	CHECK_INT(run_apart(processors(0), processors(1), false), 0);
}

/* ---- a caller that is gone ---- */

#define STALE_HAND_OVERS 2000

/* Ends with 0 after a byte on the pipe, with 1 if its mask changes before. */
static _Noreturn void watch_own_mask(int pipe) {
	cpu_set_t before, now;
	char byte;

	(void)sched_getaffinity(0, sizeof before, &before);
	(void)fcntl(pipe, F_SETFL, O_NONBLOCK);
	while (read(pipe, &byte, 1) < 0) {
		(void)sched_getaffinity(0, sizeof now, &now);
		if (!CPU_EQUAL(&now, &before)) {
			_exit(1);
		}
	}
	_exit(0);
}

/* Hand-overs of a call that has ended, while another process has the caller's id. */
static int run_stale(void) {
	static struct broker b;
	int ends[2], status = -1;

	if (pipe(ends) != 0) {
		return 1;
	}
	pid_t other = fork();
	if (other == 0) {
		watch_own_mask(ends[0]);
	}
	b = (struct broker){.killable = true, .listener = listen_for_getppid()};
	if (b.listener < 0) {
		return 2;
	}
	for (int i = 0; i < STALE_HAND_OVERS; i++) {
		const struct call c = {.b = &b, .id = 1, .tid = other};
		struct seccomp_notif_addfd add = {.id = 1, .flags = SECCOMP_ADDFD_FLAG_SEND};
		b.handover = (struct handover){.groups_left = 1000, .tid = other};
		if (handover_add(&c, &add) >= 0) {
			return 3;
		}
	}
	if (write(ends[1], "", 1) != 1 || waitpid(other, &status, 0) != other) {
		return 4;
	}
	return status == 0 ? 0 : 5;
}

TEST(a_process_that_has_the_id_of_a_caller_that_is_gone_keeps_its_processors) {
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		_exit(run_stale());
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TESTS_MAIN
