/* SPDX-License-Identifier: Apache-2.0 */
/* Who belongs to a run, by its own processes; and when it is measured next. */
#include "test.h"

#include "linux/census.h"
#include "linux/sample_interval.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1024 * 1024)

/* ---- text ---- */

static const char plain[] = "12 (sh) S 7 12 7 34816 14 4194304 100 200 0 0 1 2 3 4 20 0 5 0 999 "
			    "2600960 321 184467 1 1 0\n";

TEST(a_line_of_stat_is_read) {
	struct census_row row = {.pid = 12};
	CHECK(census_parse(plain, &row));
	CHECK_INT(row.pid, 12);
	CHECK_INT(row.parent, 7);
	CHECK_INT(row.state, 'S');
	CHECK_INT(row.threads, 5);
	CHECK_INT(row.pages, 321);
}

TEST(a_name_that_looks_like_fields_is_not_believed) {
	struct census_row row = {.pid = 12};
	CHECK(census_parse("12 (x) R 1 1) S 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 -2 -19 3 0 9 1 55 0\n",
			   &row));
	CHECK_INT(row.parent, 7);
	CHECK_INT(row.threads, 3);
	CHECK_INT(row.pages, 55);
	CHECK(census_parse("12 (\n) 1 (() Z 8 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0\n",
			   &row));
	CHECK_INT(row.parent, 8);
}

TEST(a_line_that_is_cut_is_no_row) {
	char text[sizeof plain];
	for (size_t len = 0; len < strlen("12 (sh) S 7 12 7 34816 14 4194304"); len++) {
		struct census_row row = {.pid = 12};
		memcpy(text, plain, len);
		text[len] = '\0';
		CHECK(!census_parse(text, &row));
	}
}

TEST(the_innermost_pid_is_the_last_one) {
	CHECK_INT(census_parse_inner("Name:\tsh\nTgid:\t70\nNSpid:\t70\t12\t3\nNSpgid:\t9\n"), 3);
	CHECK_INT(census_parse_inner("Name:\tsh\nNSpid:\t70\nNSpgid:\t9\n"), 70);
	CHECK_INT(census_parse_inner("Name:\tNSpid:\nTgid:\t70\n"), 0);
	CHECK_INT(census_parse_inner("Name:\tsh\nNSpid:\t"), 0);
}

TEST(a_share_is_anonymous_and_shared_memory_and_swap) {
	static const char text[] =
		"5600-7ffd ---p 00000000 00:00 0 [rollup]\nRss:  9000 kB\n"
		"Pss:  8000 kB\nPss_Dirty: 1 kB\nPss_Anon:  1000 kB\n"
		"Pss_File:  7000 kB\nPss_Shmem:  20 kB\nSwap: 90 kB\nSwapPss: 3 kB\n";
	uint64_t bytes = 0;
	CHECK(census_parse_share(text, &bytes));
	CHECK_INT(bytes, 1023 * 1024);
	CHECK(census_parse_share("x\nPss:  8 kB\n", &bytes)); /* before Linux 5.3 */
	CHECK_INT(bytes, 8 * 1024);
	CHECK(!census_parse_share("", &bytes));
}

/* ---- processes ---- */

static struct census census_of(pid_t root) {
	struct census c;
	CHECK(census_init(&c, root, (uint64_t)sysconf(_SC_PAGESIZE)));
	return c;
}

static void census_end(struct census *c) {
	(void)close(c->proc);
}

/* A child that runs body, tells when it is done and stays; its number. */
static pid_t child_of(void (*body)(void)) {
	int ready[2];
	char byte;
	CHECK(pipe(ready) == 0);
	pid_t pid = fork();
	if (pid < 0) {
		abort(); /* end_group(-1) would kill every process of this user */
	}
	if (pid == 0) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		body();
		(void)!write(ready[1], "x", 1);
		for (;;) {
			(void)pause();
		}
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return pid;
}

