/* SPDX-License-Identifier: Apache-2.0 */
/* `corral shell`: starts an interactive shell in the sandbox, on a pty of its own.
 *
 * Should:   start the shell of --shell; else the user's SHELL if the sandbox can execute it,
 *           else bash or sh.
 * Must not: run without a terminal.
 * Fails:    closed, through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

/* These trees are visible in the sandbox with every fs.view. */
static const char *const system_roots[] = {"/bin", "/usr"};

static const char *const fallbacks[] = {"/bin/bash", "/bin/sh"};

static bool usable(const char *path) {
	for (size_t i = 0; i < ARRAY_LEN(system_roots); i++) {
		if (path_within(path, system_roots[i])) {
			return access(path, X_OK) == 0;
		}
	}
	return false;
}

static const char *pick_shell(void) {
	const char *own = getenv("SHELL");

	if (own != NULL && strstr(own, "/../") == NULL && usable(own)) {
		return own;
	}
	return usable(fallbacks[0]) ? fallbacks[0] : fallbacks[1];
}

int verb_shell(struct invocation *inv, struct corral_error *err) {
	const char *argv[] = {inv->shell != NULL ? inv->shell : pick_shell(), NULL};

	if (inv->nwords > 0) {
		return usage_error(err, "corral run -- COMMAND",
				   "`corral shell` takes no command: %s", inv->words[0]);
	}
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		return usage_error(err,
				   "run a shell command without a terminal: corral run -c 'STRING'",
				   "`corral shell` needs a terminal on stdin and stdout");
	}
	return run_for_person(inv, argv, true, err);
}
