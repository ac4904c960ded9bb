/* `corral status`: what this host can enforce, the level, and what would raise
 * it.  Exit 0 when a run with the defaults starts, 1 when it does not. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_status(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	int starts = 0;

	if (inv->nwords > 0) {
		return usage_error(err, "", "`corral status` takes no word: %s", inv->words[0]);
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
