/* SPDX-License-Identifier: Apache-2.0 */
/* `corral completion bash|zsh|fish`: prints completion scripts, generated from the verb table
 * and the rows of data/options.c.
 *
 * Should:   offer exactly the options and values that the parser accepts.
 * Must not: put a text into a script unquoted.
 * Fails:    with an error for another shell's name. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/profiles.h"

/* The kind of value that follows an option. */
enum follow { FOLLOW_NOTHING, FOLLOW_CHOICE, FOLLOW_DIR, FOLLOW_FILE, FOLLOW_TEXT };

static bool names_profile(const struct option_row *row) {
	return row->id == OPTION_SETS_KEY && row->key == KEY_PROFILE;
}

static enum follow follow_of(const struct option_row *row) {
	if (row->argument == NULL) {
		return FOLLOW_NOTHING;
	}
	if (option_choices(row) != NULL || names_profile(row)) {
		return FOLLOW_CHOICE;
	}
	if (streq(row->argument, "DIR")) {
		return FOLLOW_DIR;
	}
	return str_starts(row->argument, "PATH") || streq(row->argument, "FILE") ? FOLLOW_FILE
										 : FOLLOW_TEXT;
}

static bool taken_by(const struct option_row *row, const struct verb *verb) {
	return (row->verbs & verb->takes) != 0;
}

/* The last word of a verb: "show" of "policy show". */
static const char *last_word(const struct verb *verb) {
	const char *space = strchr(verb->name, ' ');
	return space == NULL ? verb->name : space + 1;
}

static bool two_words(const struct verb *verb) {
	return last_word(verb) != verb->name;
}

static bool contains(const char *const *words, const char *word) {
	for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
		if (streq(words[i], word)) {
			return true;
		}
	}
	return false;
}

static void put_profiles(struct buf *out) {
	const char *gap = "";

	for (size_t i = 0; i < profiles_count; i++) {
		if (profile_is_usable(profiles[i].name)) {
			buf_printf(out, "%s%s", gap, profiles[i].name);
			gap = " ";
		}
	}
}

/* The choices that this version accepts. */
static void put_choices(struct buf *out, const struct option_row *row) {
	const char *const *choices = option_choices(row);
	const char *const *later = row->id == OPTION_SETS_KEY ? keys[row->key].later : NULL;
	const char *gap = "";

	if (names_profile(row)) {
		put_profiles(out);
		return;
	}
	for (size_t i = 0; choices[i] != NULL; i++) {
		if (!contains(later, choices[i])) {
			buf_printf(out, "%s%s", gap, choices[i]);
			gap = " ";
		}
	}
}

/* Appends text with a backslash before each character of special, and with ' escaped for a
 * single-quoted string in any of the three shells. */
static void put_escaped(struct buf *out, const char *text, const char *special) {
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\'') {
			buf_puts(out, "'\\''");
			continue;
		}
		if (strchr(special, *p) != NULL) {
			buf_puts(out, "\\");
		}
		buf_add(out, p, 1);
	}
}

/* ---- verbs of two words: a group is their first word ---- */

static bool in_group(const struct verb *verb, const char *group) {
	size_t len = strcspn(group, " ");
	return strncmp(verb->name, group, len) == 0 && verb->name[len] == ' ';
}

/* Calls write with the name of the first verb of each group. */
static void each_group(struct buf *out, void (*write)(struct buf *out, const char *group)) {
	for (size_t i = 0; i < verbs_count; i++) {
		size_t first = 0;
		while (first < i && !in_group(&verbs[first], verbs[i].name)) {
			first++;
		}
		if (first == i && two_words(&verbs[i])) {
			write(out, verbs[i].name);
		}
	}
}

/* Some, as "daemon", are a verb of one word too. */
static bool is_verb(const char *group) {
	size_t len = strcspn(group, " ");

	for (size_t i = 0; i < verbs_count; i++) {
		if (strlen(verbs[i].name) == len && strncmp(verbs[i].name, group, len) == 0) {
			return true;
		}
	}
	return false;
}

