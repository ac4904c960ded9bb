/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options of the command line by the rows of data/options.c.
 *
 * Should:   name the option as it was written in every error, and stop at the first error.
 * Must not: interpret the values of policy keys; the library checks them.
 * Fails:    closed: nothing runs after an argument that was not understood. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/synonyms.h"

#include <stdio.h>

/* The arguments; words[at] is the next one to read. */
struct reader {
	struct invocation *inv;
	char **words;
	size_t nwords, at;
};

/* An option as it was written, for messages and for the origin in `explain`. */
struct spelling {
	char text[64];
};

static struct spelling spell_long(const char *name, size_t len) {
	struct spelling s;
	(void)snprintf(s.text, sizeof s.text, "--%.*s", (int)(len < 48 ? len : 48), name);
	return s;
}

static struct spelling spell_letter(char letter) {
	struct spelling s;
	(void)snprintf(s.text, sizeof s.text, "-%c", letter);
	return s;
}

typedef int option_fn(struct invocation *inv, const struct option_row *row, const char *as,
		      const char *value, struct corral_error *err);

static int set_one(struct invocation *inv, const struct option_row *row, const char *as,
		   const char *value, struct corral_error *err) {
	return corral_policy_set_from(inv->policy, keys[row->key].name, value, as, err);
}

static int set_each(struct invocation *inv, const struct option_row *row, const char *as,
		    const char *value, struct corral_error *err) {
	auto_free char *copy = strdup(value);
	char *rest = copy, *element;

	if (copy == NULL) {
		return memory_error(err);
	}
	while ((element = strsep(&rest, ",")) != NULL) {
		if (set_one(inv, row, as, element, err) != 0) {
			return -1;
		}
	}
	return 0;
}

static int apply_key(struct invocation *inv, const struct option_row *row, const char *as,
		     const char *value, struct corral_error *err) {
	return (row->commas ? set_each : set_one)(inv, row, as, value, err);
}

static int apply_set(struct invocation *inv, const struct option_row *row, const char *as,
		     const char *value, struct corral_error *err) {
	const char *equals = strchr(value, '=');
	auto_free char *key = NULL;

	(void)row;
	if (equals == NULL || equals == value) {
		return usage_error(err, "example: --set limits.timeout=30s",
				   "%s %s: KEY=VALUE expected", as, value);
	}
	key = strndup(value, (size_t)(equals - value));
	if (key == NULL) {
		return memory_error(err);
	}
	return corral_policy_set_from(inv->policy, key, equals + 1, as, err);
}

static int apply_tty(struct invocation *inv, const struct option_row *row, const char *as,
		     const char *value, struct corral_error *err) {
	for (int i = 0; row->choices[i] != NULL; i++) {
		if (streq(row->choices[i], value)) {
			inv->tty = (enum tty_choice)i;
			return 0;
		}
	}
	return usage_error(err, "use auto, always or never", "%s: unknown value \"%s\"", as, value);
}

static int apply_command_string(struct invocation *inv, const struct option_row *row,
				const char *as, const char *value, struct corral_error *err) {
	(void)row;
	if (inv->command_string != NULL) {
		return usage_error(err, "join the commands: -c 'ONE; TWO'", "%s is given twice",
				   as);
	}
	inv->command_string = value;
	return 0;
}

/* The path is one inside, so the caller's working directory is no base for it. */
static int apply_shell(struct invocation *inv, const struct option_row *row, const char *as,
		       const char *value, struct corral_error *err) {
	struct buf variable;

	(void)row;
	if (value[0] != '/') {
		return usage_error(err, "example: --shell /bin/bash",
				   "%s %s: an absolute path is needed", as, value);
	}
	inv->shell = value;
	buf_init(&variable);
	buf_printf(&variable, "SHELL=%s", value);
	int rc = buf_failed(&variable) ? memory_error(err)
				       : corral_policy_set_from(inv->policy, keys[KEY_ENV_SET].name,
								variable.data, as, err);
	buf_done(&variable);
	return rc;
}

static int apply_policy_file(struct invocation *inv, const struct option_row *row, const char *as,
			     const char *value, struct corral_error *err) {
	(void)row;
	(void)as;
	inv->policy_stream = inv->policy_stream || streq(value, "-") || str_starts(value, "fd:");
	return corral_policy_file(inv->policy, value, err);
}

