/* SPDX-License-Identifier: Apache-2.0 */
/* `corral explain`: prints the policy and the plan of a run with these options.
 *
 * Should:   print the plan that `corral run` with the same options would use.
 * Must not: run the command.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_explain(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;
	auto_free char *text = NULL;

	if (!inv->json) {
		corral_policy_for_person(inv->policy); /* as `corral run` without --json */
	}
	if (command_argv(inv, &argv, err) != 0 ||
	    corral_explain(inv->policy, argv, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) !=
		    0) {
		return -1;
	}
	return print_text(text, err);
}
