/* SPDX-License-Identifier: Apache-2.0 */
/* `corral diff`, `corral apply`, `corral discard`: the changes of runs with --cow.
 *
 * Should:   write a patch to a pipe or file byte for byte.
 * Must not: write control characters of a changed file to a terminal.
 * Fails:    through the library's error; the workspace is then unchanged. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

#include <unistd.h>

static void hide_for_terminal(char *text) {
	for (char *p = text; *p != '\0';) {
		size_t n = *p == '\n' || *p == '\t' ? 0 : str_control_length(p);
		memset(p, '?', n);
		p += n > 0 ? n : str_char_length(p);
	}
}

/* The arguments after the id, NULL-terminated; the caller frees the array. */
static const char **paths_of(const struct invocation *inv) {
	const char **paths = calloc(inv->nwords + 1, sizeof *paths);
	for (size_t i = 1; paths != NULL && i < inv->nwords; i++) {
		paths[i - 1] = inv->words[i];
	}
	return paths;
}

static enum corral_format format_of(const struct invocation *inv) {
	return inv->json ? CORRAL_JSON : CORRAL_TEXT;
}

static int print_changes(char *text, const struct invocation *inv, struct corral_error *err) {
	if (!inv->json && isatty(STDOUT_FILENO)) {
		hide_for_terminal(text);
	}
	/* An empty patch prints nothing: print_text() would add a newline. */
	return text[0] == '\0' ? 0 : print_text(text, err);
}

int verb_diff(struct invocation *inv, struct corral_error *err) {
	auto_free const char **paths = paths_of(inv);

	if (paths == NULL) {
		return memory_error(err);
	}
	auto_free char *text = NULL;
	int rc = inv->nwords == 0
			 ? corral_cow_list(format_of(inv), &text, err)
			 : corral_cow_diff(inv->words[0], paths, format_of(inv), &text, err);
	return rc != 0 ? -1 : print_changes(text, inv, err);
}

int verb_apply(struct invocation *inv, struct corral_error *err) {
	auto_free const char **paths = paths_of(inv);

	if (paths == NULL) {
		return memory_error(err);
	}
	if (inv->nwords == 0) {
		return usage_error(err, "list the pending runs: corral diff", "no id given");
	}
	struct corral_cow_options how = {.size = sizeof how, .paths = paths, .force = inv->force};
	auto_free char *text = NULL;
	if (corral_cow_apply(inv->policy, inv->words[0], &how, format_of(inv), &text, err) != 0) {
		return -1;
	}
	return print_changes(text, inv, err);
}

int verb_discard(struct invocation *inv, struct corral_error *err) {
	if (inv->all != (inv->nwords == 0)) {
		return usage_error(err, "corral discard ID..., or corral discard --all",
				   inv->all ? "--all and ID cannot be combined" : "no id given");
	}
	if (inv->all) {
		return corral_cow_discard(NULL, err);
	}
	for (size_t i = 0; i < inv->nwords; i++) {
		if (corral_cow_discard(inv->words[i], err) != 0) {
			return -1;
		}
	}
	return 0;
}
