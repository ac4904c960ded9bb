/* SPDX-License-Identifier: Apache-2.0 */
/* Shell strings, which a model writes, and patterns.
 *
 * The parser ends, its words lie in the text's bounds, and a text with a line before it has the
 * commands of both. */
#include "command/match.h"
#include "command/shell.h"

#include "base/auto.h"
#include "fuzz.h"

static void check_script(const struct shell_script *script, const char *text) {
	size_t len = strlen(text);

	HOLDS(script->ncommands <= SHELL_COMMANDS_MAX);
	for (size_t i = 0; i < script->ncommands; i++) {
		const struct shell_command *c = &script->commands[i];
		HOLDS(c->len <= len);
		for (size_t k = 0; k < c->nwords; k++) {
			HOLDS(strlen(c->words[k].text) <= len);
			HOLDS(!c->words[k].splits || c->words[k].dynamic);
		}
	}
}

static void check_matching(struct arena *a, const struct shell_script *script,
			   const char *pattern) {
	for (size_t i = 0; i < script->ncommands && i < 16; i++) {
		const struct shell_command *c = &script->commands[i];
		struct match_arguments m;
		if (c->nwords == 0) {
			continue;
		}
		HOLDS(match_arguments(a, "git", c->words + 1, c->nwords - 1, &m));
		(void)match_pattern(&m, pattern, false);
		/* A blocked pattern never matches less than the same pattern as allowed. */
		HOLDS(match_pattern(&m, pattern, true) <= match_pattern(&m, pattern, false));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	struct shell_script script, again;
	struct shell_fault fault;
	struct arena a;

	arena_init(&a);
	if (shell_parse(&a, text, &script, &fault)) {
		check_script(&script, text);
		char pattern[512];
		(void)snprintf(pattern, sizeof pattern, "%.500s", text);
		check_matching(&a, &script, pattern);
		const char *more = arena_printf(&a, "first\n%s", text);
		HOLDS(more != NULL);
		if (strlen(more) < SHELL_TEXT_MAX && script.ncommands < SHELL_COMMANDS_MAX) {
			HOLDS(shell_parse(&a, more, &again, &fault));
			HOLDS(again.ncommands == script.ncommands + 1);
		}
	} else {
		HOLDS(fault.why != NULL && fault.at <= SHELL_TEXT_MAX + strlen(text));
	}
	arena_done(&a);
	return 0;
}
