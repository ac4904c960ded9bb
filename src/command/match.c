/* SPDX-License-Identifier: Apache-2.0 */
/* Matches arguments against patterns such as "push --force", "clean -fd" or "run build".
 *
 * The operands of a pattern are the first operands of the command, in this order; its options may
 * be anywhere before "--", alone, in a bundle (-ffdx), with a value (--flag=value), abbreviated
 * (--forc), or written as an equivalent of data/commands.c (+main for --force).
 *
 * Should:   return MATCH_MAYBE where an expansion or an unknown option decides.
 * Must not: return MATCH_NO for arguments that the program would read as the pattern.
 * Fails:    closed: an abbreviation that is ambiguous matches. */
#include "command/match.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/commands.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* More words than a pattern of policy/command_rule.c can have. */
#define PATTERN_WORDS_MAX 512

/* ---- arguments ---- */

struct reader {
	struct match_arguments *out;
	const struct command_options *row; /* of the part that is read now; NULL: unknown */
	bool ended;                        /* after "--" */
	bool maybe_ended;                  /* after a "--" that may be the argument of an option */
	bool option_before;                /* the last word may take the next one as argument */
};

static bool in_longs(const char *const *list, const char *text, size_t len) {
	for (const char *const *l = list; l != NULL && *l != NULL; l++) {
		if (strlen(*l) == len && memcmp(*l, text, len) == 0) {
			return true;
		}
	}
	return false;
}

static void become_wild(struct match_arguments *m) {
	m->wild_at = m->wild ? m->wild_at : m->noperands;
	m->wild = true;
}

static void become_unknown(struct match_arguments *m) {
	m->wild = true;
	m->wild_at = 0;
}

/* The value of git's -c: an alias, another file of settings, a forced refspec, or a command that
 * git runs changes what the rest means. */
static void read_git_setting(struct match_arguments *m, const char *value) {
	static const char require[] = "clean.requireforce=", pager[] = "core.pager=cat";
	static const char *const keys[] = {
		"alias.",        "core.askpass",   "core.editor",     "core.fsmonitor",
		"core.gitproxy", "core.hookspath", "core.pager",      "core.sshcommand",
		"credential.",   "diff.external",  "filter.",         "gpg.",
		"include",       "pager.",         "sequence.editor",
	};
	static const char *const parts[] = {"=+",          ".mirror",   ".receivepack",
					    ".uploadpack", ".textconv", ".command",
					    ".cmd",        ".vcs",      ".driver"};

	for (size_t i = 0; strcasecmp(value, pager) != 0 && i < ARRAY_LEN(keys); i++) {
		if (strncasecmp(value, keys[i], strlen(keys[i])) == 0) {
			become_unknown(m);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (strcasestr(value, parts[i]) != NULL) {
			become_unknown(m);
		}
	}
	if (strncasecmp(value, require, sizeof require - 1) == 0) {
		m->letters['f'] = true;
	}
}

static void read_value(struct reader *r, char letter, const struct shell_word *value) {
	if (letter == 'c' && streq(r->out->name, "git") && r->out->noperands == 0) {
		if (value->dynamic) {
			become_unknown(r->out);
		} else {
			read_git_setting(r->out, value->text);
		}
	}
}

/* Returns the number of words that the option takes: 0 or 1.  After a letter without a row, the
 * rest may be its argument. */
static size_t read_letters(struct reader *r, const char *text, const struct shell_word *next) {
	bool unknown = r->row == NULL;

	for (const char *p = text + 1; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		if (c < 128) {
			r->out->letters[c] = true;
		}
		if (r->row == NULL || strchr(r->row->letters, *p) == NULL) {
			unknown = unknown || strchr(r->row->flag_letters, *p) == NULL;
			continue;
		}
		if (p[1] != '\0') {
			struct shell_word rest = {.text = p + 1};
			read_value(r, *p, &rest);
			return 0;
		}
		if (next != NULL) {
			read_value(r, *p, next);
		}
		r->option_before = unknown;
		return unknown ? 0 : 1;
	}
	r->option_before = unknown;
	return 0;
}

static size_t read_long(struct reader *r, const char *text) {
	size_t len = strcspn(text, "=");

	r->out->longs[r->out->nlongs++] = text;
	if (streq(r->out->name, "git") && r->out->noperands == 0 &&
	    (str_starts(text, "--config-env") || str_starts(text, "--exec-path="))) {
		become_unknown(r->out);
	}
	if (text[len] == '=') {
		return 0;
	}
	if (r->row != NULL && in_longs(r->row->longs, text, len)) {
		return 1;
	}
	r->option_before = r->row == NULL || !in_longs(r->row->flags, text, len);
	return 0;
}

static void read_operand(struct reader *r, const struct shell_word *w, bool before) {
	struct match_arguments *m = r->out;

	m->operands[m->noperands++] = (struct match_operand){
		.text = w->text, .dynamic = w->dynamic, .maybe_argument = before};
	if (m->noperands == 1) {
		r->row = w->dynamic || before ? NULL : command_options_find(m->name, w->text);
	}
}

static size_t read_word(struct reader *r, const struct shell_word *w,
			const struct shell_word *next) {
	bool before = r->option_before;
	char c = w->text[0];

	r->option_before = false;
	if (w->splits || (w->dynamic && (c == '\0' || (c == '-' && !r->ended)))) {
		become_wild(r->out);
		return 0;
	}
	if (r->ended || c != '-' || w->text[1] == '\0') {
		read_operand(r, w, before);
		return 0;
	}
	if (streq(w->text, "--")) {
		r->ended = !before;
		r->maybe_ended = before;
		return 0;
	}
	if (r->maybe_ended) {
		read_operand(r, w, true);
	}
	return w->text[1] == '-' ? read_long(r, w->text) : read_letters(r, w->text, next);
}

bool match_arguments(struct arena *a, const char *name, const struct shell_word *words, size_t n,
		     struct match_arguments *ret) {
	struct reader r = {.out = ret, .row = command_options_find(name, NULL)};

	*ret = (struct match_arguments){.name = name};
	ret->operands = arena_array(a, n + 1, sizeof *ret->operands);
	ret->longs = arena_array(a, n + 1, sizeof *ret->longs);
	if (ret->operands == NULL || ret->longs == NULL) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		size_t taken = read_word(&r, &words[i], i + 1 < n ? &words[i + 1] : NULL);
		/* An unquoted expansion may also be the argument and more. */
		if (taken > 0 && i + 1 < n && words[i + 1].splits) {
			become_wild(ret);
		}
		i += taken;
	}
	return true;
}

