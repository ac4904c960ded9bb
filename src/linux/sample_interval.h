/* SPDX-License-Identifier: Apache-2.0 */
/* The interval to the next sample: the nearer the limit, the shorter.
 *
 * A sample is due before a run that grows at the assumed rate could reach the limit.  Sampling
 * uses a fifth of one processor at most, unless the run has so many processes that a sample
 * takes longer than a quarter of PACE_MAX_MS: then the limit has priority.  A run that grows
 * faster exceeds the limit by its rate times the sum of PACE_MIN_MS and the time of a sample. */
#ifndef CORRAL_LINUX_SAMPLE_INTERVAL_H
#define CORRAL_LINUX_SAMPLE_INTERVAL_H

#include <stdint.h>

/* plan/limits.c prints these two numbers. */
#define PACE_MIN_MS 5
#define PACE_MAX_MS 100
/* The minimum for processes: a few too many for a moment do less harm than memory. */
#define PACE_PROCESSES_MS 10

/* Page faults on new memory: the kernel zeroes about this much per millisecond and
 * processor. */
#define PACE_BYTES_MS ((int64_t)2 << 20)
/* fork(2) and exit, in processes a millisecond. */
#define PACE_FORKS_MS 5

/* The pause is at least this many times the cost: sampling takes a fifth of the time. */
#define PACE_SHARE 4

static inline int64_t sample_interval_between(int64_t value, int64_t low, int64_t high) {
	return value < low ? low : value > high ? high : value;
}

/* Milliseconds until a run could use the rest of its limit. */
static inline int64_t sample_interval_memory(int64_t left, int64_t processors) {
	return sample_interval_between(left / (PACE_BYTES_MS * processors), PACE_MIN_MS,
				       PACE_MAX_MS);
}

static inline int64_t sample_interval_processes(int64_t left) {
	return sample_interval_between(left / PACE_FORKS_MS, PACE_PROCESSES_MS, PACE_MAX_MS);
}

/* The pause after a sample that took cost_us microseconds. */
static inline int64_t sample_interval_pause(int64_t wanted_ms, int64_t cost_us) {
	int64_t least = cost_us * PACE_SHARE / 1000;

	return sample_interval_between(wanted_ms > least ? wanted_ms : least, PACE_MIN_MS,
				       PACE_MAX_MS);
}

#endif
