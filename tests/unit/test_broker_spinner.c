/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that keeps a processor awake: when it spins, and that it is the guard's own, with the
 * lowest priority, and leaves. */
#include "linux/broker/spinner.h"

#include "base/auto.h"
#include "base/str.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define US ((int64_t)1000)
#define QUICK (12 * US)
#define SLOW (80 * US)
#define LONG (3000 * US)
#define BUSY_CALLER (40 * US) /* between two hand-overs */
#define LEISURELY (10000 * US)

/* A starved SCHED_IDLE thread needs seconds to leave. */
#define PATIENCE_S 60

#define UNTOUCHED 77 /* errno, which guard and thread share */

/* ---- the decision ---- */

struct stream {
	struct spinner s;
	int64_t now;
};

/* So many hand-overs; true: the thread spins after the last. */
static bool hand_over(struct stream *t, int count, int64_t took, int64_t apart) {
	bool spins = false;

	for (int i = 0; i < count; i++) {
		int64_t begun = t->now + apart;
		t->now = begun + took;
		spins = spinner_judge(&t->s, begun, t->now);
	}
	return spins;
}

static bool have_processors(void) {
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

static struct stream spinning(void) {
	struct stream t = {.now = 1};

	CHECK(!hand_over(&t, SPINNER_GROUP - 1, SLOW, BUSY_CALLER));
	CHECK_INT(hand_over(&t, 1, SLOW, BUSY_CALLER), have_processors());
	CHECK_INT(t.s.off, !have_processors());
	return t;
}

TEST(a_group_of_slow_hand_overs_in_quick_succession_starts_it) {
	struct stream t = spinning();

	CHECK_INT(hand_over(&t, SPINNER_GROUP, QUICK, BUSY_CALLER), have_processors());
}

TEST(hand_overs_that_are_quick_never_start_it) {
	struct stream t = {.now = 1};

	CHECK(!hand_over(&t, 1000 * SPINNER_GROUP, QUICK, BUSY_CALLER));
	CHECK(!t.s.off);
}

TEST(hand_overs_that_wait_for_a_busy_machine_do_not_start_it) {
	struct stream t = {.now = 1};

	CHECK(!hand_over(&t, 10 * SPINNER_GROUP, LONG, 0));
}

TEST(slow_hand_overs_that_are_far_apart_do_not_start_it) {
	struct stream t = {.now = 1};

	CHECK(!hand_over(&t, 10 * SPINNER_GROUP, SLOW, LEISURELY));
}

TEST(it_stops_when_hand_overs_become_rare) {
	struct stream t = spinning();

	CHECK(!hand_over(&t, SPINNER_GROUP, QUICK, LEISURELY));
	CHECK_INT(hand_over(&t, SPINNER_GROUP, SLOW, BUSY_CALLER), have_processors());
}

TEST(it_stops_now_and_then_to_measure_without_it) {
	struct stream t = spinning();
	int groups = 0;

	while (groups < 10000 && hand_over(&t, SPINNER_GROUP, QUICK, BUSY_CALLER)) {
		groups++;
	}
	CHECK(groups < 10000);
	CHECK(!hand_over(&t, SPINNER_GROUP, QUICK, BUSY_CALLER));
	CHECK(!have_processors() || !t.s.off);
	CHECK_INT(hand_over(&t, SPINNER_GROUP, SLOW, BUSY_CALLER), have_processors());
}

TEST(it_is_off_for_the_run_where_it_does_not_help) {
	struct stream t = spinning();

	(void)hand_over(&t, 10 * SPINNER_GROUP, SLOW, BUSY_CALLER);
	CHECK(t.s.off);
}

TEST(it_is_off_for_the_run_where_it_makes_hand_overs_longer) {
	struct stream t = spinning();

	for (int i = 0; i < 10 && !t.s.off; i++) {
		(void)hand_over(&t, SPINNER_GROUP, LONG, BUSY_CALLER); /* with the thread */
		(void)hand_over(&t, SPINNER_GROUP, SLOW, BUSY_CALLER); /* without it */
	}
	CHECK(t.s.off);
}

TEST(a_slow_group_now_and_then_does_not_turn_it_off) {
	struct stream t = spinning();

	for (int i = 0; i < 100; i++) {
		(void)hand_over(&t, 3 * SPINNER_GROUP, SLOW, BUSY_CALLER);
		(void)hand_over(&t, SPINNER_GROUP, QUICK, BUSY_CALLER);
	}
	CHECK(!have_processors() || !t.s.off);
}

TEST(one_processor_has_no_spinner) {
	pid_t child = fork();

	if (child == 0) {
		struct stream t = {.now = 1};
		cpu_set_t all, one;

		CPU_ZERO(&one);
		(void)sched_getaffinity(0, sizeof all, &all);
		for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
			if (CPU_ISSET(i, &all)) {
				CPU_SET(i, &one);
			}
		}
		bool pinned = sched_setaffinity(0, sizeof one, &one) == 0;
		bool spins = hand_over(&t, SPINNER_GROUP, SLOW, BUSY_CALLER);
		_exit(pinned && !spins && t.s.off ? 0 : 1);
	}
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

TEST(nothing_is_measured_when_it_is_off) {
	struct spinner s = {.off = true};

	CHECK_INT(spinner_begin(&s), 0);
	for (int i = 0; i < 10 * SPINNER_GROUP; i++) {
		spinner_handed_over(&s, 0);
	}
	CHECK_INT(s.count, 0);
	CHECK_INT(s.groups_left, 0);
}

/* ---- the thread ---- */

/* The threads of this process; the number of one that is not the first. */
static int threads(long *ret_other) {
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	*ret_other = 0;
	for (const struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;) {
		long tid = strtol(d->d_name, NULL, 10);
		count += tid > 0;
		*ret_other = tid > 0 && tid != getpid() ? tid : *ret_other;
	}
	(void)closedir(dir);
	return count;
}

static bool status_of(long tid, char *out, size_t cap) {
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/self/task/%ld/status", tid);
	FILE *f = fopen(path, "r");
	size_t n = f == NULL ? 0 : fread(out, 1, cap - 1, f);
	out[n] = '\0';
	if (f != NULL) {
		(void)fclose(f);
	}
	return n > 0;
}

/* The line of a status file that begins with this name. */
static void line_of(const char *status, const char *name, char out[128]) {
	const char *at = strstr(status, name);
	const char *line = at == NULL ? "" : at + 1; /* behind the newline */

	(void)snprintf(out, 128, "%.*s", (int)strcspn(line, "\n"), line);
}

static void check_same(const char *one, const char *other, const char *name) {
	char a[128], b[128];

	line_of(one, name, a);
	line_of(other, name, b);
	CHECK(a[0] != '\0');
	CHECK_STR(a, b);
}

/* Keeps the thread spinning until it has the policy SCHED_IDLE; returns its number. */
static long spinning_thread(void) {
	time_t end = time(NULL) + PATIENCE_S;
	long tid = 0;

	while (time(NULL) < end) {
		errno = UNTOUCHED;
		CHECK_INT(spinner_spin(), 0);
		CHECK_INT(errno, UNTOUCHED);
		CHECK(threads(&tid) <= 2);
		if (tid > 0 && sched_getscheduler((pid_t)tid) == SCHED_IDLE) {
			return tid;
		}
	}
	return 0;
}

static void blocked_signals(void) {
	sigset_t some;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigaddset(&some, SIGALRM);
	CHECK_INT(pthread_sigmask(SIG_BLOCK, &some, NULL), 0);
}

TEST(the_thread_is_idle_has_the_rights_of_the_guard_and_leaves) {
	char guard[8192], thread[8192];
	long tid = 0;

	blocked_signals();
	tid = spinning_thread();
	CHECK(tid > 0);
	CHECK(status_of(getpid(), guard, sizeof guard));
	if (status_of(tid, thread, sizeof thread)) { /* it may have left meanwhile */
		static const char *const alike[] = {
			"\nTgid:",   "\nUid:",        "\nGid:",     "\nFDSize:", "\nCapEff:",
			"\nSigBlk:", "\nNoNewPrivs:", "\nSeccomp:", "\nVmSize:", "\nCapBnd:"};
		for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
			check_same(guard, thread, alike[i]);
		}
	}
	for (time_t end = time(NULL) + PATIENCE_S; threads(&tid) > 1 && time(NULL) < end;) {
		(void)usleep(1000);
	}
	CHECK_INT(threads(&tid), 1);
	CHECK(spinning_thread() > 0); /* another one, on the same stack */
}

TEST(a_process_whose_thread_spins_ends) {
	pid_t child = fork();

	if (child == 0) {
		_exit(spinner_spin() == 0 ? 0 : 1);
	}
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

TESTS_MAIN
