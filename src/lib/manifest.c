/* SPDX-License-Identifier: Apache-2.0 */
/* corral_commands_import(): the description that a program gives of its own subcommands, as rules
 * of a policy file that a person reviews.
 *
 * The program prints JSON when it is called with the argument __manifest:
 *   {"description": TEXT, "subcommands": [NAME | {"name": NAME, "description": TEXT,
 *    "blocked": true}, ...]}
 *
 * Should:   run the program in a sandbox without a network, where it can change nothing.
 * Must not: apply the rules: a program must not decide about itself at run time.
 * Fails:    closed: output that is not such an object is an error, and nothing is printed. */
#include "lib/internal.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/doc.h"

#include <stdio.h>
#include <stdlib.h>

#define MANIFEST_ARGUMENT "__manifest"
#define MANIFEST_MAX ((size_t)256 * 1024)
#define SUBCOMMANDS_MAX 512

static const struct doc *member(const struct doc *table, const char *name) {
	for (const struct doc *d = table->first; d != NULL; d = d->next) {
		if (streq(d->key, name)) {
			return d;
		}
	}
	return NULL;
}

static int refuse(const char *command, const char *why, struct err *e) {
	char shown[80];

	(void)snprintf(shown, sizeof shown, "%s", command); /* may be cut: a message */
	str_hide_controls(shown, false);
	(void)err_set(e, ERR_REFUSED, "manifest", "%s %s: %s", shown, MANIFEST_ARGUMENT, why);
	return err_fix(e, "write its rules by hand: a table [commands.NAME] (man corral-policy)");
}

/* A name that is a pattern of one operand: no option, no blank, no wildcard. */
static bool is_name(const char *text) {
	return text[0] != '\0' && text[0] != '-' && strlen(text) <= 64 &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789._:-")] == '\0';
}

/* A comment: it must not break out of its line. */
static void put_comment(struct buf *out, const char *text) {
	char line[160];

	(void)snprintf(line, sizeof line, "%s", text); /* may be cut: a comment */
	str_hide_controls(line, false);
	buf_printf(out, "  # %s", line);
}

static void put_string(struct buf *out, const char *text) {
	char line[240];

	(void)snprintf(line, sizeof line, "%s", text); /* may be cut: a description */
	str_hide_controls(line, false);
	buf_puts(out, "\"");
	for (const char *p = line; *p != '\0'; p++) {
		buf_puts(out, *p == '"' || *p == '\\' ? "\\" : "");
		buf_add(out, p, 1);
	}
	buf_puts(out, "\"");
}

static int put_list(const struct doc *list, bool blocked, const char *command, struct buf *out,
		    struct err *e) {
	size_t n = 0, seen = 0;

	for (const struct doc *d = list->first; d != NULL; d = d->next) {
		bool table = d->type == DOC_TABLE;
		const struct doc *name = table ? member(d, "name") : d;
		const struct doc *about = table ? member(d, "description") : NULL;
		const struct doc *block = table ? member(d, "blocked") : NULL;
		if (name == NULL || name->type != DOC_STRING || !is_name(name->str) ||
		    (block != NULL && block->type != DOC_BOOL) || ++seen > SUBCOMMANDS_MAX) {
			return refuse(command,
				      "a subcommand has no plain name, or there are too many", e);
		}
		if ((block != NULL && block->yes) != blocked) {
			continue;
		}
		buf_printf(out, "%s  \"%s\",",
			   n++ == 0 ? (blocked ? "blocked = [\n" : "allowed = [\n") : "",
			   name->str);
		if (about != NULL && about->type == DOC_STRING) {
			put_comment(out, about->str);
		}
		buf_puts(out, "\n");
	}
	buf_puts(out, n > 0 ? "]\n" : "");
	return 0;
}

static int print_rules(const struct doc *root, const char *command, struct buf *out,
		       struct err *e) {
	const struct doc *about = member(root, "description"), *list = member(root, "subcommands");
	const char *slash = strrchr(command, '/');
	const char *name = slash == NULL ? command : slash + 1;

	if (!is_name(name) || list == NULL || list->type != DOC_ARRAY) {
		return refuse(command, "the object has no list \"subcommands\"", e);
	}
	buf_printf(out, "# Printed by `%s %s`. Review it, then copy it to a policy file.\n", name,
		   MANIFEST_ARGUMENT);
	buf_printf(out, "[commands.\"%s\"]\n", name);
	if (about != NULL && about->type == DOC_STRING) {
		buf_puts(out, "description = ");
		put_string(out, about->str);
		buf_puts(out, "\n");
	}
	return put_list(list, false, command, out, e) != 0 ||
			       put_list(list, true, command, out, e) != 0
		       ? -1
		       : 0;
}

static int check_output(const char *text, size_t len, const char *command, struct err *e) {
	size_t blank = 0;

	while (blank < len && (text[blank] == ' ' || text[blank] == '\t' || text[blank] == '\r' ||
			       text[blank] == '\n')) {
		blank++;
	}
	if (blank == len) {
		return refuse(command, "it printed no manifest: the output is empty", e);
	}
	return len > MANIFEST_MAX ? refuse(command, "the output is too long", e) : 0;
}

static int parse_and_print(const char *text, size_t len, const char *command, struct buf *out,
			   struct err *e) {
	struct arena a;
	struct doc *root = NULL;

	arena_init(&a);
	int rc = check_output(text, len, command, e);
	if (rc == 0 && doc_parse_json(&a, MANIFEST_ARGUMENT, text, len, &root, e) != 0) {
		rc = refuse(command, "it printed no manifest: the output is not JSON", e);
	}
	if (rc == 0) {
		rc = root->type != DOC_TABLE ? refuse(command, "the output is not a JSON object", e)
					     : print_rules(root, command, out, e);
	}
	arena_done(&a);
	return rc;
}

/* No network, no writes, a short time; the floor of the system applies as for every run. */
static int restrict_policy(struct corral_policy *policy, struct corral_error *err) {
	static const char *const settings[][2] = {
		{"mode", "read-only"},
		{"net.mode", "none"},
		{"fs.home", "ephemeral"},
	};

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		if (corral_policy_set_from(policy, settings[i][0], settings[i][1],
					   "commands import", err) != 0) {
			return -1;
		}
	}
	return 0;
}

int corral_commands_import(const char *command, char **text, struct corral_error *err) {
	const char *argv[] = {command, MANIFEST_ARGUMENT, NULL};
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct err e = {0};
	struct buf out;
	size_t len = 0;
	uint64_t lost = 0;

	if (lib_need(command, "command", err) != 0 || lib_need(text, "text", err) != 0) {
		return -1;
	}
	struct corral_policy *policy = corral_policy_new();
	if (policy == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	corral_policy_no_config(policy);
	how.in = CORRAL_NULL;
	int rc = restrict_policy(policy, err);
	rc = rc == 0 ? corral_run(policy, argv, &how, &result, err) : rc;
	corral_policy_free(policy);
	if (rc != 0) {
		return -1;
	}
	buf_init(&out);
	const char *printed = corral_result_stdout(result, &len, &lost);
	rc = corral_result_status(result) != 0
		     ? refuse(command, "it failed: it has no manifest", &e)
	     : lost > 0 ? refuse(command, "the output is too long", &e)
			: parse_and_print(printed, len, command, &out, &e);
	corral_result_free(result);
	rc = rc == 0 ? lib_give(&out, text, &e) : rc;
	buf_done(&out);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
