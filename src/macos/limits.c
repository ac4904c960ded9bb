/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a run has exceeded a limit.
 *
 * Should:   report the time first: it ends the run even if nothing can be measured.
 * Must not: ignore a limit that cannot be measured.
 * Fails:    closed: without a measurement a run with a limit of memory or processes ends.
 *
 * It makes no call of macOS. */
#include "macos/limits.h"

#define GRACE_MAX_MS 60000

static bool is_over(int64_t limit_ms, int64_t since_ms, int64_t now) {
	return limit_ms != LIMIT_NONE && now - since_ms >= limit_ms;
}

enum macos_ending macos_limits(const struct plan *plan, const struct macos_times *t,
			       const struct tree_usage *use, bool full) {
	const struct sampled *limits = &plan->sampled;
	if (is_over(plan->timeout_ms, t->began_ms, t->now_ms)) {
		return ENDING_TIMEOUT;
	}
	if (is_over(plan->idle_ms, t->heard_ms, t->now_ms)) {
		return ENDING_IDLE;
	}
	if (use == NULL) {
		return limits->memory != 0 || limits->processes != 0 ? ENDING_UNMEASURED
								     : ENDING_EXITED;
	}
	if (limits->memory != 0 && (int64_t)use->memory > limits->memory) {
		return ENDING_MEMORY;
	}
	bool many = limits->processes != 0 && (int64_t)use->processes > limits->processes;
	return many || full ? ENDING_PROCESSES : ENDING_EXITED;
}

int64_t macos_grace_ms(const struct plan *plan) {
	return plan->grace_ms == LIMIT_NONE || plan->grace_ms > GRACE_MAX_MS ? GRACE_MAX_MS
									     : plan->grace_ms;
}