static void end_group(pid_t pid) {
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void alone(void) {
	(void)setpgid(0, 0);
}

/* A grandchild whose parent is gone, in a session of its own. */
static void with_orphan(void) {
	alone();
	pid_t middle = fork();
	if (middle == 0) {
		if (fork() == 0) {
			for (;;) {
				(void)pause();
			}
		}
		_exit(0);
	}
	(void)waitpid(middle, NULL, 0);
}

TEST(a_process_and_its_orphans_belong_to_the_run_and_nobody_else) {
	pid_t one = child_of(alone), two = child_of(with_orphan);
	struct census c = census_of(one), d = census_of(two);
	struct census_sum sum;
	CHECK(census_take(&c, &sum));
	CHECK_INT(sum.threads, 1);
	CHECK(sum.pages > 0);
	CHECK(census_take(&d, &sum));
	CHECK_INT(sum.threads, 2);
	CHECK(census_take(&d, &sum)); /* with the others remembered */
	CHECK_INT(sum.threads, 2);
	end_group(one);
	CHECK(!census_take(&c, &sum)); /* the root is gone */
	end_group(two);
	census_end(&c);
	census_end(&d);
}

#define MANY 40

static void with_many(void) {
	alone();
	for (int i = 0; i < MANY; i++) {
		if (fork() == 0) {
			for (;;) {
				(void)pause();
			}
		}
	}
}

/* One pass of a fork bomb would take longer than the bomb needs to double. */
TEST(a_census_that_has_counted_enough_reads_no_further) {
	pid_t one = child_of(with_many);
	struct census c = census_of(one);
	struct census_sum sum;

	CHECK(census_take(&c, &sum));
	CHECK_INT(sum.threads, MANY + 1);
	c.enough = MANY / 4;
	CHECK(census_take(&c, &sum));
	CHECK_INT(sum.threads, MANY / 4 + 1);
	c.enough = MANY + 1;
	CHECK(census_take(&c, &sum));
	CHECK_INT(sum.threads, MANY + 1);
	end_group(one);
	CHECK(!census_take(&c, &sum));
	census_end(&c);
}

/* Also for tops that are not in the list, as a leader that /proc hides. */
TEST(rows_beneath_some_processes_are_marked) {
	pid_t one = child_of(with_orphan), two = child_of(with_orphan),
	      three = child_of(with_orphan);
	struct census c = census_of(getpid());
	struct census_sum sum;
	const pid_t tops[] = {one, three};

	for (int turn = 0; turn < 2; turn++) { /* the second time with the others remembered */
		(void)census_take(&c, &sum);
		for (size_t i = 0; turn == 1 && i < c.count; i++) {
			c.rows[i].pid = c.rows[i].pid == three ? 4000000 : c.rows[i].pid;
		}
		census_mark_beneath(&c, tops, 2);
		size_t marked = 0;
		for (size_t i = 0; i < c.count; i++) {
			if (c.rows[i].beneath) {
				CHECK(c.rows[i].parent == one || c.rows[i].parent == three);
				CHECK(c.rows[i].pid != one && c.rows[i].pid != three);
				marked++;
			}
		}
		CHECK_INT(marked, 2);
	}
	end_group(one);
	end_group(two);
	end_group(three);
	census_end(&c);
}

static const struct census_row *row_of(const struct census *c, pid_t pid) {
	for (size_t i = 0; i < c->count; i++) {
		if (c->rows[i].pid == pid) {
			return &c->rows[i];
		}
	}
	return NULL;
}

static void touch(int flags) {
	char *place = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	memset(place, 1, 8 * MIB);
}

/* Two processes that share eight MiB, both ways. */
static void sharing(void) {
	alone();
	touch(MAP_PRIVATE);
	touch(MAP_SHARED);
	if (fork() == 0) {
		for (;;) {
			(void)pause();
		}
	}
}

TEST(shared_memory_counts_once_in_shares) {
	pid_t pid = child_of(sharing);
	struct census c = census_of(pid);
	struct census_sum sum;
	uint64_t shares = 0;
	REQUIRE(census_take(&c, &sum));
	for (size_t i = 0; i < c.count; i++) {
		shares += c.rows[i].ours ? census_share(&c, &c.rows[i]) : 0;
	}
	CHECK(sum.pages * c.page >= 16 * MIB);
	CHECK(shares >= 16 * MIB && shares < 24 * MIB);
	CHECK(census_private(&c, row_of(&c, pid)) * c.page >= 8 * MIB);
	CHECK(census_private(&c, row_of(&c, pid)) * c.page < 16 * MIB);
	end_group(pid);
	census_end(&c);
}

static void *stay(void *arg) {
	touch(MAP_PRIVATE);
	(void)!write(*(int *)arg, "x", 1);
	for (;;) {
		(void)pause();
	}
	return NULL;
}

static void *leave(void *arg) {
	pthread_exit(arg);
}

TEST(memory_is_seen_when_the_first_thread_has_ended) {
	static int ready[2]; /* not on the stack of the thread that ends */
	char byte;
	REQUIRE(pipe(ready) == 0);
	pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		pthread_t thread;
		(void)pthread_create(&thread, NULL, stay, &ready[1]);
		(void)leave(NULL);
	}
	REQUIRE(read(ready[0], &byte, 1) == 1);
	struct census c = census_of(pid);
	struct census_sum sum = {0};
	for (int i = 0; i < 10000 && (row_of(&c, pid) == NULL || row_of(&c, pid)->state != 'Z');
	     i++) {
		REQUIRE(census_take(&c, &sum));
		(void)usleep(1000);
	}
	REQUIRE(row_of(&c, pid)->state == 'Z');
	CHECK(sum.pages * c.page >= 8 * MIB);
	CHECK(census_share(&c, row_of(&c, pid)) >= 8 * MIB);
	end_group(pid);
	census_end(&c);
}

/* ---- when ---- */

TEST(the_nearer_the_limit_the_sooner_is_the_next_sample) {
	CHECK_INT(sample_interval_memory((int64_t)64 << 30, 2), PACE_MAX_MS);
	CHECK_INT(sample_interval_memory((int64_t)200 << 20, 2), 50);
	CHECK_INT(sample_interval_memory((int64_t)200 << 20, 4), 25);
	CHECK_INT(sample_interval_memory(0, 2), PACE_MIN_MS);
	CHECK_INT(sample_interval_memory(-1, 64), PACE_MIN_MS);
	CHECK_INT(sample_interval_processes(4000), PACE_MAX_MS);
	CHECK_INT(sample_interval_processes(100), 20);
	CHECK_INT(sample_interval_processes(0), PACE_PROCESSES_MS);
}

TEST(samples_take_a_fifth_of_the_time_and_never_wait_longer_than_the_report_says) {
	CHECK_INT(sample_interval_pause(5, 100), 5);
	CHECK_INT(sample_interval_pause(5, 10000), 40);
	CHECK_INT(sample_interval_pause(50, 10000), 50);
	CHECK_INT(sample_interval_pause(5, 1000000), PACE_MAX_MS);
}

TESTS_MAIN
