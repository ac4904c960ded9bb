/* When to sample next: the nearer the limit, the sooner.
 *
 * A sample is due before a run that grows at the assumed rate could reach the limit.  It
 * takes a fifth of one processor at most, unless the run has so many processes that a sample
 * takes longer than a quarter of PACE_MAX_MS: the limit comes first then.  A run that grows
 * faster exceeds the limit by its rate times PACE_MIN_MS and the time that a sample takes. */
#ifndef CORRAL_LINUX_SAMPLE_INTERVAL_H
#define CORRAL_LINUX_SAMPLE_INTERVAL_H

#include <stdint.h>

/* The plan says these two numbers in its report: plan/limits.c. */
#define PACE_MIN_MS 5
#define PACE_MAX_MS 100
/* Of processes at least: a few more for a moment do less harm than memory. */
#define PACE_PROCESSES_MS 10

/* Touching new memory for the first time: the kernel zeroes about this much in a
 * millisecond on each processor. */
#define PACE_BYTES_MS ((int64_t)2 << 20)
/* fork(2) and exit, in processes a millisecond. */
#define PACE_FORKS_MS 5

/* Of five parts of the time one may be spent on sampling. */
#define PACE_SHARE 4

static inline int64_t sample_interval_between(int64_t value, int64_t low, int64_t high) {
	return value < low ? low : value > high ? high : value;
}

/* Milliseconds until a run with this much left could be at its limit. */
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
