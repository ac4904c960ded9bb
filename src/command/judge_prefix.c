/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the command in the arguments of another: env, xargs, timeout, find -exec.
 *
 * Should:   find the inner command of every program in data/commands.c.
 * Must not: guess about an option that the program's row does not have.
 * Fails:    closed: an inner command that cannot be known is undecided. */
#include "command/judging.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/commands.h"

#include <string.h>

/* A variable that changes which file a name means, or which settings git has. */
void judge_variable(struct judge *j, const struct call *c, const char *text) {
	static const char *const names[] = {"PATH=",          "PATH+=",     "IFS=",
					    "BASH_ENV=",      "ENV=",       "GIT_CONFIG",
					    "GIT_EXEC_PATH=", "PS4=",       "PROMPT_COMMAND",
					    "BASH_FUNC_",     "SHELLOPTS=", "LD_PRELOAD="};

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		if (str_starts(text, names[k])) {
			judge_undecided(j, c,
					"it sets %.*s, which changes the meaning of a command",
					(int)strcspn(text, "+="), text);
		}
	}
}

/* ---- options ---- */

/* The command in the arguments of a program. */
struct inner {
	size_t start;     /* its index; n: there is none */
	const char *mark; /* text that the program replaces in the command; NULL */
};

static bool in(const char *const *list, const char *text, size_t len) {
	for (const char *const *l = list; l != NULL && *l != NULL; l++) {
		if (strlen(*l) == len && memcmp(*l, text, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool has_letter(const char *letters, char c) {
	return letters != NULL && strchr(letters, c) != NULL;
}

/* -I, -i and --replace of xargs. */
static void read_mark(struct inner *ret, const char *value, const struct shell_word *next) {
	ret->mark = value[0] != '\0' ? value : next != NULL ? next->text : "{}";
}

static bool read_long(const struct command_prefix *p, const char *text, size_t *ret_words,
		      struct inner *ret) {
	size_t len = strcspn(text, "=");
	bool takes = in(p->longs, text, len);

	if (p->appends && len == 9 && memcmp(text, "--replace", len) == 0) {
		read_mark(ret, text + len + (text[len] == '='), NULL);
	}
	*ret_words = takes && text[len] == '\0' ? 1 : 0;
	return takes || in(p->flags, text, len);
}

/* The last letter takes the next word; an earlier one takes the rest of this one. */
static bool read_letters(const struct command_prefix *p, const struct shell_word *words,
			 size_t *ret_words, struct inner *ret) {
	*ret_words = 0;
	for (const char *c = words[0].text + 1; *c != '\0'; c++) {
		bool takes = has_letter(p->letters, *c), attached = has_letter(p->attached, *c);
		if (takes || attached) {
			*ret_words = takes && c[1] == '\0' ? 1 : 0;
			if (p->appends && (*c == 'I' || *c == 'i')) {
				read_mark(ret, c + 1, *ret_words > 0 ? &words[1] : NULL);
			}
			return true;
		}
		if (!has_letter(p->flag_letters, *c)) {
			return false;
		}
	}
	return true;
}

/* Reads the option at *i, with its argument.  False: the row does not have it, or the argument is
 * an expansion that may be several words. */
static bool read_option(struct judge *j, const struct command_prefix *p, const struct call *c,
			size_t *i, struct inner *ret) {
	const char *text = c->words[*i].text;
	size_t words = 0;
	bool last = *i + 1 == c->n;

	if (p->script_letter != NULL && !last &&
	    ((text[1] == p->script_letter[0] && text[2] == '\0') || streq(text, "--command"))) {
		const struct shell_word *w = &c->words[++*i];
		judge_string(j, c, w->dynamic ? NULL : w->text);
		return true;
	}
	struct shell_word pair[2] = {c->words[*i], {.text = ""}};
	if (!last) {
		pair[1] = c->words[*i + 1];
	}
	bool known = text[1] == '-' ? read_long(p, text, &words, ret)
				    : read_letters(p, pair, &words, ret);
	if (words > 0 && !last && (pair[1].splits || (pair[1].dynamic && ret->mark != NULL))) {
		return false;
	}
	*i += words;
	return known;
}

/* False: it cannot be known. */
static bool find_inner(struct judge *j, const struct command_prefix *p, const struct call *c,
		       struct inner *ret) {
	size_t i = 1, operands = p->operands;
	bool ended = false;

	for (; i < c->n; i++) {
		const struct shell_word *w = &c->words[i];
		bool dash = !ended && w->text[0] == '-';
		if (w->dynamic && (w->splits || w->text[0] == '\0' || dash)) {
			return false;
		}
		if (dash && streq(w->text, "--")) {
			ended = true;
		} else if (dash && w->text[1] != '\0') {
			if (!read_option(j, p, c, &i, ret)) {
				return false;
			}
		} else if (p->assignments &&
			   (strchr(w->text, '=') != NULL || (dash && w->text[1] == '\0'))) {
			judge_variable(j, c, w->text);
		} else if (operands > 0) {
			operands--;
		} else {
			break;
		}
	}
	ret->start = i < c->n ? i : c->n;
	return true;
}

/* ---- the inner command ---- */

/* A copy of the command, where words with `mark` are unknown, with room for one more word.
 * `several`: a word that is the mark itself may become more than one. */
static struct shell_word *with_unknown(struct judge *j, const struct call *c, const char *mark,
				       bool several) {
	struct shell_word *words = arena_array(j->a, c->n + 1, sizeof *words);

	if (words == NULL) {
		j->out_of_memory = true;
		return NULL;
	}
	for (size_t i = 0; i < c->n; i++) {
		const char *at = mark == NULL ? NULL : strstr(c->words[i].text, mark);
		words[i] = c->words[i];
		if (at == NULL) {
			continue;
		}
		words[i].text = arena_strndup(j->a, words[i].text, (size_t)(at - words[i].text));
		words[i].dynamic = true;
		words[i].splits = words[i].splits || (several && streq(c->words[i].text, mark));
		if (words[i].text == NULL) {
			j->out_of_memory = true;
			return NULL;
		}
	}
	return words;
}

void judge_prefix(struct judge *j, const struct command_prefix *p, const struct call *c) {
	struct inner found = {0};

	if (!find_inner(j, p, c, &found)) {
		judge_undecided(j, c, "the command that %s runs cannot be known", p->name);
		return;
	}
	if (found.start >= c->n) {
		return;
	}
	struct call inner = {c->words + found.start, c->n - found.start};
	if (p->appends) {
		struct shell_word *more = with_unknown(j, &inner, found.mark, false);
		if (more == NULL) {
			return;
		}
		more[inner.n] = (struct shell_word){.text = "", .dynamic = true, .splits = true};
		inner = (struct call){more, inner.n + 1};
	}
	judge_call(j, inner, false);
}

/* The index of the word that ends an action: ";", or "+" after "{}". */
static size_t action_end(const struct call *c, size_t from) {
	size_t end = from;

	while (end < c->n && !streq(c->words[end].text, ";") &&
	       !(streq(c->words[end].text, "+") && end > from &&
		 streq(c->words[end - 1].text, "{}"))) {
		end++;
	}
	return end;
}

static bool is_action(const char *text) {
	static const char *const actions[] = {"-exec", "-execdir", "-ok", "-okdir"};

	for (size_t k = 0; k < ARRAY_LEN(actions); k++) {
		if (streq(text, actions[k])) {
			return true;
		}
	}
	return false;
}

/* An expansion of find's arguments that could be an action; `last`: the last word that ends one. */
static bool hides_action(const struct call *c, size_t i, size_t last) {
	const struct shell_word *w = &c->words[i];
	bool could = w->dynamic && (w->text[0] == '\0' || w->text[0] == '-');

	return (w->dynamic && w->splits) || (could && i < last);
}

/* find ... -exec COMMAND ... ; */
void judge_find(struct judge *j, const struct call *c) {
	size_t last = c->n - 1;

	while (last > 0 && !streq(c->words[last].text, ";") && !streq(c->words[last].text, "+")) {
		last--;
	}
	for (size_t i = 1; i < c->n; i++) {
		if (hides_action(c, i, last)) {
			judge_undecided(j, c, "an expansion may be an action of find");
			return;
		}
		if (!is_action(c->words[i].text) || i + 1 >= c->n) {
			continue;
		}
		size_t end = action_end(c, i + 1);
		bool several = end < c->n && streq(c->words[end].text, "+");
		struct call inner = {c->words + i + 1, end - i - 1};
		inner.words = with_unknown(j, &inner, "{}", several);
		if (inner.words == NULL) {
			return;
		}
		judge_call(j, inner, false);
		i = end;
	}
}
