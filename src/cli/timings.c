/* SPDX-License-Identifier: Apache-2.0 */
/* `corral run --timings`: measures the start of this program, and prints the steps of a run.
 *
 * Should:   read no clock for a run without the option.
 * Must not: print with --json, whose result has the list.
 * Fails:    open: a clock that cannot be read is 0. */
#include "cli/cli.h"

#include <inttypes.h>
#include <time.h>

#define NS 1000000000

static int64_t read_clock(clockid_t clock) {
	struct timespec t = {0};

	(void)clock_gettime(clock, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

/* execve(2) and the C library's start leave no stamp, but they do nothing but compute.  The clock
 * counts from the fork: a shell that computes between fork and execve makes this step longer. */
void timings_begin(struct invocation *inv) {
	inv->timings = true;
	inv->timings_start_us = read_clock(CLOCK_PROCESS_CPUTIME_ID) / 1000;
	inv->timings_at = read_clock(CLOCK_MONOTONIC);
}

void timings_request(const struct invocation *inv, struct corral_timing own[TIMINGS_OWN],
		     struct corral_options *how) {
	if (!inv->timings) {
		return;
	}
	own[0] = (struct corral_timing){.step = "start", .us = inv->timings_start_us};
	own[1] = (struct corral_timing){
		.step = "options", .us = (read_clock(CLOCK_MONOTONIC) - inv->timings_at) / 1000};
	how->timings = 1;
	how->earlier = own;
	how->nearlier = TIMINGS_OWN;
}

void timings_print(const struct corral_result *result) {
	const char *step;
	int64_t us, total = 0;

	for (size_t i = 0; corral_result_timing(result, i, &step, &us) == 0; i++) {
		print_note("%8" PRId64 " us  %s", us, step);
		total += us;
	}
	print_note("%8" PRId64 " us  total", total);
}