static void put_group(struct buf *out, const char *group) {
	if (!is_verb(group)) {
		buf_printf(out, " %.*s", (int)strcspn(group, " "), group);
	}
}

static void put_first_words(struct buf *out) {
	const char *gap = "";

	for (size_t i = 0; i < verbs_count; i++) {
		if (!two_words(&verbs[i])) {
			buf_printf(out, "%s%s", gap, verbs[i].name);
			gap = " ";
		}
	}
	each_group(out, put_group);
}

static void put_second_words(struct buf *out, const char *group) {
	const char *gap = "";

	for (size_t i = 0; i < verbs_count; i++) {
		if (in_group(&verbs[i], group)) {
			buf_printf(out, "%s%s", gap, last_word(&verbs[i]));
			gap = " ";
		}
	}
}

static void bash_value(struct buf *out, const struct option_row *row) {
	enum follow follow = follow_of(row);

	if (follow == FOLLOW_NOTHING) {
		return;
	}
	buf_puts(out, "\t");
	if (row->name != NULL) {
		buf_printf(out, "--%s", row->name);
	}
	if (row->letter != 0) {
		buf_printf(out, "%s-%c", row->name == NULL ? "" : "|", row->letter);
	}
	buf_puts(out, ") ");
	if (follow == FOLLOW_CHOICE) {
		buf_puts(out, "COMPREPLY=($(compgen -W '");
		put_choices(out, row);
		buf_puts(out, "' -- \"$cur\")); ");
	} else if (follow == FOLLOW_DIR) {
		buf_puts(out, "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\")); ");
	} else if (follow == FOLLOW_FILE) {
		buf_puts(out, "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\")); ");
	}
	buf_puts(out, "return ;;\n");
}

static void bash_options(struct buf *out, const struct verb *verb) {
	buf_printf(out, "\t'%s') words='", verb->name);
	for (size_t i = 0; i < options_count; i++) {
		if (!taken_by(&options[i], verb)) {
			continue;
		}
		if (options[i].name != NULL) {
			buf_printf(out, "--%s ", options[i].name);
		} else {
			buf_printf(out, "-%c ", options[i].letter);
		}
	}
	buf_puts(out, "' ;;\n");
}

static void bash_group(struct buf *out, const char *group) {
	const int len = (int)strcspn(group, " ");

	buf_printf(out,
		   "\tif [[ $verb == %.*s && ${COMP_WORDS[2]} != -* ]]; then\n"
		   "\t\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
		   "\t\t\tCOMPREPLY=($(compgen -W '",
		   len, group);
	put_second_words(out, group);
	buf_printf(out,
		   "' -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n"
		   "\t\tverb=\"%.*s ${COMP_WORDS[2]}\"\n\tfi\n",
		   len, group);
}

static void bash_script(struct buf *out) {
	buf_puts(out, "# bash completion for corral, made by `corral completion bash`.\n"
		      "_corral() {\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		      "\tlocal verb=${COMP_WORDS[1]} words=\n"
		      "\tCOMPREPLY=()\n"
		      "\tif [ \"$cur\" = '=' ]; then cur=; fi\n"
		      "\tif [ \"$prev\" = '=' ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
		      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		      "\t\tCOMPREPLY=($(compgen -W '--help --version ");
	put_first_words(out);
	buf_puts(out, "' -- \"$cur\"))\n\t\treturn\n\tfi\n");
	each_group(out, bash_group);
	buf_puts(out, "\tcase $prev in\n");
	for (size_t i = 0; i < options_count; i++) {
		bash_value(out, &options[i]);
	}
	buf_puts(out, "\tesac\n\tcase $verb in\n");
	for (size_t i = 0; i < verbs_count; i++) {
		bash_options(out, &verbs[i]);
	}
	buf_puts(out, "\tesac\n"
		      "\tcase $verb:$cur in\n"
		      "\t*:-*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
		      "\tcompletion:*) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")) ;;\n"
		      "\tcheck:*) if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
		      "\t\tCOMPREPLY=($(compgen -W 'path url command' -- \"$cur\")); fi ;;\n"
		      "\trun:*|explain:*) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
		      "\tesac\n"
		      "}\n"
		      "complete -o default -F _corral corral\n");
}

