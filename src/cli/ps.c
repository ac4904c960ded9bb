/* SPDX-License-Identifier: Apache-2.0 */
/* `corral ps`: lists the user's live runs.
 *
 * Should:   print one line a run, or JSON.
 * Must not: start or change a run.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_ps(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->nwords > 0) {
		return usage_error(err, "corral ps [--json]", "`corral ps` takes no argument: %s",
				   inv->words[0]);
	}
	if (corral_runs(inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) != 0) {
		return -1;
	}
	return print_text(text, err);
}
