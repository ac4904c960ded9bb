/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the supervisor's deadlines.
 *
 * Should:   let pid 1 act first.
 * Must not: overflow an int of poll(2).
 * Fails:    never. */
#include "run/deadline.h"

#include "data/keys.h"

#define SLACK_MS 1000

int64_t deadline_of_end(const struct plan *plan) {
	return (plan->grace_ms == LIMIT_NONE ? 0 : plan->grace_ms) + SLACK_MS;
}

int64_t deadline_of_run(const struct plan *plan, int64_t now) {
	if (plan->timeout_ms == LIMIT_NONE) {
		return -1;
	}
	return now + plan->timeout_ms + deadline_of_end(plan);
}

void deadline_sooner(int64_t *at, int64_t candidate) {
	if (candidate >= 0 && (*at < 0 || candidate < *at)) {
		*at = candidate;
	}
}

int deadline_poll_ms(int64_t at, int64_t now) {
	const int64_t longest =
		(int64_t)3600 * 1000; /* fits an int; the loop just goes round again */

	if (at < 0) {
		return -1;
	}
	if (at <= now) {
		return 0;
	}
	return (int)(at - now < longest ? at - now : longest);
}
