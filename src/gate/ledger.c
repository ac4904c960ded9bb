/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's log of decisions in shared memory.
 *
 * Should:   keep every decision once, with a count; add up decisions that find no room in one
 *           entry for each operation, outcome and rule.
 * Must not: allocate or lock in the writer.
 * Fails:    open: a decision is carried out even if there is no room to record it. */
#include "gate/ledger.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* A flood of one kind must not hide the others: refused names must not hide the connections, and
 * looked-up names must not hide the refusals.  Each kind has reserved places; SHARED_PLACES go to
 * the first entries beyond those.  SUMS are for decisions without a place: one entry for each
 * operation, outcome and rule. */
static const uint32_t reserved[LEDGER_KINDS] = {
	[LEDGER_REFUSED] = 192, [LEDGER_REACHED] = 128, [LEDGER_RESOLVED] = 64};
#define SHARED_PLACES 96
#define SUMS 32

_Static_assert(192 + 128 + 64 + SHARED_PLACES + SUMS == LEDGER_ENTRIES, "every place is assigned");

/* The bytes of an entry that make the record. */
#define RECORD offsetof(struct ledger_entry, count)

_Static_assert(RECORD == sizeof(enum net_op) + sizeof(enum net_outcome) + sizeof(struct ip) +
				 sizeof(uint16_t) + 4 * sizeof(bool) + HOSTNAME_MAX + 1 +
				 (size_t)2 * LEDGER_TEXT,
	       "no padding: records are compared as bytes");
_Static_assert((RECORD + sizeof(struct shared_counters) + 16) * LEDGER_ENTRIES <= SHARED_LOG_BYTES,
	       "a record fits for each place");

static const char unlisted[] = "more than the report lists one by one";

int ledger_new(struct ledger **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "ledger", "cannot map the shared memory of the network log");
	}
	*ret = place;
	return 0;
}

void ledger_free(struct ledger *l) {
	if (l != NULL) {
		(void)munmap(l, sizeof(struct ledger)); /* cannot fail: a mapping of this size */
	}
}

static enum ledger_kind kind_of(const struct ledger_entry *d) {
	if (d->outcome != NET_ALLOWED) {
		return LEDGER_REFUSED;
	}
	return d->op == NET_OP_RESOLVE ? LEDGER_RESOLVED : LEDGER_REACHED;
}

/* Takes a place for an entry of this kind; false: none is left. */
static bool take_place(struct ledger *l, enum ledger_kind kind) {
	bool own = l->of[kind] < reserved[kind];

	if (!own && l->shared == SHARED_PLACES) {
		return false;
	}
	l->of[kind]++;
	l->shared += !own;
	return true;
}

/* The rest of `to` is zero. */
static void copy_text(char *to, const char *from, size_t cap) {
	memcpy(to, from, strnlen(from, cap - 1));
}

/* Equal decisions have equal bytes: nothing after the end of a text, no address that is not used.
 */
static void write_record(struct ledger_entry *to, const struct ledger_entry *from) {
	memset(to, 0, sizeof *to);
	to->op = from->op;
	to->outcome = from->outcome;
	to->port = from->port;
	to->has_ip = from->has_ip;
	to->unread = from->unread;
	to->own = from->own;
	to->leak = from->leak;
	if (from->has_ip) {
		to->ip = from->ip;
	}
	copy_text(to->name, from->name, sizeof to->name);
	copy_text(to->rule, from->rule, sizeof to->rule);
	copy_text(to->why, from->why, sizeof to->why);
}

/* The entry for decisions without a place that have the same operation, outcome and rule. */
static struct shared_counters *add_to_sum(struct ledger *l, const struct ledger_entry *d) {
	struct ledger_entry sum = {.op = d->op, .outcome = d->outcome};

	copy_text(sum.rule, d->rule, sizeof sum.rule);
	copy_text(sum.why, unlisted, sizeof sum.why);
	shared_log_lose(&l->log);
	struct shared_counters *known = shared_log_repeat(&l->log, &sum, RECORD);
	if (known != NULL || l->sums == SUMS) {
		return known;
	}
	l->sums++;
	return shared_log_add(&l->log, &sum, RECORD, 0);
}

struct shared_counters *ledger_add(struct ledger *l, const struct ledger_entry *decision) {
	struct ledger_entry record;

	if (l == NULL) {
		return NULL;
	}
	write_record(&record, decision);
	struct shared_counters *known = shared_log_repeat(&l->log, &record, RECORD);
	if (known != NULL) {
		return known;
	}
	return take_place(l, kind_of(&record)) ? shared_log_add(&l->log, &record, RECORD, 0)
					       : add_to_sum(l, &record);
}

bool ledger_next(const struct ledger *l, size_t *at, struct ledger_entry *ret) {
	struct shared_record r;

	if (!shared_log_next(&l->log, at, &r) || r.len != RECORD) {
		return false;
	}
	memcpy(ret, r.bytes, RECORD); /* the writer may change it while the caller checks it */
	ret->count = r.count;
	ret->sent = r.sums[LEDGER_SENT];
	ret->received = r.sums[LEDGER_RECEIVED];
	return true;
}