/* The options that only set a flag. */
static int apply_flag(struct invocation *inv, const struct option_row *row, const char *as,
		      const char *value, struct corral_error *err) {
	bool *const flags[OPTION_ID_COUNT] = {
		[OPTION_HELP] = &inv->help,
		[OPTION_JSON] = &inv->json,
		[OPTION_VERBOSE] = &inv->verbose,
		[OPTION_STDIN] = &inv->pass_stdin,
		[OPTION_FOR_WRITE] = &inv->for_write,
		[OPTION_FORCE] = &inv->force,
		[OPTION_EVERY] = &inv->all,
		[OPTION_YES] = &inv->yes,
		[OPTION_DRY_RUN] = &inv->dry_run,
		[OPTION_MCP] = &inv->mcp,
		[OPTION_REDACT] = &inv->redact,
		[OPTION_SARIF] = &inv->sarif,
		[OPTION_STAGED] = &inv->staged,
		[OPTION_LIST_KINDS] = &inv->list_kinds,
		[OPTION_SNAPSHOT] = &inv->snapshot,
		[OPTION_AUDIT_FOLLOW] = &inv->follow,
		[OPTION_FOR_EXEC] = &inv->for_exec,
		[OPTION_AS_PATH] = &inv->as_path,
		[OPTION_AS_HOST] = &inv->as_host,
		[OPTION_AS_COMMAND] = &inv->as_command,
		[OPTION_SEATBELT] = &inv->seatbelt,
		[OPTION_PROMPT] = &inv->prompt,
		[OPTION_LAST_RUN] = &inv->last_run,
		[OPTION_REPLAY] = &inv->replay,
		[OPTION_ASK] = &inv->ask,
		[OPTION_ASK_DAEMON] = &inv->ask_daemon,
		[OPTION_SERIAL] = &inv->serial,
		[OPTION_TERMINAL] = &inv->terminal,
		[OPTION_DETACH] = &inv->detach,
		[OPTION_UI_OPEN] = &inv->ui_open,
		[OPTION_OCI_PODS] = &inv->oci_pods,
		[OPTION_UI_PRINT] = &inv->ui_print,
	};
	(void)as;
	(void)value;
	(void)err;
	*flags[row->id] = true;
	return 0;
}

/* The options whose value is a text that the verb reads. */
static int apply_text(struct invocation *inv, const struct option_row *row, const char *as,
		      const char *value, struct corral_error *err) {
	const char **const texts[OPTION_ID_COUNT] = {
		[OPTION_ALLOW] = &inv->allow,
		[OPTION_HOST] = &inv->host,
		[OPTION_SECRET_AGENT] = &inv->agent,
		[OPTION_SECRET_WORKSPACE] = &inv->scope_workspace,
		[OPTION_SECRET_HOST] = &inv->scope_host,
		[OPTION_SECRET_EXPOSE] = &inv->expose,
		[OPTION_SECRET_KEY] = &inv->key,
		[OPTION_FROM_FILE] = &inv->from_file,
		[OPTION_PASSPHRASE_FD] = &inv->passphrase_fd,
		[OPTION_AUDIT_SINCE] = &inv->since,
		[OPTION_AUDIT_UNTIL] = &inv->until,
		[OPTION_AUDIT_SESSION] = &inv->session,
		[OPTION_AUDIT_VERDICT] = &inv->verdict,
		[OPTION_AUDIT_PATH] = &inv->path,
		[OPTION_AUDIT_KIND] = &inv->kind,
		[OPTION_AUDIT_FORMAT] = &inv->format,
		[OPTION_RUN_ID] = &inv->run_id,
		[OPTION_ASK_FD] = &inv->ask_fd,
		[OPTION_RESULT_FD] = &inv->result_fd,
		[OPTION_TOOLS] = &inv->tools,
		[OPTION_HTTP] = &inv->http_port,
		[OPTION_SESSION_NAME] = &inv->session_name,
		[OPTION_TOKEN_FILE] = &inv->token_file,
		[OPTION_TOKEN_TIME] = &inv->token_time,
		[OPTION_EXEC_TIME] = &inv->exec_time,
		[OPTION_EXEC_DIR] = &inv->exec_dir,
		[OPTION_IDLE_EXIT] = &inv->idle_exit,
		[OPTION_OCI_POLICY] = &inv->oci_policy,
		[OPTION_OCI_RUNTIME] = &inv->oci_runtime,
		[OPTION_BRIDGE] = &inv->bridge,
		[OPTION_COPY] = &inv->copy,
	};
	if (*texts[row->id] != NULL) {
		return usage_error(err, "", "%s is given twice", as);
	}
	*texts[row->id] = value;
	return 0;
}

