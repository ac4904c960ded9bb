/* SPDX-License-Identifier: Apache-2.0 */
/* A log in shared memory of the files that the command created (data/lasting.h).
 *
 * Should:   keep the records that fit, in their order, and count the others.
 * Must not: allocate or lock in the writer; trust the content in the reader.
 * Fails:    open: a record that does not fit is counted, and the result has the count. */
#include "linux/journal.h"

#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Slots of the hash table, by kind and path. */
#define SLOTS 4096

/* One part in RESERVE, of text and slots, is reserved for grave kinds (lasting_is_grave). */
#define RESERVE 4

/* The most bytes of a refused hard link's path: as many as a hint prints. */
#define LINK_PATH 256

struct journal {
	_Atomic uint32_t link; /* 0: none, 1: being written, 2: complete */
	uint32_t link_why;
	char link_path[LINK_PATH];
	_Atomic uint32_t used; /* bytes of complete records in text */
	_Atomic uint32_t lost;
	uint32_t filled;       /* used slots */
	uint32_t slots[SLOTS]; /* 1 + offset of a record; 0: free */
	char text[];           /* records: kind, path, NUL */
};

#define TEXT_SIZE (JOURNAL_SIZE - offsetof(struct journal, text))

int journal_new(struct journal **ret, struct err *e) {
	void *place =
		mmap(NULL, JOURNAL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "journal", "cannot map shared memory for the journal");
	}
	*ret = place;
	return 0;
}

void journal_free(struct journal *j) {
	if (j != NULL) {
		(void)munmap(j, JOURNAL_SIZE); /* it is a mapping of this size */
	}
}

static uint32_t hash_of(char kind, const char *path) {
	return hash_fnv32(hash_fnv32(HASH_FNV32, &kind, 1), path, strlen(path));
}

/* The slot of this record, or the free slot for it.  There is one: the table is never full. */
static uint32_t *slot_of(struct journal *j, char kind, const char *path) {
	for (uint32_t i = hash_of(kind, path);; i++) {
		uint32_t *slot = &j->slots[i % SLOTS];
		if (*slot == 0 || (j->text[*slot - 1] == kind && streq(j->text + *slot, path))) {
			return slot;
		}
	}
}

void journal_add(struct journal *j, enum lasting kind, const char *path) {
	if (j == NULL) {
		return;
	}
	size_t len = strlen(path) + 1;
	uint32_t used = atomic_load_explicit(&j->used, memory_order_relaxed);
	uint32_t *slot = slot_of(j, (char)kind, path);
	size_t room = TEXT_SIZE, slots = SLOTS - 1;
	if (!lasting_is_grave(kind)) {
		room -= room / RESERVE;
		slots -= slots / RESERVE;
	}
	if (*slot != 0) {
		return;
	}
	if (used + 1 + len > room || j->filled >= slots) {
		atomic_fetch_add_explicit(&j->lost, 1, memory_order_relaxed);
		return;
	}
	j->text[used] = (char)kind;
	memcpy(j->text + used + 1, path, len);
	*slot = used + 1;
	j->filled++;
	/* Last: if this process is killed, a reader sees only complete records. */
	atomic_store_explicit(&j->used, used + 1 + (uint32_t)len, memory_order_release);
}

void journal_lose(struct journal *j) {
	if (j != NULL) {
		atomic_fetch_add_explicit(&j->lost, 1, memory_order_relaxed);
	}
}

void journal_move(struct journal *j, const char *from, const char *to) {
	struct journal_entry entry;
	uint32_t until = j == NULL ? 0 : atomic_load_explicit(&j->used, memory_order_relaxed);
	size_t at = 0, head = strlen(to), skip = strlen(from);
	char path[2 * PATH_MAX];

	while (at < until && journal_next(j, &at, &entry)) {
		if (!path_within(entry.path, from)) {
			continue;
		}
		size_t tail = strlen(entry.path + skip);
		if (head + tail + 1 > sizeof path) {
			atomic_fetch_add_explicit(&j->lost, 1, memory_order_relaxed);
			continue;
		}
		memcpy(path, to, head);
		memcpy(path + head, entry.path + skip, tail);
		path[head + tail] = '\0';
		journal_add(j, entry.kind, path);
	}
}

void journal_refuse_link(struct journal *j, enum link_refusal why, const char *path) {
	uint32_t none = 0;
	size_t len = strlen(path);

	if (j == NULL || !atomic_compare_exchange_strong(&j->link, &none, 1)) {
		return;
	}
	len = len < LINK_PATH ? len : 0; /* a truncated path would be another path */
	j->link_why = why;
	memcpy(j->link_path, path, len); /* zero bytes follow */
	atomic_store_explicit(&j->link, 2, memory_order_release);
}

const char *journal_refused_link(const struct journal *j, enum link_refusal *ret_why) {
	if (j == NULL || atomic_load_explicit(&j->link, memory_order_acquire) != 2 ||
	    j->link_path[LINK_PATH - 1] != '\0') {
		return NULL;
	}
	*ret_why = j->link_why == LINK_DENIED ? LINK_DENIED : LINK_UNKNOWN;
	return j->link_path;
}

bool journal_next(const struct journal *j, size_t *at, struct journal_entry *ret) {
	size_t used = j == NULL ? 0 : atomic_load_explicit(&j->used, memory_order_acquire);
	if (used > TEXT_SIZE || *at >= used) {
		return false;
	}
	const char *record = j->text + *at;
	const char *end = memchr(record, '\0', used - *at);
	/* The first kind is 0, like the NUL at the end of a path. */
	end = end == record ? memchr(record + 1, '\0', used - *at - 1) : end;
	if (end == NULL || (unsigned char)record[0] >= LASTING_COUNT || record[1] != '/') {
		return false;
	}
	*ret = (struct journal_entry){.kind = (enum lasting)record[0], .path = record + 1};
	*at += (size_t)(end - record) + 1;
	return true;
}

uint64_t journal_lost(const struct journal *j) {
	return j == NULL ? 0 : atomic_load_explicit(&j->lost, memory_order_relaxed);
}
