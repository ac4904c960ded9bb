/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rfc3339.h"
#include "base/run_id.h"

#include "test.h"

#include <time.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

TEST(an_id_has_its_length_and_its_time) {
	char id[RUN_ID_LENGTH + 1];
	const int64_t ms = INT64_C(1794907129123);
	run_id_text(ms, 0xFFFFFFFF, id);
	CHECK_INT(strlen(id), RUN_ID_LENGTH);
	CHECK_INT(run_id_time(id), ms);
	CHECK_STR(id + 8, "zzzz");
}

TEST(ids_sort_by_their_time) {
	char last[RUN_ID_LENGTH + 1] = "";
	for (int64_t ms = INT64_C(1735689600000); ms < INT64_C(2800000000000); ms += 7777777777) {
		char id[RUN_ID_LENGTH + 1];
		run_id_text(ms, 0, id);
		CHECK(strcmp(last, id) < 0);
		memcpy(last, id, sizeof last);
	}
}

TEST(a_text_that_is_no_id_has_no_time) {
	CHECK_INT(run_id_time(""), -1);
	CHECK_INT(run_id_time("2222222222220"), -1);
	CHECK_INT(run_id_time("22222222222o"), -1);
	CHECK_INT(run_id_time("../../../../"), -1);
}

TEST(a_clock_before_the_epoch_still_gives_an_id) {
	char id[RUN_ID_LENGTH + 1];
	run_id_text(0, 0, id);
	CHECK_STR(id, "222222222222");
}

TEST(times_are_those_of_the_c_library) {
	for (int64_t day = -25567; day < 60000; day += 13) {
		char text[RFC3339_LENGTH + 1], want[32];
		time_t t = (time_t)(day * 86400 + 45296);
		struct tm utc;
		int64_t back = 0;
		gmtime_r(&t, &utc);
		strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S.007Z", &utc);
		rfc3339_text(day * DAY_MS + 45296007, text);
		CHECK_STR(text, want);
		CHECK_INT(rfc3339_read(text, &back), 0);
		CHECK_INT(back, day * DAY_MS + 45296007);
	}
}

TEST(a_short_time_is_completed_with_zeros) {
	int64_t day = 0, minute = 0, second = 0;
	CHECK_INT(rfc3339_read("2026-11-17", &day), 0);
	CHECK_INT(rfc3339_read("2026-11-17T01:02", &minute), 0);
	CHECK_INT(rfc3339_read("2026-11-17T01:02:03Z", &second), 0);
	CHECK_INT(minute - day, 62 * 60000);
	CHECK_INT(second - minute, 3000);
}

TEST(a_day_that_does_not_exist_is_no_time) {
	static const char *const wrong[] = {"",
					    "2026",
					    "2026-02-30",
					    "2026-13-01",
					    "2026-11-17T24:00",
					    "2026-11-17T10:60",
					    "2026-11-17 10:00",
					    "2026-11-17T10:00:00.000+01:00",
					    "-026-11-17"};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		int64_t ms = 0;
		CHECK_INT(rfc3339_read(wrong[i], &ms), -1);
	}
}

TESTS_MAIN
