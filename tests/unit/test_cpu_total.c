/* SPDX-License-Identifier: Apache-2.0 */
/* session/cpu_total.c on trees of files that look like /proc and cgroup v2. */
#include "session/cpu_total.h"

#include "base/remove_tree.h"

#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];

static void put(const char *path, const char *text) {
	char full[256];

	(void)snprintf(full, sizeof full, "%s/%s", top, path);
	for (char *at = full + strlen(top) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(full, 0700);
		*at = '/';
	}
	FILE *file = fopen(full, "w");
	CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A process with a name that looks like the end of the name, and its four times. */
static void process(int pid, const char *children, const char *times, const char *group) {
	char path[64], text[256];

	/* The start of each process is its pid. */
	(void)snprintf(path, sizeof path, "proc/%d/stat", pid);
	(void)snprintf(text, sizeof text, "%d (a) b) S 1 1 1 0 -1 0 0 0 0 0 %s 20 0 1 0 %d\n", pid,
		       times, pid);
	put(path, text);
	(void)snprintf(path, sizeof path, "proc/%d/task/%d/children", pid, pid);
	put(path, children);
	(void)snprintf(path, sizeof path, "proc/%d/cgroup", pid);
	put(path, group);
}

static void begin(void) {
	(void)snprintf(top, sizeof top, "/tmp/corral-cpu-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
}

static void end(void) {
	int dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK_INT(remove_tree(dir, strrchr(top, '/') + 1), 0);
	(void)close(dir);
}

static int total(struct cpu_total *ret) {
	char proc[96], cgroup[96];

	(void)snprintf(proc, sizeof proc, "%s/proc", top);
	(void)snprintf(cgroup, sizeof cgroup, "%s/cgroup", top);
	return cpu_total_read(&(struct cpu_places){proc, cgroup}, 10, ret);
}

/* A sample, in ticks of the kernel. */
static void check_ticks(struct cpu_total *t, long ticks) {
	CHECK_INT(total(t), 0);
	CHECK_INT(t->ms, ticks * (1000 / sysconf(_SC_CLK_TCK)));
}

/* The supervisor 10, its child 11 with one tick, and 12, the child of 11, with a hundred. */
static void begin_family(void) {
	begin();
	process(10, "11 ", "0 0 0 0", "0::/same\n");
	process(11, "12 ", "1 0 0 0", "0::/same\n");
	process(12, "", "100 0 0 0", "0::/same\n");
}

static void end_sampled(struct cpu_total *t) {
	cpu_total_done(t);
	end();
}

TEST(a_sample_is_the_sum_of_the_tree_without_the_supervisor) {
	struct cpu_total t = {0};

	begin();
	process(10, "11 ", "1000 1000 1000 1000", "0::/same\n");
	process(11, "12 13 ", "1 2 3 4", "0::/same\n");
	process(12, "", "10 20 0 0", "0::/same\n");
	process(13, "", "100 0 0 200", "0::/same\n");
	check_ticks(&t, 340);
	CHECK(!t.by_cgroup);
	end_sampled(&t);
}

TEST(a_child_without_a_wait_stays_counted) {
	struct cpu_total t = {0};

	begin_family();
	check_ticks(&t, 101);
	process(11, "13 ", "1 0 0 0", "0::/same\n"); /* 12 is gone, and its time */
	process(13, "", "40 0 0 0", "0::/same\n");
	check_ticks(&t, 141);
	process(11, "", "2 0 0 0", "0::/same\n");
	CHECK_INT(total(&t), 0);
	check_ticks(&t, 142);
	end_sampled(&t);
}

TEST(a_child_that_was_waited_for_counts_once) {
	struct cpu_total t = {0};

	begin_family();
	CHECK_INT(total(&t), 0);
	process(11, "", "1 0 130 0", "0::/same\n"); /* it used 30 more until its end */
	check_ticks(&t, 131);
	check_ticks(&t, 131);
	end_sampled(&t);
}

/* It ended after its parent was read and before its parent's children were. */
TEST(a_child_that_a_sample_missed_counts_once) {
	struct cpu_total t = {0};

	begin_family();
	CHECK_INT(total(&t), 0);
	process(11, "", "1 0 0 0", "0::/same\n");
	CHECK_INT(total(&t), 0);
	process(11, "", "1 0 110 0", "0::/same\n");
	check_ticks(&t, 111);
	end_sampled(&t);
}

TEST(another_process_of_the_same_pid_is_another_one) {
	struct cpu_total t = {0};

	begin();
	process(10, "11 ", "0 0 0 0", "0::/same\n");
	process(11, "", "50 0 0 0", "0::/same\n");
	CHECK_INT(total(&t), 0);
	put("proc/11/stat", "11 (a) S 1 1 1 0 -1 0 0 0 0 0 7 0 0 0 20 0 1 0 999\n");
	check_ticks(&t, 57);
	end_sampled(&t);
}

TEST(a_group_of_its_own_has_the_time) {
	struct cpu_total t = {0};

	begin();
	process(10, "11 ", "0 0 0 0", "9:pids:/x\n0::/outer\n");
	process(11, "", "1 1 1 1", "9:pids:/x\n0::/outer/inner\n");
	put("cgroup/outer/inner/cpu.stat", "usage_usec 7654321\nuser_usec 1\n");
	CHECK_INT(total(&t), 0);
	CHECK(t.by_cgroup);
	CHECK_INT(t.ms, 7654);
	end();
}

TEST(a_group_without_the_file_is_sampled) {
	struct cpu_total t = {0};

	begin();
	process(10, "11 ", "0 0 0 0", "0::/outer\n");
	process(11, "", "0 0 5 0", "0::/outer/inner\n");
	CHECK_INT(total(&t), 0);
	CHECK(!t.by_cgroup && t.ms > 0);
	end_sampled(&t);
}

TEST(a_supervisor_without_children_has_no_time) {
	struct cpu_total t = {.ms = 5};

	begin();
	process(10, "", "1 1 1 1", "0::/\n");
	CHECK_INT(total(&t), -1);
	CHECK_INT(t.ms, 5);
	end();
}

TESTS_MAIN
