/* SPDX-License-Identifier: Apache-2.0 */
/* The id of a run: short enough to type, and in the order of the start times.
 *
 * Twelve characters of an alphabet of 32 in ASCII order: eight are the milliseconds since 2025,
 * which lasts until 2059, four are random.  So ids sort as the runs began, two runs of the same
 * millisecond differ, and the last four characters mostly identify a run on their own. */
#ifndef CORRAL_BASE_RUN_ID_H
#define CORRAL_BASE_RUN_ID_H

#include <stdint.h>

#define RUN_ID_LENGTH 12

void run_id_text(int64_t since_1970_ms, uint32_t random, char ret[RUN_ID_LENGTH + 1]);

/* The start time in an id, in milliseconds since 1970; -1 when the text is not an id. */
int64_t run_id_time(const char *id);

#endif