/* The session checks the name and the value. */
static int apply_exec_env(struct invocation *inv, const struct option_row *row, const char *as,
			  const char *value, struct corral_error *err) {
	(void)row;
	if (value[0] == '=' || strchr(value, '=') == NULL) {
		return usage_error(err, "example: --env DEBUG=1", "%s %s: NAME=VALUE is expected",
				   as, value);
	}
	const char **list = realloc(inv->exec_env, (inv->nexec_env + 2) * sizeof *list);
	if (list == NULL) {
		return memory_error(err);
	}
	list[inv->nexec_env++] = value;
	list[inv->nexec_env] = NULL;
	inv->exec_env = list;
	return 0;
}

/* "NAME", or "NAME?" as in env.pass: without a value it adds nothing in both forms. */
static int apply_exec_pass(struct invocation *inv, const struct option_row *row, const char *as,
			   const char *value, struct corral_error *err) {
	size_t n = strcspn(value, "?=");
	struct buf entry;

	if (n == 0 || (value[n] != '\0' && !streq(value + n, "?"))) {
		return usage_error(err, "example: --pass-env LANG", "%s %s: a name is expected", as,
				   value);
	}
	buf_init(&entry);
	buf_add(&entry, value, n);
	const char *have = buf_failed(&entry) ? NULL : getenv(entry.data);
	buf_printf(&entry, "=%s", have == NULL ? "" : have);
	if (buf_failed(&entry)) {
		buf_done(&entry);
		return memory_error(err);
	}
	if (have == NULL) {
		buf_done(&entry);
		return 0;
	}
	return apply_exec_env(inv, row, as, buf_take(&entry), err);
}

static int apply_no_config(struct invocation *inv, const struct option_row *row, const char *as,
			   const char *value, struct corral_error *err) {
	(void)row;
	(void)as;
	(void)value;
	(void)err;
	corral_policy_no_config(inv->policy);
	return 0;
}

/* Nothing else reads the clock before the library does, so a run without the option does not. */
static int apply_timings(struct invocation *inv, const struct option_row *row, const char *as,
			 const char *value, struct corral_error *err) {
	(void)row;
	(void)as;
	(void)value;
	(void)err;
	timings_begin(inv);
	return 0;
}

