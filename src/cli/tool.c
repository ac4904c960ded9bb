/* SPDX-License-Identifier: Apache-2.0 */
/* `corral tool install|list|rm`: programs of the user that runs get with --tool.
 *
 * Should:   name in `tool list` each tool that is not as it was installed.
 * Must not: run a tool.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"

int verb_tool_install(struct invocation *inv, struct corral_error *err) {
	if (inv->nwords != 2) {
		return usage_error(err, "corral tool install NAME FILE",
				   "`corral tool install` takes a name and a file");
	}
	return corral_tool_install(inv->words[0], inv->words[1], err);
}

int verb_tool_list(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->nwords > 0) {
		return usage_error(err, "corral tool list [--json]",
				   "`corral tool list` takes no argument: %s", inv->words[0]);
	}
	if (corral_tool_list(inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) != 0) {
		return -1;
	}
	return print_text(text[0] == '\0' ? "no tools are installed (corral tool install NAME FILE)"
					  : text,
			  err);
}

int verb_tool_rm(struct invocation *inv, struct corral_error *err) {
	if (inv->nwords == 0) {
		return usage_error(err, "corral tool rm NAME...", "no tool given");
	}
	for (size_t i = 0; i < inv->nwords; i++) {
		if (corral_tool_remove(inv->words[i], err) != 0) {
			return -1;
		}
	}
	return 0;
}
