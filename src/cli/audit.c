/* SPDX-License-Identifier: Apache-2.0 */
/* `corral audit`: lists, shows, follows, counts, exports and verifies the records of runs.
 *
 * Should:   colour only a terminal, and not with NO_COLOR.
 * Must not: change the log.
 * Fails:    through the library's error; `verify` exits with 1 when the log is not intact. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_NOT_INTACT 1
#define TAIL 10
/* Fewer characters name too many runs. */
#define ID_MIN 4

static bool wants_colour(void) {
	const char *no = getenv("NO_COLOR");
	return isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0');
}

static struct corral_audit_options options_of(const struct invocation *inv) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;

	o.since = inv->since;
	o.until = inv->until;
	o.session = inv->session;
	o.agent = inv->agent;
	o.verdict = inv->verdict;
	o.path = inv->path;
	o.host = inv->scope_host;
	o.kind = inv->kind;
	o.fd = STDOUT_FILENO;
	o.colour = !inv->json && wants_colour();
	o.form = inv->json ? CORRAL_AUDIT_JSON : CORRAL_AUDIT_TEXT;
	return o;
}

static int no_words(const struct invocation *inv, struct corral_error *err) {
	return inv->nwords == 0
		       ? 0
		       : usage_error(err, "leave it out", "`corral %s` takes no argument: %s",
				     inv->verb->name, inv->words[0]);
}

int verb_audit_list(struct invocation *inv, struct corral_error *err) {
	const struct corral_audit_options o = options_of(inv);

	return no_words(inv, err) != 0 ? -1 : corral_audit_print(&o, NULL, err);
}

int verb_audit_tail(struct invocation *inv, struct corral_error *err) {
	struct corral_audit_options o = options_of(inv);

	o.last = TAIL;
	o.follow = inv->follow;
	return no_words(inv, err) != 0 ? -1 : corral_audit_print(&o, NULL, err);
}

int verb_audit_show(struct invocation *inv, struct corral_error *err) {
	struct corral_audit_options o = options_of(inv);
	uint64_t count = 0;

	if (inv->nwords != 1 || strlen(inv->words[0]) < ID_MIN) {
		return usage_error(err, "corral audit list",
				   "`corral audit show` takes the id of a run, or its last %d "
				   "characters",
				   ID_MIN);
	}
	o.id = inv->words[0];
	o.form = inv->json ? CORRAL_AUDIT_JSON : CORRAL_AUDIT_DETAIL;
	if (corral_audit_print(&o, &count, err) != 0) {
		return -1;
	}
	return count > 0 ? 0
			 : usage_error(err, "corral audit list", "no record of a run called %s",
				       inv->words[0]);
}

int verb_audit_stats(struct invocation *inv, struct corral_error *err) {
	const struct corral_audit_options o = options_of(inv);
	auto_free char *text = NULL;

	if (no_words(inv, err) != 0 ||
	    corral_audit_stats(&o, inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) != 0) {
		return -1;
	}
	return print_text(text, err);
}

int verb_audit_verify(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	int intact = 0;

	if (no_words(inv, err) != 0 ||
	    corral_audit_verify(inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, &intact, err) != 0 ||
	    print_text(text, err) != 0) {
		return -1;
	}
	return intact ? 0 : STATUS_NOT_INTACT;
}

int verb_audit_export(struct invocation *inv, struct corral_error *err) {
	static const struct {
		const char *name;
		enum corral_audit_form form;
	} formats[] = {{"otlp", CORRAL_AUDIT_OTLP},
		       {"otlp-traces", CORRAL_AUDIT_TRACES},
		       {"ocsf", CORRAL_AUDIT_OCSF}};
	struct corral_audit_options o = options_of(inv);

	if (no_words(inv, err) != 0) {
		return -1;
	}
	for (size_t i = 0; inv->format != NULL && i < ARRAY_LEN(formats); i++) {
		if (streq(inv->format, formats[i].name)) {
			o.form = formats[i].form;
			return corral_audit_print(&o, NULL, err);
		}
	}
	return usage_error(err, "corral audit export --format otlp, otlp-traces, or ocsf",
			   inv->format == NULL ? "--format is missing"
					       : "--format: unknown value \"%s\"",
			   inv->format);
}
