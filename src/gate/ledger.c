/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's log of decisions in shared memory.
 *
 * Should:   keep every decision once, with a count; add up decisions that find no room in one
 *           entry for each operation, outcome and rule.
 * Must not: allocate or lock in the writer, or move `used` before an entry is complete.
 * Fails:    open: a decision is carried out even if there is no room to record it. */
#include "gate/ledger.h"

#include "base/hash.h"

#include <string.h>
#include <sys/mman.h>

/* Open addressing by a hash of the compared fields; twice as many slots as entries, so that a free
 * slot exists and is near. */
#define SLOTS ((size_t)2 * LEDGER_ENTRIES)

/* A flood of one kind must not hide the others: refused names must not hide the connections, and
 * looked-up names must not hide the refusals.  Each kind has reserved places; SHARED_PLACES go to
 * the first entries beyond those.  SUMS are for decisions without a place: one entry for each
 * operation, outcome and rule. */
enum kind { KIND_REFUSED, KIND_REACHED, KIND_RESOLVED, KIND_COUNT };

static const uint32_t reserved[KIND_COUNT] = {
	[KIND_REFUSED] = 192, [KIND_REACHED] = 128, [KIND_RESOLVED] = 64};
#define SHARED_PLACES 96
#define SUMS 32

_Static_assert(192 + 128 + 64 + SHARED_PLACES + SUMS == LEDGER_ENTRIES, "every place is assigned");

static const char unlisted[] = "more than the report lists one by one";

/* The fields after `ledger` are for the writer only. */
struct book {
	struct ledger ledger;
	uint32_t of[KIND_COUNT]; /* entries of each kind */
	uint32_t shared;         /* of them, those beyond the reserved places */
	uint32_t sums;
	uint16_t slots[SLOTS]; /* 1 + an entry's index; 0: free */
};

int ledger_new(struct ledger **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct book), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "ledger", "cannot map the shared memory of the network log");
	}
	*ret = &((struct book *)place)->ledger;
	return 0;
}

void ledger_free(struct ledger *l) {
	if (l != NULL) {
		(void)munmap(l, sizeof(struct book)); /* cannot fail: a mapping of this size */
	}
}

static uint32_t hash_of(const struct ledger_entry *d) {
	const unsigned char kind[] = {(unsigned char)d->op, (unsigned char)d->outcome,
				      (unsigned char)(d->port >> 8), (unsigned char)d->port};
	uint32_t hash = hash_fnv32(HASH_FNV32, kind, sizeof kind);
	hash = hash_fnv32(hash, d->name, strnlen(d->name, sizeof d->name));
	return d->has_ip ? hash_fnv32(hash, d->ip.b, sizeof d->ip.b) : hash;
}

static bool same(const struct ledger_entry *a, const struct ledger_entry *b) {
	return a->op == b->op && a->outcome == b->outcome && a->port == b->port &&
	       a->has_ip == b->has_ip && a->unread == b->unread && a->own == b->own &&
	       a->leak == b->leak &&
	       (!a->has_ip || memcmp(a->ip.b, b->ip.b, sizeof a->ip.b) == 0) &&
	       strncmp(a->name, b->name, sizeof a->name - 1) == 0 &&
	       strncmp(a->rule, b->rule, sizeof a->rule - 1) == 0 &&
	       strncmp(a->why, b->why, sizeof a->why - 1) == 0;
}

/* The slot that has this decision, or the free one where it belongs. */
static uint16_t *slot_of(struct book *b, const struct ledger_entry *d) {
	for (size_t i = hash_of(d) % SLOTS;; i = (i + 1) % SLOTS) {
		uint16_t *slot = &b->slots[i];
		if (*slot == 0 || same(&b->ledger.entries[*slot - 1], d)) {
			return slot;
		}
	}
}

static enum kind kind_of(const struct ledger_entry *d) {
	if (d->outcome != NET_ALLOWED) {
		return KIND_REFUSED;
	}
	return d->op == NET_OP_RESOLVE ? KIND_RESOLVED : KIND_REACHED;
}

/* Takes a place for an entry of this kind; false: none is left. */
static bool take_place(struct book *b, enum kind kind) {
	bool own = b->of[kind] < reserved[kind];

	if (!own && b->shared == SHARED_PLACES) {
		return false;
	}
	b->of[kind]++;
	b->shared += !own;
	return true;
}

static void copy_text(char *to, const char *from, size_t cap) {
	size_t len = strnlen(from, cap - 1);
	memcpy(to, from, len);
	to[len] = '\0';
}

/* Into an entry beyond `used`, which the supervisor does not read yet. */
static void write_entry(struct ledger_entry *to, const struct ledger_entry *from) {
	to->op = from->op;
	to->outcome = from->outcome;
	to->has_ip = from->has_ip;
	to->ip = from->ip;
	to->port = from->port;
	to->unread = from->unread;
	to->own = from->own;
	to->leak = from->leak;
	copy_text(to->name, from->name, sizeof to->name);
	copy_text(to->rule, from->rule, sizeof to->rule);
	copy_text(to->why, from->why, sizeof to->why);
	atomic_store_explicit(&to->sent, 0, memory_order_relaxed);
	atomic_store_explicit(&to->received, 0, memory_order_relaxed);
	atomic_store_explicit(&to->count, 1, memory_order_relaxed);
}

static struct ledger_entry *add(struct book *b, uint16_t *slot, const struct ledger_entry *d) {
	struct ledger *l = &b->ledger;
	uint32_t used = atomic_load_explicit(&l->used, memory_order_relaxed);

	write_entry(&l->entries[used], d);
	*slot = (uint16_t)(used + 1);
	/* Last: the supervisor reads after the gate was killed, and must see complete entries. */
	atomic_store_explicit(&l->used, used + 1, memory_order_release);
	return &l->entries[used];
}

static struct ledger_entry *count_on(struct book *b, const uint16_t *slot) {
	struct ledger_entry *known = &b->ledger.entries[*slot - 1];

	atomic_fetch_add_explicit(&known->count, 1, memory_order_relaxed);
	return known;
}

/* The entry for decisions without a place that have the same operation, outcome and rule. */
static struct ledger_entry *add_to_sum(struct book *b, const struct ledger_entry *d) {
	struct ledger_entry sum = {.op = d->op, .outcome = d->outcome};

	copy_text(sum.rule, d->rule, sizeof sum.rule);
	copy_text(sum.why, unlisted, sizeof sum.why);
	atomic_fetch_add_explicit(&b->ledger.lost, 1, memory_order_relaxed);
	uint16_t *slot = slot_of(b, &sum);
	if (*slot != 0) {
		return count_on(b, slot);
	}
	if (b->sums == SUMS) {
		return NULL;
	}
	b->sums++;
	return add(b, slot, &sum);
}

struct ledger_entry *ledger_add(struct ledger *l, const struct ledger_entry *decision) {
	struct book *b = (struct book *)l; /* its first member; ledger_new() allocated the rest */
	if (l == NULL) {
		return NULL;
	}
	uint16_t *slot = slot_of(b, decision);
	if (*slot != 0) {
		return count_on(b, slot);
	}
	return take_place(b, kind_of(decision)) ? add(b, slot, decision) : add_to_sum(b, decision);
}
