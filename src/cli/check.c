/* SPDX-License-Identifier: Apache-2.0 */
/* `corral check path P`, `corral check url U` and `corral check command -- C`: the policy's
 * verdict, without a run.
 *
 * Should:   exit with 0 when the path may be read (with --write: written), the URL fetched or the
 *           command run, 1 when not, and name the rule.
 * Must not: open the path or the URL, or run the command.
 * Fails:    closed: an error is never status 0. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

/* Stores the text of the verdict; returns as a verb does. */
typedef int check_fn(const struct invocation *inv, char **text, struct corral_error *err);

static enum corral_format format_of(const struct invocation *inv) {
	return inv->json ? CORRAL_JSON : CORRAL_TEXT;
}

static int check_path(const struct invocation *inv, char **text, struct corral_error *err) {
	struct corral_files *files = NULL;
	struct corral_check check = {.path = inv->words[1], .write = inv->for_write};
	int allowed = 0;

	if (corral_files_new(inv->policy, &files, err) != 0) {
		return -1;
	}
	int rc = corral_files_check(files, &check, format_of(inv), text, &allowed, err);
	corral_files_free(files);
	return rc != 0 ? -1 : !allowed;
}

static int check_url(const struct invocation *inv, char **text, struct corral_error *err) {
	struct corral_url_options how = {.size = sizeof how, .policy = inv->policy};
	struct corral_url *checked = NULL;

	if (inv->for_write) {
		return usage_error(err, "corral check url URL",
				   "--write applies only to `check path`");
	}
	if (corral_url_check(inv->words[1], &how, &checked, err) != 0) {
		return -1;
	}
	int rc = corral_url_show(checked, format_of(inv), text, err);
	int refused = !corral_url_allowed(checked);
	corral_url_free(checked);
	return rc != 0 ? -1 : refused;
}

static int check_command(const struct invocation *inv, char **text, struct corral_error *err) {
	struct invocation rest = *inv;
	auto_free const char **argv = NULL;
	int allowed = 0;

	rest.words++;
	rest.nwords--;
	if (inv->for_write) {
		return usage_error(err, "corral check command -- COMMAND [ARG...]",
				   "--write applies only to `check path`");
	}
	if (command_argv(&rest, &argv, err) != 0) {
		return -1;
	}
	if (argv == NULL) {
		return usage_error(err, "corral check command -- COMMAND [ARG...]",
				   "no command given");
	}
	int rc = corral_command_check(inv->policy, argv, format_of(inv), text, &allowed, err);
	return rc != 0 ? -1 : !allowed;
}

static const struct kind {
	const char *name;
	const char *usage;
	check_fn *check;
	bool any; /* any number of arguments, and -c */
} kinds[] = {
	{"path", "corral check path PATH [--write]", check_path, false},
	{"url", "corral check url URL", check_url, false},
	{"command", "corral check command -- COMMAND [ARG...]", check_command, true},
};

static const struct kind *find_kind(const char *name) {
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (streq(kinds[i].name, name)) {
			return &kinds[i];
		}
	}
	return NULL;
}

int verb_check(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	const char *name = inv->nwords > 0 ? inv->words[0] : "";
	const struct kind *kind = find_kind(name);

	if (kind == NULL) {
		return usage_error(
			err,
			"corral check path PATH [--write], corral check url URL, or corral check "
			"command -- COMMAND",
			"unknown check \"%s\": use path, url or command", name);
	}
	if (inv->command_string != NULL && !kind->any) {
		return usage_error(err, kind->usage, "-c applies only to `check command`");
	}
	if (inv->nwords != 2 && !kind->any) {
		return usage_error(err, kind->usage, "`corral check %s` takes exactly one argument",
				   kind->name);
	}
	int status = kind->check(inv, &text, err);
	if (status < 0) {
		return -1;
	}
	if (!inv->json) {
		str_hide_controls(text, true);
	}
	return print_text(text, err) != 0 ? -1 : status;
}
