/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the compound commands of a shell, and functions.
 *
 * dash reads [[ and (( as ordinary text: `[[ a && rm x ]]` runs rm there.  Which shell /bin/sh is,
 * is not known here, so both readings count.
 *
 * Should:   parse every list inside a compound command.
 * Must not: skip text that one of the shells would run.
 * Fails:    closed: an incomplete compound command is a fault. */
#include "command/shell_parser.h"

#include "base/auto.h"

#include <string.h>

static bool enter(struct shell *s) {
	if (s->depth >= SHELL_DEPTH_MAX) {
		return shell_fail(s, "commands are nested too deeply");
	}
	s->depth++;
	return true;
}

/* A list that must not be empty. */
static bool body(struct shell *s) {
	size_t before = s->out->ncommands;
	const char *from;

	if (!shell_newlines(s)) {
		return false;
	}
	from = s->p;
	if (!shell_list(s)) {
		return false;
	}
	return s->p > from || s->out->ncommands > before || shell_fail(s, "a command is missing");
}

static bool subshell(struct shell *s) {
	s->p++;
	if (!body(s)) {
		return false;
	}
	if (s->p >= s->end || *s->p != ')') {
		return shell_fail(s, "( is not closed");
	}
	s->p++;
	return true;
}

static bool if_clause(struct shell *s) {
	do {
		if (!body(s) || !shell_need_reserved(s, "then", "`then` is missing") || !body(s)) {
			return false;
		}
	} while (shell_take_reserved(s, "elif"));
	if (shell_take_reserved(s, "else") && !body(s)) {
		return false;
	}
	return shell_need_reserved(s, "fi", "`fi` is missing");
}

static bool do_group(struct shell *s) {
	return shell_need_reserved(s, "do", "`do` is missing") && body(s) &&
	       shell_need_reserved(s, "done", "`done` is missing");
}

static bool words_to_separator(struct shell *s) {
	struct shell_word w;

	for (;;) {
		shell_blanks(s);
		if (s->p >= s->end || *s->p == ';' || *s->p == '\n') {
			return true;
		}
		const char *from = s->p;
		if (!shell_word(s, &w)) {
			return false;
		}
		if (s->p == from) {
			return shell_fail(s, "unexpected character in `for`");
		}
	}
}

static bool separator(struct shell *s) {
	shell_blanks(s);
	if (s->p < s->end && *s->p == ';') {
		s->p++;
	}
	return shell_newlines(s);
}

static bool for_clause(struct shell *s) {
	struct shell_word name;

	shell_blanks(s);
	if (shell_at(s, 0) == '(' && shell_at(s, 1) == '(') {
		s->p += 2;
		return (shell_arithmetic(s) || shell_fail(s, "(( is not closed")) && separator(s) &&
		       do_group(s);
	}
	const char *from = s->p;
	if (!shell_word(s, &name)) {
		return false;
	}
	if (s->p == from || name.dynamic) {
		return shell_fail(s, "`for` has no name");
	}
	if (!shell_newlines(s)) {
		return false;
	}
	if (shell_take_reserved(s, "in") && !words_to_separator(s)) {
		return false;
	}
	return separator(s) && do_group(s);
}

static bool case_pattern(struct shell *s) {
	struct shell_word w;

	if (*s->p == '(') {
		s->p++;
	}
	for (;;) {
		shell_blanks(s);
		const char *from = s->p;
		if (!shell_word(s, &w)) {
			return false;
		}
		shell_blanks(s);
		if (s->p == from || s->p >= s->end) {
			return shell_fail(s, "a pattern of `case` is missing");
		}
		if (*s->p == ')') {
			s->p++;
			return true;
		}
		if (*s->p != '|') {
			return shell_fail(s, "unexpected character in a pattern of `case`");
		}
		s->p++;
	}
}

static bool case_item_end(struct shell *s) {
	if (shell_at(s, 0) == ';' && shell_at(s, 1) == ';') {
		s->p += shell_at(s, 2) == '&' ? 3 : 2;
	} else if (shell_at(s, 0) == ';' && shell_at(s, 1) == '&') {
		s->p += 2;
	} else if (!shell_at_reserved(s, "esac")) {
		return shell_fail(s, "`esac` or ;; is missing");
	}
	return shell_newlines(s);
}

static bool case_clause(struct shell *s) {
	struct shell_word w;

	shell_blanks(s);
	const char *from = s->p;
	if (!shell_word(s, &w)) {
		return false;
	}
	if (s->p == from || !shell_need_reserved(s, "in", "`in` is missing") ||
	    !shell_newlines(s)) {
		return shell_fail(s, "`case` has no word");
	}
	while (!shell_take_reserved(s, "esac")) {
		if (s->p >= s->end) {
			return shell_fail(s, "`esac` is missing");
		}
		if (!case_pattern(s) || !shell_newlines(s) || !shell_list(s) ||
		    !shell_newlines(s) || !case_item_end(s)) {
			return false;
		}
	}
	return true;
}

/* [[ ... ]]: operators are skipped, words are parsed for their substitutions. */
static bool conditional(struct shell *s) {
	struct shell_word w;

	s->counts->evaluates = true;
	for (;;) {
		if (!shell_newlines(s)) {
			return false;
		}
		if (s->p >= s->end) {
			return shell_fail(s, "[[ is not closed");
		}
		if (shell_take_reserved(s, "]]")) {
			return true;
		}
		const char *from = s->p;
		if (!shell_word(s, &w)) {
			return false;
		}
		s->p += s->p == from; /* an operator or a parenthesis */
	}
}

bool shell_function_body(struct shell *s, const char *name, size_t len) {
	struct shell_script *out = s->out;
	char *copy = arena_strndup(s->a, name, len);
	bool found = false;

	if (copy == NULL || arena_grow(s->a, &out->functions, out->nfunctions, &out->functions_cap,
				       sizeof *out->functions) != 0) {
		return shell_no_memory(s);
	}
	out->functions[out->nfunctions++] = copy;
	if (!shell_newlines(s) || !shell_compound(s, &found)) {
		return false;
	}
	return found || shell_fail(s, "a function has no body");
}

static bool function_clause(struct shell *s) {
	shell_blanks(s);
	const char *name = s->p;
	while (s->p < s->end && !shell_is_meta(*s->p)) {
		s->p++;
	}
	size_t len = (size_t)(s->p - name);
	shell_blanks(s);
	if (shell_at(s, 0) == '(') {
		s->p++;
		shell_blanks(s);
		if (shell_at(s, 0) != ')') {
			return shell_fail(s, "() is missing after the name of a function");
		}
		s->p++;
	}
	return len > 0 ? shell_function_body(s, name, len)
		       : shell_fail(s, "a function has no name");
}

/* Length of "name ()" at the current place; 0. */
size_t shell_function_head(const struct shell *s, size_t *ret_name) {
	size_t n = 0;

	while (!shell_is_meta(shell_at(s, n)) && strchr("'\"\\$`=", shell_at(s, n)) == NULL) {
		n++;
	}
	*ret_name = n;
	while (shell_at(s, n) == ' ' || shell_at(s, n) == '\t') {
		n++;
	}
	if (*ret_name == 0 || shell_at(s, n) != '(') {
		return 0;
	}
	for (n++; shell_at(s, n) == ' ' || shell_at(s, n) == '\t'; n++) {
	}
	return shell_at(s, n) == ')' ? n + 1 : 0;
}

static bool group(struct shell *s) {
	return body(s) && shell_need_reserved(s, "}", "{ is not closed");
}

static bool while_clause(struct shell *s) {
	return body(s) && do_group(s);
}

static void read_plainly(struct shell *s, const char *from);

static bool reserved_command(struct shell *s, bool *ret_found) {
	static const struct {
		const char *word;
		bool (*parse)(struct shell *s);
	} rows[] = {
		{"{", group},
		{"if", if_clause},
		{"while", while_clause},
		{"until", while_clause},
		{"for", for_clause},
		{"select", for_clause},
		{"case", case_clause},
		{"function", function_clause},
	};

	*ret_found = true;
	if (!s->plain && shell_at_reserved(s, "[[")) {
		const char *from = s->p;
		s->p += 2;
		if (!conditional(s)) {
			return false;
		}
		read_plainly(s, from);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (shell_take_reserved(s, rows[i].word)) {
			return rows[i].parse(s);
		}
	}
	*ret_found = false;
	return true;
}

/* Adds the commands of dash's reading of the text from `from` to here, if dash can parse it. */
static void read_plainly(struct shell *s, const char *from) {
	struct shell plain = *s;
	struct shell_mark start = shell_mark(s);

	plain.p = from;
	plain.end = s->p;
	plain.plain = true;
	plain.npending = 0;
	if (!shell_list(&plain) || plain.p < plain.end) {
		shell_rewind(s, &start);
	}
}

static bool parentheses(struct shell *s) {
	const char *from = s->p;

	if (shell_at(s, 1) == '(' && !s->plain) {
		s->p += 2;
		if (shell_arithmetic(s)) {
			read_plainly(s, from);
			return true;
		}
		s->p = from;
	}
	return subshell(s);
}

bool shell_compound(struct shell *s, bool *ret_found) {
	if (!enter(s)) {
		return false;
	}
	bool ok;
	if (shell_at(s, 0) == '(') {
		*ret_found = true;
		ok = parentheses(s);
	} else {
		ok = reserved_command(s, ret_found);
	}
	s->depth--;
	return ok && (!*ret_found || shell_redirections(s));
}
