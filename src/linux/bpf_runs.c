/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the action of each system call number in the tables of data/syscalls.c.
 *
 * Should:   let the first matching row of shared_rules decide, then a row of syscall_rules; allow a
 *           known call without a row.
 * Must not: allow a number without a call: it returns ENOSYS.
 * Fails:    never. */
#include "linux/bpf_runs.h"

#include "base/auto.h"

#include <assert.h>
#include <errno.h>

uint8_t bpf_runs_leaf(int error, unsigned last) {
	if (error == LET_THROUGH || error == ASK_BROKER) {
		return (uint8_t)(error == ASK_BROKER ? LEAF_ASK : last);
	}
	assert(error >= LEFT_UNDONE && error < LEAF_ASK - LEAF_ERRNO);
	return (uint8_t)(LEAF_ERRNO + error);
}

static uint8_t rule_leaf(const struct syscall_rule *r) {
	switch (r->verdict) {
	case RULE_ALLOW:
		return LEAF_ALLOW;
	case RULE_CHECK:
		return (uint8_t)(LEAF_CHECK + r->check);
	case RULE_ASK:
		return LEAF_ASK;
	case RULE_REFUSE:
		break;
	}
	assert(r->error > 0);
	return bpf_runs_leaf(r->error, LEAF_ALLOW);
}

static bool applies(const struct shared_rule *r, const struct bpf_options *o) {
	return (o->traits & r->with) == r->with && (o->traits & r->without) == 0 &&
	       (r->archs == 0 || (r->archs & 1U << o->arch) != 0);
}

/* From the last row to the first, so that the first matching row decides. */
static void apply_shared(const struct bpf_options *o, uint8_t answer[BPF_RUNS_MAX]) {
	for (size_t i = shared_rules_count; i-- > 0;) {
		const struct shared_rule *r = &shared_rules[i];
		int nr = syscall_names[r->rule.id].nr[o->arch];

		if (nr >= 0 && applies(r, o)) {
			answer[nr] = rule_leaf(&r->rule);
		}
	}
}

/* The calls that the policy denies.  One that is refused anyway keeps its errno: ENOSYS of clone3
 * makes every libc fall back to clone. */
static void apply_denied(const struct bpf_options *o, uint8_t answer[BPF_RUNS_MAX]) {
	for (size_t i = 0; i < CALL_COUNT; i++) {
		int nr = syscall_names[i].nr[o->arch];

		if (nr >= 0 && o->denied[i] &&
		    (answer[nr] < LEAF_ERRNO || answer[nr] == LEAF_ASK)) {
			answer[nr] = LEAF_ERRNO + EPERM;
		}
	}
}

/* The broker has no row for such a call: it records it, and returns the errno of the rule. */
static bool refusal_is_recorded(const struct bpf_options *o, const struct syscall_rule *r) {
	return (o->traits & TRAIT_WATCH) != 0 && r->verdict == RULE_REFUSE && r->error == EPERM;
}

/* The leaf of every number up to one above the newest, as runs. */
size_t bpf_runs_collect(const struct bpf_options *o, struct bpf_run runs[BPF_RUNS_MAX]) {
	uint8_t answer[BPF_RUNS_MAX];
	enum bpf_arch arch = o->arch;
	size_t n = 0;

	for (size_t nr = 0; nr < ARRAY_LEN(answer); nr++) {
		answer[nr] = LEAF_ERRNO + ENOSYS;
	}
	for (size_t i = 0; i < CALL_COUNT; i++) {
		if (syscall_names[i].nr[arch] >= 0) {
			answer[syscall_names[i].nr[arch]] = LEAF_ALLOW;
		}
	}
	for (size_t i = 0; i < syscall_rules_count; i++) {
		int nr = syscall_names[syscall_rules[i].id].nr[arch];

		if (nr >= 0) {
			answer[nr] = refusal_is_recorded(o, &syscall_rules[i])
					     ? LEAF_ASK
					     : rule_leaf(&syscall_rules[i]);
		}
	}
	if (o->traits != 0) {
		apply_shared(o, answer);
	}
	if (o->denied != NULL) {
		apply_denied(o, answer);
	}
	for (uint32_t nr = 0; nr < ARRAY_LEN(answer); nr++) {
		if (n == 0 || runs[n - 1].leaf != answer[nr]) {
			runs[n++] = (struct bpf_run){nr, answer[nr]};
		}
	}
	return n;
}
