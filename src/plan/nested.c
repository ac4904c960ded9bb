/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a sandbox that the command starts inside this one may use (--allow-nested).
 *
 * Landlock and seccomp need no more than system calls: the broker learns of each Landlock domain
 * (linux/broker/domain.c), and the kernel combines seccomp filters.  Namespaces need more.  A
 * process in any Landlock domain cannot mount, so that the run has none of its own then, and the
 * mounts and the broker are alone.  A process with a mount namespace of its own can replace a file
 * that a mount protects in the run's namespace, and a bind mount gives a file another path; so the
 * broker serves every call that changes a file (linux/broker/view.c).
 *
 * The depth comes from variables that the sandbox around sets, CORRAL_LEVEL and, from the second
 * on, CORRAL_DEPTH.  A command can change them.  The number is for reports; no rule depends on it.
 * The kernel's count of seccomp filters says less: containers and services set filters too.
 *
 * Not for root: the kernel maps user 0 only for a process with CAP_SETFCAP, which no process of the
 * run has; and user 0 may write to files of procfs that Landlock alone protects.
 *
 * Should:   allow namespaces only with the broker, and say what is not enforced twice.
 * Must not: change a plan without --allow-nested.
 * Fails:    closed: without a broker a nested sandbox has Landlock and seccomp alone. */
#include "plan/internal.h"

#include "data/syscalls.h"

#include <stdlib.h>

/* The kernel combines at most 16 Landlock domains and 32 KB of filters: a larger number is wrong.
 */
#define DEPTH_MAX 64

unsigned nested_depth(const struct host *h) {
	const char *around = plan_caller_variable(h, "CORRAL_DEPTH");

	if (plan_caller_variable(h, "CORRAL_LEVEL") == NULL) {
		return 1;
	}
	long depth = around == NULL ? 1 : strtol(around, NULL, 10);
	return depth < 1 || depth >= DEPTH_MAX ? 2 : (unsigned)depth + 1;
}

void nested_choose(struct plan *plan, const struct policy *p, const struct host *h) {
	plan->gate_abi = plan->landlock_abi;
	plan->nested = policy_num(p, KEY_NESTED) != 0;
	plan->inner = plan->nested && plan->engine == ENGINE_NAMESPACES && h->notify &&
		      h->sockets && !h->privileged;
	if (plan->inner) {
		plan->landlock_abi = 0;
	}
}

unsigned nested_traits(const struct plan *plan) {
	if (!plan->nested || !plan->broker) {
		return 0;
	}
	return TRAIT_DOMAINS | (plan->inner ? TRAIT_INNER | TRAIT_CHANGES : 0);
}

int nested_check(struct builder *b, struct err *e) {
	const struct value *deny = &b->p->values[KEY_COMMANDS_DEFAULT];

	if (b->plan->inner && deny->set && deny->num == COMMANDS_DENY) {
		char origin[128];
		(void)err_set(e, ERR_USAGE, WHERE,
			      "commands.default deny (%s) contradicts --allow-nested: a nested "
			      "sandbox can mount a file system of its own and execute any file on "
			      "it",
			      policy_origin_text(&deny->origin, origin, sizeof origin));
		return err_fix(e, "remove --allow-nested, or use --level standard, where a nested "
				  "sandbox cannot mount");
	}
	if (b->plan->inner) {
		plan_note(b, "a nested sandbox may create namespaces: the mounts and the broker "
			     "enforce the file rules, and Landlock does not enforce them a second "
			     "time");
	} else if (b->plan->nested && b->plan->engine >= ENGINE_LANDLOCK) {
		plan_note(b, b->h->privileged
				     ? "a nested sandbox may use Landlock and seccomp; for root it "
				       "cannot create namespaces: run Corral as another user"
				     : "a nested sandbox may use Landlock and seccomp; it cannot "
				       "create namespaces");
	}
	return 0;
}