/* ---- patterns ---- */

/* '*' matches any text. */
static bool wildcard(const char *pattern, size_t len, const char *text) {
	size_t at = 0, star = SIZE_MAX;
	const char *retry = NULL;

	while (*text != '\0') {
		if (at < len && pattern[at] == '*') {
			star = at++;
			retry = text;
		} else if (at < len && pattern[at] == *text) {
			at++;
			text++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (at < len && pattern[at] == '*') {
		at++;
	}
	return at == len;
}

struct piece {
	const char *text;
	size_t len;
};

/* Whether a text with this beginning could match. */
static bool could_begin(const struct piece *p, const char *text) {
	for (size_t i = 0; i < p->len && text[i] != '\0'; i++) {
		if (p->text[i] == '*') {
			return true;
		}
		if (p->text[i] != text[i]) {
			return false;
		}
	}
	return true;
}

static enum match operand_matches(const struct match_arguments *m, const struct piece *p,
				  size_t at) {
	if (m->wild && at >= m->wild_at) {
		return MATCH_MAYBE;
	}
	if (at >= m->noperands) {
		return MATCH_NO;
	}
	const struct match_operand *o = &m->operands[at];
	if (o->dynamic) {
		return could_begin(p, o->text) ? MATCH_MAYBE : MATCH_NO;
	}
	return wildcard(p->text, p->len, o->text) ? MATCH_YES : MATCH_NO;
}

/* Operands that may be arguments of unknown options are tried both ways; more are undecided. */
#define OPERANDS_MAX 128

static enum match lesser(enum match a, enum match b) {
	return a < b ? a : b;
}

static enum match greater(enum match a, enum match b) {
	return a > b ? a : b;
}

/* Blocked: the best reading counts; allowed: the worst. */
static enum match operands_match(const struct match_arguments *m, const struct piece *list,
				 size_t n, bool allowed) {
	size_t last = m->noperands < OPERANDS_MAX ? m->noperands : OPERANDS_MAX;
	enum match after[OPERANDS_MAX + 1], now[OPERANDS_MAX + 1];

	/* now[k]: the pieces from i on against the operands from k on. */
	for (size_t k = 0; k <= OPERANDS_MAX; k++) {
		now[k] = MATCH_YES;
	}
	for (size_t i = n; i-- > 0;) {
		memcpy(after, now, sizeof after);
		bool more = last < m->noperands;
		now[last] = lesser(more ? MATCH_MAYBE : operand_matches(m, &list[i], last),
				   after[last]);
		for (size_t k = last; k-- > 0;) {
			now[k] = lesser(operand_matches(m, &list[i], k), after[k + 1]);
			if (m->operands[k].maybe_argument) {
				now[k] = allowed ? lesser(now[k], now[k + 1])
						 : greater(now[k], now[k + 1]);
			}
		}
	}
	return now[0];
}

/* The option `text`, or an abbreviation of it, is among the arguments. */
static bool has_long(const struct match_arguments *m, const char *text, size_t len) {
	size_t name = 0;
	while (name < len && text[name] != '=') {
		name++;
	}
	for (size_t i = 0; i < m->nlongs; i++) {
		const char *given = m->longs[i];
		size_t n = strcspn(given, "=");
		if (name < len) { /* the pattern has a value */
			if (wildcard(text, len, given)) {
				return true;
			}
		} else if (n > 2 && n <= name && memcmp(given, text, n) == 0) {
			return true;
		}
	}
	return false;
}

static bool has_operand_prefix(const struct match_arguments *m, const char *prefix) {
	for (size_t i = 1; i < m->noperands; i++) {
		if (str_starts(m->operands[i].text, prefix)) {
			return true;
		}
	}
	return false;
}

static bool has_word(const struct match_arguments *m, const struct command_equal *row) {
	if (row->prefix) {
		return has_operand_prefix(m, row->word);
	}
	return row->word[1] == '-' ? has_long(m, row->word, strlen(row->word))
				   : m->letters[(unsigned char)row->word[1]];
}

static bool is_row_for(const struct command_equal *row, const struct match_arguments *m,
		       const struct piece *option) {
	bool same = row->subcommand == NULL;

	for (size_t i = 0; !same && i < m->noperands; i++) {
		same = !m->operands[i].dynamic && streq(m->operands[i].text, row->subcommand);
		if (!m->operands[i].maybe_argument) {
			break;
		}
	}

	return same && streq(row->name, m->name) && strlen(row->option) == option->len &&
	       memcmp(row->option, option->text, option->len) == 0;
}

static bool has_equal(const struct match_arguments *m, const struct piece *option) {
	for (size_t i = 0; i < command_equals_count; i++) {
		if (is_row_for(&command_equals[i], m, option) && has_word(m, &command_equals[i])) {
			return true;
		}
	}
	return false;
}

static bool has_letter(const struct match_arguments *m, char letter) {
	const char text[] = {'-', letter, '\0'};
	struct piece option = {text, 2};

	return ((unsigned char)letter < 128 && m->letters[(unsigned char)letter]) ||
	       has_equal(m, &option);
}

static enum match option_matches(const struct match_arguments *m, const struct piece *p) {
	bool all = true;

	if (p->len > 1 && p->text[1] == '-') {
		all = has_long(m, p->text, p->len) || has_equal(m, p);
	} else {
		for (size_t i = 1; i < p->len; i++) {
			all = all && has_letter(m, p->text[i]);
		}
	}
	return all ? MATCH_YES : m->wild ? MATCH_MAYBE : MATCH_NO;
}

static size_t split(const char *pattern, struct piece *pieces) {
	size_t n = 0;

	for (const char *p = pattern; *p != '\0';) {
		size_t len = strcspn(p, " ");
		if (len > 0 && n < PATTERN_WORDS_MAX) {
			pieces[n++] = (struct piece){p, len};
		}
		p += len + (p[len] == ' ');
	}
	return n;
}

enum match match_pattern(const struct match_arguments *args, const char *pattern, bool allowed) {
	struct piece pieces[PATTERN_WORDS_MAX], operands[PATTERN_WORDS_MAX];
	size_t n = split(pattern, pieces), noperands = 0;
	enum match result = MATCH_YES;

	for (size_t i = 0; i < n; i++) {
		if (pieces[i].text[0] != '-' || pieces[i].len == 1) {
			operands[noperands++] = pieces[i];
			continue;
		}
		enum match one = option_matches(args, &pieces[i]);
		result = one < result ? one : result;
	}
	if (noperands == 0 && allowed && args->noperands > 0) {
		return MATCH_NO;
	}
	enum match one = operands_match(args, operands, noperands, allowed);
	return one < result ? one : result;
}
