/* SPDX-License-Identifier: Apache-2.0 */
/* `corral test`: plants bait files, sockets and processes, and checks that a sandboxed program
 * cannot reach them.
 *
 * The attacking program is this binary itself, started with a hidden verb (PROBE_WORD): a
 * shell has no sockets, and no other program is certain to be installed.
 *
 * Should:   exit with 1 when any check fails.
 * Must not: touch files of the user other than its own bait.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/read_link.h"

#include <limits.h>

int verb_test(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	char program[PATH_MAX];
	int failed = 0;

	if (inv->nwords > 0) {
		return usage_error(err, "leave it out", "`corral test` takes no argument: %s",
				   inv->words[0]);
	}
	if (!read_link("/proc/self/exe", program, sizeof program)) {
		program[0] = '\0';
	}
	if (corral_selftest(inv->policy, program, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text,
			    &failed, err) != 0 ||
	    print_text(text, err) != 0) {
		return -1;
	}
	return failed == 0 ? 0 : 1;
}
