/* SPDX-License-Identifier: Apache-2.0 */
/* `corral status`: prints the kernel features of this host, the level that they give, and the
 * remedies that raise it.
 *
 * Should:   exit with 0 when a run with the defaults would start, 1 when not.
 * Must not: start a run.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_status(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	int starts = 0;

	if (inv->nwords > 0) {
		return usage_error(err, "", "`corral status` takes no argument: %s", inv->words[0]);
	}
	if (!inv->json) {
		corral_policy_for_person(inv->policy); /* as `corral run` without --json */
	}
	if (corral_status(inv->policy, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, &starts,
			  err) != 0 ||
	    print_text(text, err) != 0) {
		return -1;
	}
	return starts ? 0 : 1;
}
