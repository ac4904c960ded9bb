/* SPDX-License-Identifier: Apache-2.0 */
/* Appends records to a log in shared memory, each once, and reads them back.
 *
 * Should:   keep the records that fit, in their order, and count the others.
 * Must not: allocate or lock in the writer; trust the content in the reader.
 * Fails:    open: a record that does not fit is counted. */
#include "base/shared_log.h"

#include "base/hash.h"

#include <string.h>

/* As it is in the log. */
struct stored {
	struct shared_counters counters;
	uint32_t len;
	char bytes[];
};

/* The offset of the record after one at `at` with `len` bytes. */
static size_t end_of(size_t at, size_t len) {
	size_t end = at + sizeof(struct stored) + len;
	return (end + 7) & ~(size_t)7;
}

static struct stored *stored_at(struct shared_log *l, uint32_t at) {
	return (struct stored *)(void *)(l->records + at);
}

/* The slot of this record, or the free slot for it.  There is one: the table is never full. */
static uint32_t *slot_of(struct shared_log *l, const void *bytes, size_t len) {
	for (uint32_t i = hash_fnv32(HASH_FNV32, bytes, len);; i++) {
		uint32_t *slot = &l->slots[i % SHARED_LOG_SLOTS];
		if (*slot == 0) {
			return slot;
		}
		const struct stored *r = stored_at(l, *slot - 1);
		if (r->len == len && memcmp(r->bytes, bytes, len) == 0) {
			return slot;
		}
	}
}

static uint32_t reduced(uint32_t whole, uint32_t reserve) {
	return reserve == 0 ? whole : whole - whole / reserve;
}

static struct shared_counters *count_again(struct shared_log *l, const uint32_t *slot) {
	struct stored *r = stored_at(l, *slot - 1);

	atomic_fetch_add_explicit(&r->counters.count, 1, memory_order_relaxed);
	return &r->counters;
}

struct shared_counters *shared_log_repeat(struct shared_log *l, const void *bytes, size_t len) {
	const uint32_t *slot = slot_of(l, bytes, len);
	return *slot == 0 ? NULL : count_again(l, slot);
}

struct shared_counters *shared_log_add(struct shared_log *l, const void *bytes, size_t len,
				       uint32_t reserve) {
	uint32_t used = atomic_load_explicit(&l->used, memory_order_relaxed);
	uint32_t *slot = slot_of(l, bytes, len);

	if (*slot != 0) {
		return count_again(l, slot);
	}
	if (len > SHARED_LOG_BYTES || end_of(used, len) > reduced(SHARED_LOG_BYTES, reserve) ||
	    l->filled >= reduced(SHARED_LOG_SLOTS - 1, reserve)) {
		shared_log_lose(l);
		return NULL;
	}
	struct stored *r = stored_at(l, used);
	/* The sums are 0: the memory was never written. */
	atomic_store_explicit(&r->counters.count, 1, memory_order_relaxed);
	r->len = (uint32_t)len;
	memcpy(r->bytes, bytes, len);
	*slot = used + 1;
	l->filled++;
	/* Last: if this process is killed, a reader sees only complete records. */
	atomic_store_explicit(&l->used, (uint32_t)end_of(used, len), memory_order_release);
	return &r->counters;
}

void shared_log_lose(struct shared_log *l) {
	atomic_fetch_add_explicit(&l->lost, 1, memory_order_relaxed);
}

bool shared_log_next(const struct shared_log *l, size_t *at, struct shared_record *ret) {
	uint32_t used = atomic_load_explicit(&l->used, memory_order_acquire);

	if (used > SHARED_LOG_BYTES || *at % 8 != 0 || *at + sizeof(struct stored) > used) {
		return false;
	}
	const struct stored *r = (const struct stored *)(const void *)(l->records + *at);
	*ret = (struct shared_record){.bytes = r->bytes,
				      .len = r->len,
				      .count = r->counters.count,
				      .sums = {r->counters.sums[0], r->counters.sums[1]}};
	if (ret->len > used || end_of(*at, ret->len) > used) {
		return false;
	}
	*at = end_of(*at, ret->len);
	return true;
}
