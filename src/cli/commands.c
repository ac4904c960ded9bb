/* SPDX-License-Identifier: Apache-2.0 */
/* `corral commands import COMMAND`: prints the rules that a program's manifest suggests.
 *
 * Should:   print TOML that a person reviews and copies to a policy file.
 * Must not: change a policy file.
 * Fails:    closed, through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_commands_import(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->nwords != 1) {
		return usage_error(err, "corral commands import COMMAND",
				   "`corral commands import` takes exactly one command");
	}
	if (corral_commands_import(inv->words[0], &text, err) != 0) {
		return -1;
	}
	return print_text(text, err);
}
