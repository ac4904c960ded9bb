/* SPDX-License-Identifier: Apache-2.0 */
/* Why a path cannot be moved or removed, or become a symlink.
 *
 * Should:   name the rule that covers it, or the mount in it.
 * Must not: read the host.
 * Fails:    never. */
#include "plan/refusal.h"

#include "base/path.h"

static bool holds_mount(const struct refusal_question *q) {
	for (size_t i = 0; i < q->plan->nmounts; i++) {
		if (path_within(q->plan->mounts[i].target, q->path)) {
			return true;
		}
	}
	return false;
}

void refusal_judge_link(const struct refusal_question *q, struct verdict *ret) {
	refusal_judge(q, ret);
	if (ret->kind == ERR_NONE && rules_repository(&q->plan->rules, q->path) > 0) {
		refusal_say(q, CAUSE_LEADS_OUT, ret);
	}
}

void refusal_judge_move(const struct refusal_question *q, struct verdict *ret) {
	refusal_judge(q, ret);
	bool kept = ret->kind == ERR_SENSITIVE || ret->cause == CAUSE_PROTECT ||
		    ret->cause == CAUSE_PROTECT_BOUND || ret->cause == CAUSE_GIT_MODULES;
	if (kept || (ret->kind == ERR_NONE && holds_mount(q))) {
		refusal_say(q, CAUSE_KEPT, ret);
	}
}