/* Special in the specifications of _arguments. */
#define ZSH_SPECIAL "[]:\\"

static void zsh_option(struct buf *out, const struct option_row *row) {
	enum follow follow = follow_of(row);

	buf_puts(out, " \\\n\t\t'*");
	if (row->name != NULL) {
		buf_printf(out, "--%s%s", row->name, follow == FOLLOW_NOTHING ? "" : "=");
	} else {
		buf_printf(out, "-%c", row->letter);
	}
	buf_puts(out, "[");
	put_escaped(out, row->help, ZSH_SPECIAL);
	buf_puts(out, "]");
	if (follow != FOLLOW_NOTHING) {
		buf_puts(out, ":");
		put_escaped(out, row->argument, ZSH_SPECIAL);
		buf_puts(out, ":");
	}
	if (follow == FOLLOW_CHOICE) {
		buf_puts(out, "(");
		put_choices(out, row);
		buf_puts(out, ")");
	} else if (follow == FOLLOW_DIR) {
		buf_puts(out, "_files -/");
	} else if (follow == FOLLOW_FILE) {
		buf_puts(out, "_files");
	}
	buf_puts(out, "'");
}

static void zsh_verb(struct buf *out, const struct verb *verb) {
	buf_printf(out, "\t'%s') _arguments -S", verb->name);
	for (size_t i = 0; i < options_count; i++) {
		if (taken_by(&options[i], verb)) {
			zsh_option(out, &options[i]);
		}
	}
	if (verb->command) {
		buf_puts(out, " \\\n\t\t'*::command:_normal'");
	} else if (streq(verb->name, "completion")) {
		buf_puts(out, " \\\n\t\t'1:shell:(bash zsh fish)'");
	} else if (streq(verb->name, "check")) {
		buf_puts(out,
			 " \\\n\t\t'1:kind:(path url command)' '2:path, URL or command:_files'");
	} else if (str_starts(verb->synopsis, "FILE") || str_starts(verb->synopsis, "PATH")) {
		buf_puts(out, " \\\n\t\t'*:file:_files'");
	}
	buf_puts(out, " ;;\n");
}

static void zsh_group(struct buf *out, const char *group) {
	const int len = (int)strcspn(group, " ");

	buf_printf(out,
		   "\tif [[ $verb == %.*s && $words[3] != -* ]]; then\n"
		   "\t\tif (( CURRENT == 3 )); then\n\t\t\tcompadd -- ",
		   len, group);
	put_second_words(out, group);
	buf_printf(out,
		   "\n\t\t\treturn\n\t\tfi\n"
		   "\t\tverb=\"%.*s $words[3]\"\n"
		   "\t\tshift words\n\t\t(( CURRENT-- ))\n\tfi\n",
		   len, group);
}

static void zsh_script(struct buf *out) {
	buf_puts(out, "#compdef corral\n"
		      "# zsh completion for corral, made by `corral completion zsh`.\n"
		      "_corral() {\n"
		      "\tlocal verb=$words[2]\n"
		      "\tif (( CURRENT == 2 )); then\n\t\tcompadd -- --help --version ");
	put_first_words(out);
	buf_puts(out, "\n\t\treturn\n\tfi\n");
	each_group(out, zsh_group);
	buf_puts(out, "\tshift words\n\t(( CURRENT-- ))\n"
		      "\tcase $verb in\n");
	for (size_t i = 0; i < verbs_count; i++) {
		zsh_verb(out, &verbs[i]);
	}
	buf_puts(out, "\tesac\n}\n"
		      "if [[ $funcstack[1] == _corral ]]; then\n\t_corral \"$@\"\nelse\n\tcompdef "
		      "_corral corral\nfi\n");
}

