/* SPDX-License-Identifier: Apache-2.0 */
/* `corral status`: prints the kernel features of this host, the level that they give, and the
 * remedies that raise it.
 *
 * Should:   exit with 0 when a run with the defaults would start, 1 when not; with --snapshot
 *           print the facts themselves.
 * Must not: start a run.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

/* With the options of a plan, because each plan depends on other files. */
static int print_snapshot(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->json) {
		return usage_error(err, "leave out --json: a snapshot is JSON",
				   "--snapshot contradicts --json");
	}
	return corral_snapshot(inv->policy, &text, err) != 0 ? -1 : print_text(text, err);
}

static int refuse_option(const struct option_row *row, struct corral_error *err) {
	bool letter = row->name == NULL;
	char name[2] = {row->letter, '\0'};
	return usage_error(err, "use `corral explain` for a report on options",
			   "`corral status` takes %s%s only with --snapshot", letter ? "-" : "--",
			   letter ? name : row->name);
}

int verb_status(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	int starts = 0;

	if (inv->nwords > 0) {
		return usage_error(err, "leave it out", "`corral status` takes no argument: %s",
				   inv->words[0]);
	}
	if (inv->snapshot) {
		return print_snapshot(inv, err);
	}
	if (inv->policy_option != NULL) {
		return refuse_option(inv->policy_option, err);
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