static option_fn *const handlers[OPTION_ID_COUNT] = {
	[OPTION_SETS_KEY] = apply_key,
	[OPTION_HELP] = apply_flag,
	[OPTION_JSON] = apply_flag,
	[OPTION_COMMAND_STRING] = apply_command_string,
	[OPTION_POLICY_FILE] = apply_policy_file,
	[OPTION_NO_CONFIG] = apply_no_config,
	[OPTION_VERBOSE] = apply_flag,
	[OPTION_STDIN] = apply_flag,
	[OPTION_FOR_WRITE] = apply_flag,
	[OPTION_TTY] = apply_tty,
	[OPTION_SET] = apply_set,
	[OPTION_FORCE] = apply_flag,
	[OPTION_EVERY] = apply_flag,
	[OPTION_YES] = apply_flag,
	[OPTION_DRY_RUN] = apply_flag,
	[OPTION_MCP] = apply_flag,
	[OPTION_SHELL] = apply_shell,
	[OPTION_REDACT] = apply_flag,
	[OPTION_SARIF] = apply_flag,
	[OPTION_STAGED] = apply_flag,
	[OPTION_LIST_KINDS] = apply_flag,
	[OPTION_ALLOW] = apply_text,
	[OPTION_HOST] = apply_text,
	[OPTION_SNAPSHOT] = apply_flag,
	[OPTION_SECRET_AGENT] = apply_text,
	[OPTION_SECRET_WORKSPACE] = apply_text,
	[OPTION_SECRET_HOST] = apply_text,
	[OPTION_SECRET_EXPOSE] = apply_text,
	[OPTION_SECRET_KEY] = apply_text,
	[OPTION_FROM_FILE] = apply_text,
	[OPTION_PASSPHRASE_FD] = apply_text,
	[OPTION_AUDIT_SINCE] = apply_text,
	[OPTION_AUDIT_UNTIL] = apply_text,
	[OPTION_AUDIT_SESSION] = apply_text,
	[OPTION_AUDIT_VERDICT] = apply_text,
	[OPTION_AUDIT_PATH] = apply_text,
	[OPTION_AUDIT_KIND] = apply_text,
	[OPTION_AUDIT_FORMAT] = apply_text,
	[OPTION_AUDIT_FOLLOW] = apply_flag,
	[OPTION_FOR_EXEC] = apply_flag,
	[OPTION_AS_PATH] = apply_flag,
	[OPTION_AS_HOST] = apply_flag,
	[OPTION_AS_COMMAND] = apply_flag,
	[OPTION_PROMPT] = apply_flag,
	[OPTION_SEATBELT] = apply_flag,
	[OPTION_ASK] = apply_flag,
	[OPTION_ASK_FD] = apply_text,
	[OPTION_RESULT_FD] = apply_text,
	[OPTION_LAST_RUN] = apply_flag,
	[OPTION_REPLAY] = apply_flag,
	[OPTION_RUN_ID] = apply_text,
	[OPTION_TOOLS] = apply_text,
	[OPTION_HTTP] = apply_text,
	[OPTION_SESSION_NAME] = apply_text,
	[OPTION_TOKEN_FILE] = apply_text,
	[OPTION_TOKEN_TIME] = apply_text,
	[OPTION_EXEC_TIME] = apply_text,
	[OPTION_EXEC_DIR] = apply_text,
	[OPTION_EXEC_ENV] = apply_exec_env,
	[OPTION_EXEC_PASS] = apply_exec_pass,
	[OPTION_SERIAL] = apply_flag,
	[OPTION_ASK_DAEMON] = apply_flag,
	[OPTION_TERMINAL] = apply_flag,
	[OPTION_DETACH] = apply_flag,
	[OPTION_UI_OPEN] = apply_flag,
	[OPTION_OCI_PODS] = apply_flag,
	[OPTION_UI_PRINT] = apply_flag,
	[OPTION_IDLE_EXIT] = apply_text,
	[OPTION_OCI_POLICY] = apply_text,
	[OPTION_OCI_RUNTIME] = apply_text,
	[OPTION_BRIDGE] = apply_text,
	[OPTION_COPY] = apply_text,
	[OPTION_TIMINGS] = apply_timings,
};

/* Two verbs may have different options of the same name; the verb's own row is preferred. */
static const struct option_row *row_by_name(const struct verb *verb, const char *name, size_t len) {
	const struct option_row *found = NULL;

	for (size_t i = 0; i < options_count; i++) {
		const char *have = options[i].name;
		bool named = have != NULL && strlen(have) == len && strncmp(have, name, len) == 0;
		if (named && (found == NULL || (options[i].verbs & verb->takes) != 0)) {
			found = &options[i];
		}
	}
	return found;
}

static const struct option_row *row_by_letter(const struct verb *verb, char letter) {
	const struct option_row *found = NULL;

	for (size_t i = 0; i < options_count; i++) {
		if (options[i].letter == letter &&
		    (found == NULL || (options[i].verbs & verb->takes) != 0)) {
			found = &options[i];
		}
	}
	return found;
}

static const char *synonym_of(const char *name) {
	for (size_t i = 0; i < option_synonyms_count; i++) {
		if (streq(option_synonyms[i].name, name)) {
			return option_synonyms[i].use;
		}
	}
	return NULL;
}

