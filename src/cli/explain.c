/* SPDX-License-Identifier: Apache-2.0 */
/* `corral explain`: prints the policy and the plan of a run with these options.
 *
 * Should:   print the plan that `corral run` with the same options would use, here or, with
 *           --host, on the host of a snapshot; with --prompt in plain words for a model; with
 *           --seatbelt the profile that macOS would get.
 * Must not: run the command.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_explain(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;
	auto_free char *text = NULL;

	if (inv->json + inv->prompt + inv->seatbelt > 1) {
		return usage_error(err, "use one of them",
				   "--json, --prompt and --seatbelt cannot be combined");
	}
	if (!inv->json && !inv->prompt) {
		corral_policy_for_person(inv->policy); /* as `corral run` without --json */
	}
	enum corral_format format = inv->json       ? CORRAL_JSON
				    : inv->prompt   ? CORRAL_PROMPT
				    : inv->seatbelt ? CORRAL_SEATBELT
						    : CORRAL_TEXT;
	if (command_argv(inv, &argv, err) != 0) {
		return -1;
	}
	int rc = inv->host != NULL
			 ? corral_explain_host(inv->policy, inv->host, argv, format, &text, err)
			 : corral_explain(inv->policy, argv, format, &text, err);
	return rc != 0 ? -1 : print_text(text, err);
}
