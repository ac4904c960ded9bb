/* `corral test`: plants bait and proves that this host enforces what it reports.
 * Exit 1 when any check fails.
 *
 * The probe that tries things is this program again, by an inner word that no
 * help lists: a shell has no sockets and no signals to a stranger's pid, and
 * what other programs a host has is not known. */
#include "cli/cli.h"

#include "base/auto.h"

#include <limits.h>

int verb_test(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	char program[PATH_MAX];
	int failed = 0;

	if (inv->nwords > 0) {
		return usage_error(err, "", "`corral test` takes no word: %s", inv->words[0]);
	}
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	program[n < 0 ? 0 : n] = '\0';
	if (corral_selftest(inv->policy, program, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text,
			    &failed, err) != 0 ||
	    print_text(text, err) != 0) {
		return -1;
	}
	return failed == 0 ? 0 : 1;
}