static int unknown_option(const struct invocation *inv, const char *as, struct corral_error *err) {
	struct nearest n;
	char remedy[160];

	nearest_init(&n, as[1] == '-' ? as + 2 : "");
	for (size_t i = 0; i < options_count; i++) {
		if (options[i].name != NULL && (options[i].verbs & inv->verb->takes) != 0) {
			nearest_offer(&n, options[i].name);
		}
	}
	const char *use = synonym_of(n.word);
	if (use != NULL && inv->verb->command) {
		(void)snprintf(remedy, sizeof remedy, "use %s", use);
	} else if (n.best != NULL) {
		(void)snprintf(remedy, sizeof remedy, "did you mean --%s?", n.best);
	} else {
		(void)snprintf(remedy, sizeof remedy, "list the options: corral %s --help%s",
			       inv->verb->name,
			       inv->verb->command ? "; options of the command go after it" : "");
	}
	return usage_error(err, remedy, "unknown option %s", as);
}

/* Rejects an unknown option, or one that the verb does not have, before its value is read. */
static int check_row(const struct invocation *inv, const struct option_row *row, const char *as,
		     struct corral_error *err) {
	if (row == NULL) {
		return unknown_option(inv, as, err);
	}
	if ((row->verbs & inv->verb->takes) == 0) {
		return usage_error(err, "", "`corral %s` does not take %s", inv->verb->name, as);
	}
	return 0;
}

/* value is the text after "=" or after the letter; NULL: the next argument is the value. */
static int apply_row(struct reader *r, const struct option_row *row, const char *as,
		     const char *value, struct corral_error *err) {
	if ((row->verbs & FOR_STATUS) == 0 && r->inv->policy_option == NULL) {
		r->inv->policy_option = row;
	}
	if (row->argument == NULL) {
		return value == NULL ? handlers[row->id](r->inv, row, as, row->fixed, err)
				     : usage_error(err, "", "%s takes no value", as);
	}
	if (value == NULL && r->at == r->nwords) {
		return usage_error(err, "", "%s needs a value: %s", as, row->argument);
	}
	return handlers[row->id](r->inv, row, as, value != NULL ? value : r->words[r->at++], err);
}

/* --name, --name=value, --name value. */
static int parse_long(struct reader *r, const char *word, struct corral_error *err) {
	const char *name = word + 2;
	size_t len = strcspn(name, "=");
	struct spelling as = spell_long(name, len);
	const struct option_row *row = row_by_name(r->inv->verb, name, len);

	if (check_row(r->inv, row, as.text, err) != 0) {
		return -1;
	}
	return apply_row(r, row, as.text, name[len] == '=' ? name + len + 1 : NULL, err);
}

/* -v, -t5, -t 5, -vt5. */
static int parse_letters(struct reader *r, const char *word, struct corral_error *err) {
	for (const char *p = word + 1; *p != '\0'; p++) {
		struct spelling as = spell_letter(*p);
		const struct option_row *row = row_by_letter(r->inv->verb, *p);
		if (check_row(r->inv, row, as.text, err) != 0) {
			return -1;
		}
		if (row->argument != NULL) {
			return apply_row(r, row, as.text, p[1] != '\0' ? p + 1 : NULL, err);
		}
		if (apply_row(r, row, as.text, NULL, err) != 0) {
			return -1;
		}
	}
	return 0;
}

/* A lone "-" is no option: it means stdin where files are named. */
static bool is_option(const char *word) {
	return word[0] == '-' && word[1] != '\0';
}

int options_parse(struct invocation *inv, char **words, size_t nwords, struct corral_error *err) {
	struct reader r = {.inv = inv, .words = words, .nwords = nwords};
	size_t kept = 0;

	/* Arguments that are no options move to the front of the same array; they never
	 * overtake r.at.  A command keeps everything from its first argument on. */
	inv->words = words;
	while (r.at < nwords) {
		char *word = words[r.at++];
		if (streq(word, "--")) {
			inv->dashes = kept == 0;
			break;
		}
		if (!is_option(word)) {
			words[kept++] = word;
			if (inv->verb->command && kept > inv->verb->leading) {
				break;
			}
			continue;
		}
		if ((word[1] == '-' ? parse_long : parse_letters)(&r, word, err) != 0) {
			return -1;
		}
	}
	while (r.at < nwords) {
		words[kept++] = words[r.at++];
	}
	inv->nwords = kept;
	return 0;
}
