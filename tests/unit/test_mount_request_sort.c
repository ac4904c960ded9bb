/* SPDX-License-Identifier: Apache-2.0 */
/* mount_request_sort() against an insertion sort, on lists of every shape. */
#include "test.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/path.h"
#include "plan/internal.h"

#include <stdlib.h>

#define MOST 200

static const char *const targets[] = {"/",     "/a",   "/a-b",      "/a/b",     "/a/b/c",
				      "/a/bc", "/etc", "/home/ann", "/home/bo", "/usr/lib"};
static const enum rank ranks[] = {RANK_SYSTEM, RANK_READ, RANK_WRITE, RANK_DENY};

/* The keys that the lists of this file differ in.  m.ino is the place before the sort. */
static int order_of(const struct mount_request *a, const struct mount_request *b) {
	int order = path_order(a->m.target, b->m.target);

	if (order == 0 && a->rank != b->rank) {
		order = a->rank > b->rank ? -1 : 1; /* L3 */
	}
	return order != 0 ? order : a->m.origin.line - b->m.origin.line;
}

static void insertion_sort(struct mount_request *requests, size_t n) {
	for (size_t i = 1; i < n; i++) {
		struct mount_request one = requests[i];
		size_t at = i;
		for (; at > 0 && order_of(&requests[at - 1], &one) > 0; at--) {
			requests[at] = requests[at - 1];
		}
		requests[at] = one;
	}
}

static void fill(struct mount_request *requests, size_t n, unsigned *seed) {
	for (size_t i = 0; i < n; i++) {
		size_t target = (size_t)rand_r(seed) % ARRAY_LEN(targets);
		size_t rank = (size_t)rand_r(seed) % ARRAY_LEN(ranks);
		requests[i] = (struct mount_request){
			.m = {.kind = MOUNT_BIND, .target = targets[target]},
			.rank = ranks[rank],
		};
		requests[i].m.origin.line = rand_r(seed) % 2;
	}
}

/* Sorts both ways, and compares place by place: equal requests keep their order. */
static void check_sort(struct mount_request *requests, size_t n) {
	static struct mount_request want[MOST];
	struct arena a;
	struct builder b = {.a = &a, .requests = requests, .nrequests = n};

	for (size_t i = 0; i < n; i++) {
		requests[i].m.ino = i;
		want[i] = requests[i];
	}
	insertion_sort(want, n);
	arena_init(&a);
	REQUIRE(mount_request_sort(&b) == 0);
	CHECK_INT(b.nrequests, n);
	for (size_t i = 0; i < n; i++) {
		CHECK_INT(requests[i].m.ino, want[i].m.ino);
		CHECK_STR(requests[i].m.target, want[i].m.target);
		CHECK_INT(requests[i].rank, want[i].rank);
	}
	arena_done(&a);
}

static void reverse(struct mount_request *requests, size_t n) {
	for (size_t i = 0; i < n / 2; i++) {
		struct mount_request one = requests[i];
		requests[i] = requests[n - 1 - i];
		requests[n - 1 - i] = one;
	}
}

TEST(random_lists_are_sorted_and_equal_requests_keep_their_order) {
	static struct mount_request requests[MOST];
	unsigned seed = 11;

	for (size_t round = 0; round < 400; round++) {
		size_t n = (size_t)rand_r(&seed) % (round % 2 == 0 ? 8 : MOST);
		fill(requests, n, &seed);
		check_sort(requests, n);
	}
}

TEST(a_sorted_list_a_reversed_one_and_appended_requests_are_sorted) {
	static struct mount_request requests[MOST];
	unsigned seed = 12;

	for (size_t n = 0; n < MOST; n += 7) {
		fill(requests, n, &seed);
		insertion_sort(requests, n);
		check_sort(requests, n);
		reverse(requests, n);
		check_sort(requests, n);
		/* As a plan does: a few requests after those that are in order. */
		fill(requests + n - n / 7, n / 7, &seed);
		check_sort(requests, n);
	}
}

TEST(requests_with_equal_keys_keep_their_order) {
	static struct mount_request requests[MOST];

	for (size_t i = 0; i < MOST; i++) {
		requests[i] = (struct mount_request){.m = {.kind = MOUNT_BIND, .target = "/a"},
						     .rank = RANK_READ};
	}
	check_sort(requests, MOST);
}

/* An array for no request has no room for the end of a run. */
TEST(nothing_and_one_request_need_no_memory) {
	struct arena a;
	struct mount_request one = {.m = {.kind = MOUNT_BIND, .target = "/a"}};

	arena_init(&a);
	for (size_t n = 0; n < 2; n++) {
		struct builder b = {.a = &a, .requests = n == 0 ? NULL : &one, .nrequests = n};
		CHECK_INT(mount_request_sort(&b), 0);
		CHECK(a.blocks == NULL);
	}
	CHECK_STR(one.m.target, "/a");
	arena_done(&a);
}

TESTS_MAIN
