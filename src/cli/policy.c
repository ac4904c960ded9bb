/* SPDX-License-Identifier: Apache-2.0 */
/* `corral policy show|check|schema|import|trust`: prints, validates, converts and trusts policies.
 *
 * Should:   print a verdict on stdout for each file of `policy check`.
 * Must not: print control characters of a file name or a policy.
 * Fails:    `policy check` with status 2 when any file is invalid; else with the library's
 *           error. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static int no_words(const struct invocation *inv, struct corral_error *err) {
	if (inv->nwords > 0) {
		return usage_error(err, "leave it out", "`corral %s` takes no argument: %s",
				   inv->verb->name, inv->words[0]);
	}
	return 0;
}

int verb_policy_show(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (!inv->json) {
		corral_policy_for_person(inv->policy); /* as `corral run` without --json */
	}
	if (no_words(inv, err) != 0 ||
	    corral_policy_show(inv->policy, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) !=
		    0) {
		return -1;
	}
	return print_text(text, err);
}

int verb_policy_schema(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	bool skill = inv->nwords == 1 && streq(inv->words[0], "skill");
	if (!skill && no_words(inv, err) != 0) {
		return -1;
	}
	int rc = skill ? corral_skill_schema(&text, err) : corral_policy_schema(&text, err);
	return rc != 0 ? -1 : print_text(text, err);
}

/* Prints the verdict on one file.  An invalid file is a verdict, not a failure of the check:
 * *err stays empty. */
static int check_one(const char *path, bool *ret_ok, struct corral_error *err) {
	struct corral_error found = {0};
	auto_free char *warnings = NULL;
	struct buf line;

	*ret_ok = corral_policy_review(path, &warnings, &found) == 0;
	buf_init(&line);
	buf_puts(&line, path);
	if (!buf_failed(&line)) {
		str_hide_controls(line.data, false); /* a name may contain a newline */
	}
	buf_printf(&line, ": %s", *ret_ok ? "ok" : found.message);
	if (warnings != NULL && warnings[0] != '\0') {
		buf_printf(&line, "\n%s", warnings);
	}
	if (found.sys_errno != 0) {
		buf_printf(&line, ": %s", strerror(found.sys_errno));
	}
	if (found.remedy[0] != '\0') {
		buf_printf(&line, "\n  remedy: %s", found.remedy);
	}
	if (!buf_failed(&line)) {
		str_hide_controls(line.data, true);
	}
	int rc = buf_failed(&line) ? memory_error(err) : print_text(line.data, err);
	buf_done(&line);
	return rc;
}

int verb_policy_check(struct invocation *inv, struct corral_error *err) {
	size_t bad = 0;

	if (inv->nwords == 0) {
		return usage_error(err, "corral policy check FILE...", "no file given");
	}
	if (check_caller(err) != 0) {
		return -1;
	}
	for (size_t i = 0; i < inv->nwords; i++) {
		bool ok = false;
		if (check_one(inv->words[i], &ok, err) != 0) {
			return -1;
		}
		bad += !ok;
	}
	if (bad > 0) {
		return usage_error(err, "", "%zu of %zu files are invalid", bad, inv->nwords);
	}
	return 0;
}

int verb_policy_import(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->nwords != 1) {
		return usage_error(err, "corral policy import [--agent ID] FILE >corral.toml",
				   "`corral policy import` takes exactly one file");
	}
	return corral_policy_import(inv->words[0], inv->agent, &text, err) != 0
		       ? -1
		       : print_text(text, err);
}

int verb_policy_trust(struct invocation *inv, struct corral_error *err) {
	if (inv->nwords != 1) {
		return usage_error(err, "corral policy trust FILE",
				   "`corral policy trust` takes exactly one file");
	}
	return corral_policy_trust(inv->words[0], err);
}
