/* SPDX-License-Identifier: Apache-2.0 */
/* The keys ^Z, ^C and ^\ and a command that stops, in every order in which the supervisor can learn
 * of the two. */
#include "run/terminal.h"

#include "run/streams.h"
#include "test.h"

enum typed_key {
	NO_KEY,
	KEY_STOP, /* ^Z */
	KEY_END,  /* ^C or ^\ */
};

static enum job_act type(struct job *j, enum typed_key key, int64_t now) {
	struct stdin_feed feed = {.typed_stop = key == KEY_STOP, .typed_end = key == KEY_END};
	enum job_act act = terminal_job_typed(j, &feed, now);

	CHECK(!feed.typed_stop && !feed.typed_end);
	return act;
}

TEST(a_key_after_the_report_of_a_stop_acts_at_once) {
	struct job j = JOB_NONE;

	CHECK_INT(terminal_job_stopped(&j, true, 100), JOB_GO_ON);
	CHECK_INT(type(&j, NO_KEY, 101), JOB_GO_ON);
	CHECK_INT(type(&j, KEY_END, 90000), JOB_WAKE);
	CHECK_INT(type(&j, KEY_STOP, 90001), JOB_STOP);
}

TEST(a_key_before_the_report_of_a_stop_acts_when_it_comes) {
	struct job j = JOB_NONE;

	CHECK_INT(type(&j, KEY_STOP, 100), JOB_GO_ON);
	CHECK_INT(type(&j, NO_KEY, 101), JOB_GO_ON);
	CHECK_INT(terminal_job_stopped(&j, true, 102), JOB_STOP);

	j = JOB_NONE;
	CHECK_INT(type(&j, KEY_END, 100), JOB_GO_ON);
	CHECK_INT(terminal_job_stopped(&j, true, 102), JOB_WAKE);
}

TEST(one_key_acts_on_one_stop) {
	struct job j = JOB_NONE;

	CHECK_INT(type(&j, KEY_END, 100), JOB_GO_ON);
	CHECK_INT(terminal_job_stopped(&j, true, 101), JOB_WAKE);
	CHECK_INT(terminal_job_stopped(&j, false, 102), JOB_GO_ON);
	CHECK_INT(terminal_job_stopped(&j, true, 103), JOB_GO_ON);
}

TEST(a_key_of_long_ago_is_not_about_this_stop) {
	struct job j = JOB_NONE;

	CHECK_INT(type(&j, KEY_STOP, 100), JOB_GO_ON);
	CHECK_INT(terminal_job_stopped(&j, true, 5000), JOB_GO_ON);
	terminal_job_continued(&j);
	CHECK_INT(type(&j, KEY_END, 6000), JOB_GO_ON);
}

TESTS_MAIN
