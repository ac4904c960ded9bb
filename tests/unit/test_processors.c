/* SPDX-License-Identifier: Apache-2.0 */
/* Which processors a command is pinned to. */
#include "test.h"

#include "linux/processors.h"

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(as_many_are_kept_as_were_asked_for_from_the_first_on_and_around) {
	static const struct {
		unsigned char mask, want;
		int64_t count, left;
		size_t first;
	} rows[] = {
		{0xff, 0x01, 1, 1, 0},   {0xff, 0x80, 1, 1, 7}, {0xff, 0xc1, 3, 3, 6},
		{0xa4, 0x20, 1, 1, 3},   {0xa4, 0x84, 2, 2, 6}, {0xa4, 0xa4, 3, 3, 1},
		{0xa4, 0xa4, 100, 3, 5}, {0x00, 0x00, 1, 0, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		unsigned char mask = rows[i].mask;
		CHECK_INT(processors_keep(&mask, 1, rows[i].count, rows[i].first), rows[i].left);
		CHECK_INT(mask, rows[i].want);
	}
}

TEST(the_mask_reaches_over_bytes) {
	unsigned char mask[2] = {0xff, 0xff};
	CHECK_INT(processors_keep(mask, sizeof mask, 4, 14), 4);
	CHECK_INT(mask[0], 0x03);
	CHECK_INT(mask[1], 0xc0);
}

TEST(only_processors_of_the_caller_are_chosen) {
	struct arena a;
	struct err e = {0};
	unsigned char *mask = NULL;
	size_t len = 0;
	cpu_set_t all, chosen;
	arena_init(&a);
	REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
	REQUIRE(processors_choose(&a, CPU_COUNT(&all), &mask, &len, &e) == 0);
	CHECK(mask == NULL); /* it may not use more than that anyway */
	if (CPU_COUNT(&all) > 1) {
		REQUIRE(processors_choose(&a, 1, &mask, &len, &e) == 0);
		REQUIRE(mask != NULL);
		CPU_ZERO(&chosen);
		memcpy(&chosen, mask, len < sizeof chosen ? len : sizeof chosen);
		CHECK_INT(CPU_COUNT(&chosen), 1);
		CPU_AND(&chosen, &chosen, &all);
		CHECK_INT(CPU_COUNT(&chosen), 1);
	}
	arena_done(&a);
}

TESTS_MAIN
