/* SPDX-License-Identifier: Apache-2.0 */
/* `corral help` and --help, generated from the verb table and the rows of data/options.c.
 *
 * Should:   list every option that the verb accepts.
 * Must not: list a profile that the policy rejects as not implemented.
 * Fails:    with an error when stdout cannot be written. */
#include "cli/cli.h"

#include "base/str.h"
#include "data/profiles.h"

#include <stdio.h>
#include <string.h>

/* Width of the column of options, such as "  -w, --workspace DIR". */
#define LEFT_WIDTH 30

/* Width of the column of verbs. */
#define VERB_WIDTH 16

static void put_option(const struct option_row *row, struct buf *out) {
	char left[64];
	char letter[8] = "    ";
	const char *argument = row->argument == NULL ? "" : row->argument;

	if (row->letter != 0) {
		(void)snprintf(letter, sizeof letter, row->name == NULL ? "-%c" : "-%c, ",
			       row->letter);
	}
	(void)snprintf(left, sizeof left, "%s%s%s%s%s", letter, row->name == NULL ? "" : "--",
		       row->name == NULL ? "" : row->name, argument[0] == '\0' ? "" : " ",
		       argument);
	if (strlen(left) >= LEFT_WIDTH) {
		buf_printf(out, "  %s\n  %-*s %s\n", left, LEFT_WIDTH, "", row->help);
	} else {
		buf_printf(out, "  %-*s %s\n", LEFT_WIDTH, left, row->help);
	}
}

/* The values of --profile, without those that are not implemented. */
static void put_profiles(struct buf *out) {
	for (size_t i = 0; i < profiles_count; i++) {
		if (profile_is_usable(profiles[i].name)) {
			buf_printf(out, "  %-*s   %-14s %s\n", LEFT_WIDTH, "", profiles[i].name,
				   profiles[i].help);
		}
	}
}

static void put_group(const struct verb *verb, enum option_group group, struct buf *out) {
	bool headed = false;

	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		if (row->group != group || (row->verbs & verb->takes) == 0) {
			continue;
		}
		if (!headed) {
			buf_printf(out, "\n%s:\n", option_groups[group]);
			headed = true;
		}
		put_option(row, out);
		if (row->id == OPTION_SETS_KEY && row->key == KEY_PROFILE) {
			put_profiles(out);
		}
	}
}

static void put_verb(const struct verb *verb, struct buf *out) {
	buf_printf(out, "usage: corral %s%s%s\n\n%s\n", verb->name,
		   verb->synopsis[0] == '\0' ? "" : " ", verb->synopsis, verb->summary);
	for (enum option_group g = 0; g < GROUP_COUNT; g++) {
		put_group(verb, g, out);
	}
}

static void put_overview(struct buf *out) {
	buf_puts(
		out,
		"corral: run a command in a kernel-enforced sandbox\n\n"
		"  corral run -- npm test           the system read-only, the workspace writable,\n"
		"                                   no network, a private HOME and /tmp\n"
		"  corral run --json -c 'make'      for programs: the result is one JSON object\n"
		"  corral explain                   the rules that a run here would enforce\n\n"
		"verbs:\n");
	for (size_t i = 0; i < verbs_count; i++) {
		buf_printf(out, "  %-*s %s\n", VERB_WIDTH, verbs[i].name, verbs[i].summary);
	}
	buf_puts(out, "\nOptions of a verb: corral VERB --help.  Version: corral --version.\n"
		      "Exit status: the command's own; 2 usage error; 124 timed out; 125 sandbox "
		      "could not\n"
		      "be set up; 126 refused or not executable; 127 not found; 128+n killed by "
		      "signal n.\n");
}

/* A word such as "policy" that begins verbs and is none itself. */
bool help_is_of_group(const char *word) {
	for (size_t i = 0; i < verbs_count; i++) {
		if (streq(verbs[i].name, word)) {
			return false;
		}
	}
	return verb_is_group(word);
}

int help_print_group(const char *word, struct corral_error *err) {
	struct buf out;
	size_t len = strlen(word);

	buf_init(&out);
	buf_printf(&out, "usage: corral %s SUBCOMMAND [options]\n\nsubcommands:\n", word);
	for (size_t i = 0; i < verbs_count; i++) {
		const struct verb *v = &verbs[i];
		if (strncmp(v->name, word, len) == 0 && v->name[len] == ' ') {
			buf_printf(&out, "  %-*s %s\n", VERB_WIDTH, v->name, v->summary);
		}
	}
	buf_printf(&out, "\nOptions of a subcommand: corral %s SUBCOMMAND --help\n", word);
	int rc = buf_failed(&out) ? memory_error(err) : print_text(out.data, err);
	buf_done(&out);
	return rc;
}

int help_print(const struct verb *verb, struct corral_error *err) {
	struct buf out;

	buf_init(&out);
	if (verb == NULL) {
		put_overview(&out);
	} else {
		put_verb(verb, &out);
	}
	int rc = buf_failed(&out) ? memory_error(err) : print_text(out.data, err);
	buf_done(&out);
	return rc;
}

int verb_help(struct invocation *inv, struct corral_error *err) {
	const struct verb *verb = NULL;
	size_t used = 0;

	if (inv->nwords == 1 && help_is_of_group(inv->words[0])) {
		return help_print_group(inv->words[0], err);
	}
	if (inv->nwords > 0) {
		verb = verb_find(inv->words, inv->nwords, &used, err);
		if (verb == NULL) {
			return -1;
		}
	}
	return help_print(verb, err);
}
