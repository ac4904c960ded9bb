/* SPDX-License-Identifier: Apache-2.0 */
/* A log in memory that two processes share: one appends, the other reads, also after the first
 * was killed at any moment.
 *
 * Equal records are one record with a count.  A record is complete or absent: `used` is stored
 * last.  Its bytes do not change after that; its counters may.  The log has a fixed size, and
 * records that do not fit are counted: a flood takes no memory.  An untouched page of it costs
 * nothing. */
#ifndef CORRAL_BASE_SHARED_LOG_H
#define CORRAL_BASE_SHARED_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_LOG_BYTES 294912U /* 288 KiB */
#define SHARED_LOG_SLOTS 4096U

/* The counters of a record. */
struct shared_counters {
	_Atomic uint32_t count;   /* additions */
	_Atomic uint64_t sums[2]; /* at first 0; the writer adds to them */
};

/* A record as it was when it was read. */
struct shared_record {
	const char *bytes;
	uint32_t len;
	uint32_t count;
	uint64_t sums[2];
};

/* All zero is an empty log. */
struct shared_log {
	_Atomic uint32_t used;            /* bytes of complete records */
	uint32_t filled;                  /* used slots */
	_Atomic uint64_t lost;            /* records that did not fit */
	uint32_t slots[SHARED_LOG_SLOTS]; /* 1 + offset of a record; 0: free */
	_Alignas(8) char records[SHARED_LOG_BYTES];
};

/* Appends the record, or counts the equal one.  One part in `reserve` of the space stays free (0:
 * none); NULL: there was no room, which is counted.  One writer; no system call. */
struct shared_counters *shared_log_add(struct shared_log *l, const void *bytes, size_t len,
				       uint32_t reserve);

/* Counts the equal record; NULL: there is none. */
struct shared_counters *shared_log_repeat(struct shared_log *l, const void *bytes, size_t len);

/* Counts a record that could not be made. */
void shared_log_lose(struct shared_log *l);

/* The next record from *at, which starts at 0; false at the end, and for invalid content. */
bool shared_log_next(const struct shared_log *l, size_t *at, struct shared_record *ret);

#endif
