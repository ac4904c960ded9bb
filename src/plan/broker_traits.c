/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the system calls that the seccomp filter sends to the broker, on the namespaces engine.
 *
 * Should:   send changes where a rule applies to a writable tree, opens where a pattern denies,
 *           and connects of unix sockets.
 * Must not: send calls that no rule needs: every notification costs the command a round trip.
 * Fails:    closed: without a broker there is a note, and the guarantees do not count on it. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"

static bool is_about(const struct rule *r, const char *tree) {
	return path_within(r->anchor, tree) || path_within(tree, r->anchor);
}

/* Whether a rule applies in the tree. */
static bool rules_are_about(const struct builder *b, const struct mount_request *w) {
	for (size_t i = 0; i < b->plan->rules.count; i++) {
		if (is_about(&b->plan->rules.list[i], w->m.target)) {
			return true;
		}
	}
	return false;
}

unsigned broker_traits_set(const struct builder *b) {
	unsigned traits = b->plan->rules.reads ? TRAIT_READS : 0;
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && w->m.writable && rules_are_about(b, w)) {
			return traits | TRAIT_CHANGES;
		}
	}
	return traits;
}

/* In mode read-only the kernel refuses changes without the broker, which then records none. */
static unsigned recorded(const struct builder *b) {
	const struct plan *plan = b->plan;
	bool records = plan->broker && plan->judges && plan->denials != DENIALS_OFF;

	return records && b->read_only ? TRAIT_CHANGES | TRAIT_MARKS : 0;
}

unsigned broker_traits_watch(const struct builder *b, unsigned traits) {
	const struct plan *plan = b->plan;

	traits |= recorded(b);
	/* TRAIT_CHANGES: the broker serves openat(2) for another reason. */
	if (plan->broker && (traits & TRAIT_CHANGES) != 0 && plan->denials == DENIALS_ALL) {
		traits |= TRAIT_WATCH | TRAIT_WATCH_EXEC;
	}
	return traits;
}

unsigned broker_traits_ask(const struct builder *b) {
	bool served = b->plan->broker && b->plan->judges && b->h->asks;

	return served ? TRAIT_READS | TRAIT_CHANGES | TRAIT_MARKS : 0;
}

void broker_traits_needed(struct builder *b) {
	struct plan *plan = b->plan;
	plan->exceptions = broker_traits_set(b);
	plan->broker = plan->judges && (plan->exceptions != 0 || b->h->sockets || b->h->asks);
	plan->traits = plan->broker ? TRAIT_BROKER | plan->exceptions : 0;
	plan->traits |= nested_traits(plan);
	if ((plan->traits & TRAIT_CHANGES) != 0) {
		plan->traits |= TRAIT_MARKS;
	}
	if (plan->broker && b->h->sockets) {
		bool open =
			plan->landlock_abi >= LANDLOCK_ABI_UNIX || plan_accepts_loss(b->p, "ipc");
		plan->traits |= TRAIT_SOCKETS | (open ? TRAIT_DATAGRAMS : 0);
	}
	plan->traits = broker_traits_watch(b, plan->traits | broker_traits_ask(b));
	if (plan->exceptions != 0 && !b->h->notify && b->h->notify_why != NULL) {
		plan_note(b,
			  plan_keep_printf(b, "the broker is not available: %s", b->h->notify_why));
	}
}
