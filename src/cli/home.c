/* `corral home list`, `corral home clean`: the private homes of workspaces.
 *
 * Should:   ask a person before homes go that nobody named; be told by --yes where nobody can
 *           be asked, so that a script never waits.
 * Must not: remove anything after any other answer than yes.
 * Fails:    through the library's error. */
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
		return usage_error(err, "corral home list [--json]", "home list takes no words: %s",
				   inv->words[0]);
	}
	if (corral_home_list(format_of(inv), &text, err) != 0) {
		return -1;
	}
	return print_text(text, err);
}

/* The words with a NULL behind them; freed by the caller. */
static const char **names_of(const struct invocation *inv) {
	const char **names = calloc(inv->nwords + 1, sizeof *names);
	for (size_t i = 0; names != NULL && i < inv->nwords; i++) {
		names[i] = inv->words[i];
	}
	return names;
}

/* 1: yes; 0: no; -1: nobody can be asked. */
static int ask(struct corral_error *err) {
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		return usage_error(err, "add --yes, or look first with --dry-run",
				   "home clean removes these homes only with --yes where no "
				   "terminal can be asked");
	}
	(void)fprintf(stderr, "remove these private homes? [y/N] ");
	(void)fflush(stderr);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (streq(answer, "y\n") || streq(answer, "yes\n"));
}

/* Shows what would go, and asks; 1 when it may. */
static int confirm(const struct corral_home_options *how, struct corral_error *err) {
	struct corral_home_options look = *how;
	auto_free char *text = NULL;

	look.dry_run = 1;
	if (corral_home_clean(&look, CORRAL_TEXT, &text, NULL, err) != 0) {
		return -1;
	}
	if (text[0] == '\0') {
		return 1; /* nothing would */
	}
	say("to be removed:");
	(void)fprintf(stderr, "%s", text);
	return ask(err);
}

int verb_home_clean(struct invocation *inv, struct corral_error *err) {
	auto_free const char **names = names_of(inv);

	if (names == NULL) {
		return memory_error(err);
	}
	if (inv->all && inv->nwords > 0) {
		return usage_error(err, "corral home clean HOME..., or corral home clean --all",
				   "--all and a home exclude each other");
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
		say("%zu of them in use by a run, and kept: corral ps", left);
	}
	return left > 0 && !inv->dry_run ? STATUS_LEFT : 0;
}
