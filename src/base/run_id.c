/* SPDX-License-Identifier: Apache-2.0 */
/* Formats and reads the id of a run.
 *
 * Should:   give ids that sort like the start times.
 * Must not: read the clock or randomness: the caller has both.
 * Fails:    a text that is not an id has the time -1. */
#include "base/run_id.h"

#include <string.h>

/* 2025-01-01T00:00:00Z */
#define EPOCH_MS ((int64_t)1735689600 * 1000)
#define TIME_LENGTH 8

/* In ASCII order, without 0, o, 1 and l, which look alike. */
static const char letters[] = "23456789abcdefghijkmnpqrstuvwxyz";

static void put_digits(uint64_t n, int count, char *out) {
	for (int i = count - 1; i >= 0; i--) {
		out[i] = letters[n & 31];
		n >>= 5;
	}
}

void run_id_text(int64_t since_1970_ms, uint32_t random, char ret[RUN_ID_LENGTH + 1]) {
	int64_t ms = since_1970_ms < EPOCH_MS ? 0 : since_1970_ms - EPOCH_MS;

	put_digits((uint64_t)ms, TIME_LENGTH, ret);
	put_digits(random, RUN_ID_LENGTH - TIME_LENGTH, ret + TIME_LENGTH);
	ret[RUN_ID_LENGTH] = '\0';
}

int64_t run_id_time(const char *id) {
	int64_t ms = 0;

	if (strlen(id) != RUN_ID_LENGTH) {
		return -1;
	}
	for (int i = 0; i < RUN_ID_LENGTH; i++) {
		const char *digit = strchr(letters, id[i]);
		if (digit == NULL) {
			return -1;
		}
		ms = i < TIME_LENGTH ? ms << 5 | (digit - letters) : ms;
	}
	return ms + EPOCH_MS;
}
