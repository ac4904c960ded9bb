/* SPDX-License-Identifier: Apache-2.0 */
/* `corral home list`, `corral home clean`: lists and removes the private homes of workspaces.
 *
 * Should:   prompt before it removes homes that were not named on the command line; without a
 *           terminal require --yes, so that a script never waits.
 * Must not: remove anything after any other answer than yes.
 * Fails:    through the library's error; a home that a run uses is kept (status 1). */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATUS_LEFT 1

static enum corral_format format_of(const struct invocation *inv) {
	return inv->json ? CORRAL_JSON : CORRAL_TEXT;
}

int verb_home_list(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->nwords > 0) {
		return usage_error(err, "corral home list [--json]",
				   "`corral home list` takes no argument: %s", inv->words[0]);
	}
	if (corral_home_list(format_of(inv), &text, err) != 0) {
		return -1;
	}
	return print_text(text, err);
}

/* The homes named on the command line, NULL-terminated; the caller frees the array. */
static const char **names_of(const struct invocation *inv) {
	const char **names = calloc(inv->nwords + 1, sizeof *names);
	for (size_t i = 0; names != NULL && i < inv->nwords; i++) {
		names[i] = inv->words[i];
	}
	return names;
}

/* 1: yes; 0: no; -1: there is no terminal to prompt on. */
static int prompt(struct corral_error *err) {
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		return usage_error(
			err,
			"list them: corral home clean --dry-run; then remove them: corral "
			"home clean --yes",
			"home clean needs --yes when stdin or stderr is not a terminal");
	}
	(void)fprintf(stderr, "remove them? [y/N] ");
	(void)fflush(stderr);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (streq(answer, "y\n") || streq(answer, "yes\n"));
}

/* Lists the homes to remove, and prompts; 1 when the answer is yes. */
static int confirm(const struct corral_home_options *how, struct corral_error *err) {
	struct corral_home_options look = *how;
	auto_free char *text = NULL;

	look.dry_run = 1;
	if (corral_home_clean(&look, CORRAL_TEXT, &text, NULL, err) != 0) {
		return -1;
	}
	if (text[0] == '\0') {
		return 1; /* nothing to remove */
	}
	print_note("these private homes would be removed:");
	(void)fprintf(stderr, "%s", text);
	return prompt(err);
}

int verb_home_clean(struct invocation *inv, struct corral_error *err) {
	auto_free const char **names = names_of(inv);

	if (names == NULL) {
		return memory_error(err);
	}
	if (inv->all && inv->nwords > 0) {
		return usage_error(err, "corral home clean HOME..., or corral home clean --all",
				   "--all and HOME cannot be combined");
	}
	struct corral_home_options how = {.size = sizeof how,
					  .names = inv->nwords == 0 ? NULL : names,
					  .all = inv->all,
					  .dry_run = inv->dry_run};
	int sure = inv->nwords > 0 || inv->yes || inv->dry_run ? 1 : confirm(&how, err);
	if (sure <= 0) {
		return sure;
	}
	auto_free char *text = NULL;
	size_t left = 0;
	if (corral_home_clean(&how, format_of(inv), &text, &left, err) != 0 ||
	    print_text(text[0] == '\0' ? "nothing to remove" : text, err) != 0) {
		return -1;
	}
	if (left > 0 && !inv->dry_run) {
		print_note("kept %zu home%s that a run uses; list the runs: corral ps", left,
			   left == 1 ? "" : "s");
	}
	return left > 0 && !inv->dry_run ? STATUS_LEFT : 0;
}
