/* Should:   keep every decision once, with a count, and count what finds no room.
 * Must not: allocate or lock in the writer, or move `used` before an entry is whole.
 * Fails:    open: a decision holds whether or not there is room to write it down. */
#include "gate/ledger.h"

#include <string.h>
#include <sys/mman.h>

/* Places of entries, found by a hash of what makes them equal; twice as many, so that
 * there is always a free one and the way to it is short. */
#define SLOTS ((size_t)2 * LEDGER_ENTRIES)

/* Of the entries: what one kind leaves for the other.  Neither a flood of refused names hides
 * where the command went, nor the other way round. */
#define RESERVE 4

/* What only the writer uses stands behind what is read. */
struct book {
	struct ledger ledger;
	uint32_t allowed;      /* entries of that kind */
	uint16_t slots[SLOTS]; /* 1 + an entry's index; 0: free */
};

int ledger_new(struct ledger **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct book), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "ledger", "cannot make memory that both sides share");
	}
	*ret = &((struct book *)place)->ledger;
	return 0;
}

void ledger_free(struct ledger *l) {
	if (l != NULL) {
		(void)munmap(l, sizeof(struct book)); /* it is a mapping of this size */
	}
}

static uint32_t hash_bytes(uint32_t hash, const void *data, size_t len) {
	const unsigned char *p = data;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ p[i]) * 16777619U; /* FNV-1a */
	}
	return hash;
}

static uint32_t hash_of(const struct ledger_entry *d) {
	const unsigned char kind[] = {(unsigned char)d->op, (unsigned char)d->outcome,
				      (unsigned char)(d->port >> 8), (unsigned char)d->port};
	uint32_t hash = hash_bytes(2166136261U, kind, sizeof kind);
	hash = hash_bytes(hash, d->name, strnlen(d->name, sizeof d->name));
	return d->has_ip ? hash_bytes(hash, d->ip.b, sizeof d->ip.b) : hash;
}

static bool same(const struct ledger_entry *a, const struct ledger_entry *b) {
	return a->op == b->op && a->outcome == b->outcome && a->port == b->port &&
	       a->has_ip == b->has_ip && a->unread == b->unread &&
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

static bool has_room(const struct book *b, uint32_t used, enum net_outcome outcome) {
	uint32_t of_kind = outcome == NET_ALLOWED ? b->allowed : used - b->allowed;
	return used < LEDGER_ENTRIES && of_kind < LEDGER_ENTRIES - LEDGER_ENTRIES / RESERVE;
}

static void copy_text(char *to, const char *from, size_t cap) {
	size_t len = strnlen(from, cap - 1);
	memcpy(to, from, len);
	to[len] = '\0';
}

/* Into an entry that nobody reads yet. */
static void write_entry(struct ledger_entry *to, const struct ledger_entry *from) {
	to->op = from->op;
	to->outcome = from->outcome;
	to->has_ip = from->has_ip;
	to->ip = from->ip;
	to->port = from->port;
	to->unread = from->unread;
	copy_text(to->name, from->name, sizeof to->name);
	copy_text(to->rule, from->rule, sizeof to->rule);
	copy_text(to->why, from->why, sizeof to->why);
	atomic_store_explicit(&to->sent, 0, memory_order_relaxed);
	atomic_store_explicit(&to->received, 0, memory_order_relaxed);
	atomic_store_explicit(&to->count, 1, memory_order_relaxed);
}

struct ledger_entry *ledger_add(struct ledger *l, const struct ledger_entry *decision) {
	struct book *b = (struct book *)l; /* its first member; ledger_new() made the rest */
	if (l == NULL) {
		return NULL;
	}
	uint16_t *slot = slot_of(b, decision);
	if (*slot != 0) {
		struct ledger_entry *known = &l->entries[*slot - 1];
		atomic_fetch_add_explicit(&known->count, 1, memory_order_relaxed);
		return known;
	}
	uint32_t used = atomic_load_explicit(&l->used, memory_order_relaxed);
	if (!has_room(b, used, decision->outcome)) {
		atomic_fetch_add_explicit(&l->lost, 1, memory_order_relaxed);
		return NULL;
	}
	write_entry(&l->entries[used], decision);
	*slot = (uint16_t)(used + 1);
	b->allowed += decision->outcome == NET_ALLOWED;
	/* Last, and not before: who reads after our death sees whole entries. */
	atomic_store_explicit(&l->used, used + 1, memory_order_release);
	return &l->entries[used];
}