/* fish keeps backslashes in single quotes only before \ and '. */
static void fish_quoted(struct buf *out, const char *text) {
	buf_puts(out, "'");
	for (const char *p = text; *p != '\0'; p++) {
		buf_printf(out, "%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
	}
	buf_puts(out, "'");
}

static void fish_verb(struct buf *out, const struct verb *verb) {
	if (two_words(verb)) {
		buf_printf(out, "complete -c corral -n '__fish_seen_subcommand_from %.*s' -f -a ",
			   (int)strcspn(verb->name, " "), verb->name);
	} else {
		buf_puts(out, "complete -c corral -n __fish_use_subcommand -f -a ");
	}
	buf_printf(out, "%s -d ", last_word(verb));
	fish_quoted(out, verb->summary);
	buf_puts(out, "\n");
}

static void fish_option(struct buf *out, const struct option_row *row) {
	enum follow follow = follow_of(row);

	buf_puts(out, "complete -c corral -n '__fish_seen_subcommand_from");
	for (size_t i = 0; i < verbs_count; i++) {
		if (taken_by(row, &verbs[i])) {
			buf_printf(out, " %s", last_word(&verbs[i]));
		}
	}
	buf_puts(out, "'");
	if (row->name != NULL) {
		buf_printf(out, " -l %s", row->name);
	}
	if (row->letter != 0) {
		buf_printf(out, " -s %c", row->letter);
	}
	if (follow == FOLLOW_CHOICE) {
		buf_puts(out, " -x -a '");
		put_choices(out, row);
		buf_puts(out, "'");
	} else if (follow == FOLLOW_DIR) {
		buf_puts(out, " -x -a '(__fish_complete_directories)'");
	} else if (follow == FOLLOW_FILE) {
		buf_puts(out, " -r -F");
	} else if (follow == FOLLOW_TEXT) {
		buf_puts(out, " -x");
	}
	buf_puts(out, " -d ");
	fish_quoted(out, row->help);
	buf_puts(out, "\n");
}

static void fish_group(struct buf *out, const char *group) {
	if (is_verb(group)) {
		return; /* fish_verb() offers it */
	}
	buf_printf(out, "complete -c corral -n __fish_use_subcommand -f -a %.*s -d '",
		   (int)strcspn(group, " "), group);
	put_second_words(out, group);
	buf_puts(out, "'\n");
}

static void fish_script(struct buf *out) {
	buf_puts(out, "# fish completion for corral, made by `corral completion fish`.\n"
		      "complete -c corral -n __fish_use_subcommand -l version -d 'the version'\n"
		      "complete -c corral -n '__fish_seen_subcommand_from completion' -f -a 'bash "
		      "zsh fish'\n"
		      "complete -c corral -n '__fish_seen_subcommand_from check' -a 'path url "
		      "command'\n");
	each_group(out, fish_group);
	for (size_t i = 0; i < verbs_count; i++) {
		fish_verb(out, &verbs[i]);
	}
	for (size_t i = 0; i < options_count; i++) {
		fish_option(out, &options[i]);
	}
}

static const struct {
	const char *shell;
	void (*write)(struct buf *out);
} scripts[] = {
	{"bash", bash_script},
	{"fish", fish_script},
	{"zsh", zsh_script},
};

int verb_completion(struct invocation *inv, struct corral_error *err) {
	const char *shell = inv->nwords == 1 ? inv->words[0] : "";
	struct buf out;

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		if (!streq(scripts[i].shell, shell)) {
			continue;
		}
		buf_init(&out);
		scripts[i].write(&out);
		int rc = buf_failed(&out) ? memory_error(err) : print_text(out.data, err);
		buf_done(&out);
		return rc;
	}
	return usage_error(err, "corral completion bash|zsh|fish",
			   "`corral completion` takes the name of a shell: bash, zsh or fish");
}
