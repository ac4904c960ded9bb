/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one word of a shell: quotes, parameters, substitutions, patterns.
 *
 * Should:   parse the commands inside every substitution, and mark the word as dynamic.
 * Must not: expand anything.
 * Fails:    closed: an unterminated quote or substitution is a fault. */
#include "command/shell_parser.h"

#include "base/buf.h"

#include <string.h>

/* A word while it is read. */
struct builder {
	struct buf text; /* up to the first expansion */
	bool dynamic, splits;
	bool braced, separated; /* an unquoted '{', and ',' or ".." after it */
	size_t brace_at;
	bool bracket; /* an unquoted '[' */
	size_t bracket_at;
	char last; /* character of the quoted or plain text */
	bool literal;
};

static void put(struct builder *b, char c) {
	b->literal = b->literal || c == '`' || (c == '(' && b->last == '$');
	b->last = c;
	if (!b->dynamic) {
		buf_add(&b->text, &c, 1);
	}
}

static void make_dynamic(struct builder *b, bool splits, size_t keep) {
	if (!b->dynamic && keep < b->text.len) {
		b->text.len = keep;
		b->text.data[keep] = '\0';
	}
	b->dynamic = true;
	b->splits = b->splits || splits;
}

bool shell_is_meta(char c) {
	return c == '\0' || strchr(" \t\n|&;()<>", c) != NULL;
}

static bool is_name_start(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool shell_is_name(char c) {
	return is_name_start(c) || (c >= '0' && c <= '9');
}

static bool dollar(struct shell *s, bool quoted, bool *ret_dynamic, bool *ret_splits);
static bool backquote(struct shell *s, bool quoted, bool nested);
static bool double_quoted(struct shell *s, struct builder *b);

static bool single_quoted(struct shell *s, struct builder *b) {
	const char *close = memchr(s->p + 1, '\'', (size_t)(s->end - s->p - 1));

	if (close == NULL) {
		return shell_fail(s, "a single quote is not closed");
	}
	for (s->p++; s->p < close; s->p++) {
		if (b != NULL) {
			put(b, *s->p);
		}
	}
	s->p++;
	return true;
}

/* $'...': its escapes are not decoded.  dash has no such quote: there it ends at the first '. */
static bool ansi_quoted(struct shell *s) {
	const char *plain_end = memchr(s->p, '\'', (size_t)(s->end - s->p));
	bool literal = false;

	for (; s->p < s->end && *s->p != '\''; s->p++) {
		literal = literal || *s->p == '$' || *s->p == '`';
		if (*s->p == '\\' && s->p + 1 < s->end) {
			s->p++;
			literal = literal || strchr("xuU01234567", *s->p) != NULL;
		}
	}
	s->counts->literal = s->counts->literal || literal;
	if (s->p >= s->end) {
		return shell_fail(s, "a $' quote is not closed");
	}
	if (s->p != plain_end) {
		shell_doubt(s, "shells differ in where the $' quote ends");
	}
	s->p++;
	return true;
}

/* An expansion inside other text, of which only the commands matter. */
static bool inner(struct shell *s, bool quoted) {
	bool dynamic = false, splits = false;
	return *s->p == '`' ? backquote(s, quoted, true) : dollar(s, quoted, &dynamic, &splits);
}

static bool has_any(const char *from, const char *to, const char *set) {
	for (; from < to; from++) {
		if (*from != '\0' && strchr(set, *from) != NULL) {
			return true;
		}
	}
	return false;
}

/* A quote in ${...} in double quotes or a here-document: literal after some operators and in some
 * shells.  Harmless when both readings end at the same place. */
static bool quote_in_quoted(struct shell *s) {
	const char *from = s->p;
	struct shell_fault before = *s->fault;
	bool ok = *from == '"' ? double_quoted(s, NULL) : single_quoted(s, NULL);

	if (ok && !has_any(from + 1, s->p - 1, "'\"`$\\{}")) {
		return true;
	}
	shell_doubt(s, "shells differ about quotes in ${ } in double quotes");
	if (*from == '\'') {
		*s->fault = before;
		s->p = from + 1;
		return true;
	}
	return ok;
}

/* ${ command; } and ${|command; } of newer shells; ${x@P}; subscripts and offsets. */
static void judge_parameter(struct shell *s, const char *from, const char *to) {
	if (from < to && strchr(" \t\n|", *from) != NULL) {
		shell_doubt(s, "${ is followed by a command");
	}
	bool evaluates = has_any(from, to, "[!");
	for (const char *p = from; p + 1 < to; p++) {
		if (p[0] == '@' && p[1] == 'P') {
			shell_doubt(s, "@P expands the value of a variable again");
		}
		evaluates = evaluates || (p[0] == ':' && strchr("-=?+", p[1]) == NULL);
	}
	s->counts->evaluates = s->counts->evaluates || evaluates;
}

static bool parameter_text(struct shell *s, bool quoted) {
	const char *from = s->p;

	while (s->p < s->end && *s->p != '}') {
		bool ok = true;
		switch (*s->p) {
		case '\\':
			s->p += s->p + 1 < s->end ? 2 : 1;
			break;
		case '\'':
			ok = quoted ? quote_in_quoted(s) : single_quoted(s, NULL);
			break;
		case '"':
			ok = quoted ? quote_in_quoted(s) : double_quoted(s, NULL);
			break;
		case '$':
		case '`':
			ok = inner(s, quoted);
			break;
		default:
			s->p++;
			break;
		}
		if (!ok) {
			return false;
		}
	}
	if (s->p >= s->end) {
		return shell_fail(s, "${ is not closed");
	}
	judge_parameter(s, from, s->p);
	s->p++;
	return true;
}

/* ${...}, after "${". */
static bool parameter(struct shell *s, bool quoted) {
	if (s->depth >= SHELL_DEPTH_MAX) {
		return shell_fail(s, "expansions are nested too deeply");
	}
	s->depth++;
	bool ok = parameter_text(s, quoted);
	s->depth--;
	return ok;
}

struct shell_mark shell_mark(const struct shell *s) {
	return (struct shell_mark){s->p,           s->out->ncommands, s->out->nfunctions,
				   s->out->nfiles, s->npending,       *s->fault};
}

void shell_rewind(struct shell *s, const struct shell_mark *m) {
	s->p = m->p;
	s->out->ncommands = m->commands;
	s->out->nfunctions = m->functions;
	s->out->nfiles = m->files;
	s->npending = m->pending;
	*s->fault = m->fault;
}

/* Shells differ about quotes in arithmetic. */
static bool arithmetic_quote(struct shell *s) {
	const char *from = s->p;
	bool ok = *from != '"' || double_quoted(s, NULL);

	if (*from != '"' || !ok || has_any(from + 1, s->p - 1, "()'`\\")) {
		shell_doubt(s, "shells differ about quotes in arithmetic");
	}
	s->p += *from == '\'' ? 1 : *from == '\\' ? (s->p + 1 < s->end ? 2 : 1) : 0;
	return ok;
}

static bool arithmetic_text(struct shell *s) {
	for (size_t depth = 0; s->p < s->end;) {
		char c = *s->p;
		if (c == ')' && depth == 0) {
			return shell_at(s, 1) == ')';
		}
		if (strchr("$`\"'\\", c) != NULL) {
			bool expansion = c == '$' || c == '`';
			if (expansion ? !inner(s, true) : !arithmetic_quote(s)) {
				return false;
			}
			continue;
		}
		depth += c == '(';
		depth -= c == ')';
		s->p++;
	}
	return false;
}

/* Each failed attempt reads the text again: without a bound, nesting would make it exponential. */
#define ATTEMPTS_MAX 256

bool shell_arithmetic(struct shell *s) {
	struct shell_mark start = shell_mark(s);

	s->counts->evaluates = true;
	if (++s->counts->attempts <= ATTEMPTS_MAX && arithmetic_text(s)) {
		s->p += 2;
		return true;
	}
	shell_rewind(s, &start);
	return false;
}

/* $(...), after "$(". */
static bool substitution(struct shell *s) {
	if (s->depth >= SHELL_DEPTH_MAX) {
		return shell_fail(s, "substitutions are nested too deeply");
	}
	const char *from = s->p;
	size_t outside = s->npending;
	s->depth++;
	bool ok = shell_list(s);
	s->depth--;
	if (!ok) {
		return false;
	}
	if (s->p >= s->end || *s->p != ')') {
		return shell_fail(s, "$( is not closed");
	}
	bool across = outside > 0 && memchr(from, '\n', (size_t)(s->p - from)) != NULL;
	if (across || s->npending > outside) {
		shell_doubt(s, "a here-document and $( ) overlap");
	}
	s->p++;
	return true;
}

/* "$((" may also begin a subshell in a substitution. */
static bool parenthesised(struct shell *s) {
	if (shell_at(s, 0) == '(') {
		s->p++;
		if (shell_arithmetic(s)) {
			return true;
		}
		s->p--;
	}
	return substitution(s);
}

static bool dollar(struct shell *s, bool quoted, bool *ret_dynamic, bool *ret_splits) {
	char c = shell_at(s, 1);
	const char *next = shell_after_joins(s->p + 1, s->end);
	const char *second = c == '(' ? shell_after_joins(s->p + 2, s->end) : s->end;

	if (next > s->p + 1 || (second > s->p + 2 && second < s->end && *second == '(')) {
		shell_doubt(s, "a backslash and a newline follow $");
	}
	*ret_dynamic = true;
	*ret_splits = !quoted;
	if (c == '(') {
		s->p += 2;
		return parenthesised(s);
	}
	if (c == '{') {
		const char *from = s->p += 2;
		bool ok = parameter(s, quoted);
		*ret_splits = *ret_splits || memchr(from, '@', (size_t)(s->p - from)) != NULL;
		return ok;
	}
	if (c == '\'' && !quoted) {
		s->p += 2;
		*ret_splits = false;
		return ansi_quoted(s);
	}
	if (is_name_start(c)) {
		for (s->p++; s->p < s->end && shell_is_name(*s->p); s->p++) {
		}
		return true;
	}
	if (c != '\0' && strchr("@*#?-$!0123456789", c) != NULL) {
		*ret_splits = *ret_splits || c == '@';
		s->p += 2;
		return true;
	}
	*ret_dynamic = *ret_splits = false;
	s->p++;
	return true;
}

/* The text between backquotes without its escapes; NULL after a fault.  *ret_end is the closing
 * backquote.  `nested`: in a here-document, ${...} or arithmetic, where shells differ about \". */
static const char *backquoted_text(struct shell *s, bool quoted, bool nested,
				   const char **ret_end) {
	const char *escaped = quoted ? "`\\$\"" : "`\\$";
	const char *p = s->p + 1;
	struct buf text;

	buf_init(&text);
	for (; p < s->end && *p != '`'; p++) {
		bool escape = *p == '\\' && p + 1 < s->end;
		if (escape && p[1] == '"' && nested) {
			shell_doubt(s, "shells differ about \\\" in backquotes");
		}
		if (escape && strchr(escaped, p[1]) != NULL) {
			p++;
		}
		buf_add(&text, p, 1);
	}
	const char *found = text.data == NULL ? "" : text.data;
	char *copy = buf_failed(&text) ? NULL : arena_strndup(s->a, found, text.len);
	buf_done(&text);
	*ret_end = p;
	if (copy == NULL) {
		(void)shell_no_memory(s);
	} else if (p >= s->end) {
		(void)shell_fail(s, "a backquote is not closed");
		return NULL;
	}
	return copy;
}

/* The text between backquotes is a program of its own, once its escapes are removed. */
static bool backquote(struct shell *s, bool quoted, bool nested) {
	const char *close = NULL, *text = backquoted_text(s, quoted, nested, &close);

	if (text == NULL) {
		return false;
	}
	if (s->depth >= SHELL_DEPTH_MAX) {
		return shell_fail(s, "substitutions are nested too deeply");
	}
	struct shell within = {.a = s->a,
			       .text = text,
			       .p = text,
			       .end = text + strlen(text),
			       .depth = s->depth + 1,
			       .out = s->out,
			       .fault = s->fault,
			       .counts = s->counts,
			       .plain = s->plain};
	if (!shell_list(&within)) {
		return false;
	}
	if (within.p < within.end) {
		return shell_fail(&within, "unexpected )");
	}
	if (within.npending > 0) {
		shell_doubt(s, "a here-document is not closed");
	}
	s->p = close + 1;
	return true;
}

static bool expand(struct shell *s, struct builder *b, bool quoted) {
	bool dynamic = true, splits = !quoted;
	bool ok = *s->p == '`' ? backquote(s, quoted, false) : dollar(s, quoted, &dynamic, &splits);

	if (ok && b != NULL && dynamic) {
		make_dynamic(b, splits, b->text.len);
	} else if (ok && b != NULL) {
		put(b, '$');
	}
	return ok;
}

static bool double_quoted(struct shell *s, struct builder *b) {
	for (s->p++; s->p < s->end && *s->p != '"';) {
		char c = *s->p;
		if (c == '$' || c == '`') {
			if (!expand(s, b, true)) {
				return false;
			}
			continue;
		}
		if (c == '\\' && s->p + 1 < s->end) {
			char next = *++s->p;
			if (strchr("$`\"\\\n", next) == NULL && b != NULL) {
				put(b, '\\');
			}
			c = next;
			if (c == '\n') {
				s->p++;
				continue;
			}
		}
		if (b != NULL) {
			put(b, c);
		}
		s->p++;
	}
	if (s->p >= s->end) {
		return shell_fail(s, "a double quote is not closed");
	}
	s->p++;
	return true;
}

/* <(...) and >(...) of bash. */
static bool process(struct shell *s, struct builder *b) {
	s->p += 2;
	make_dynamic(b, false, b->text.len);
	return substitution(s);
}

/* Patterns and braces, which are literal where they are not complete. */
static void plain(struct shell *s, struct builder *b) {
	char c = *s->p++;

	if (c == '{') {
		b->brace_at = b->braced ? b->brace_at : b->text.len;
		b->braced = true;
	} else if (b->braced && (c == ',' || (c == '.' && shell_at(s, 0) == '.'))) {
		b->separated = true;
	} else if (c == '[') {
		b->bracket_at = b->bracket ? b->bracket_at : b->text.len;
		b->bracket = true;
	}
	if (c == '*' || c == '?') {
		make_dynamic(b, false, b->text.len);
	} else if (c == ']' && b->bracket) {
		make_dynamic(b, false, b->bracket_at);
	} else if (c == '}' && b->separated) {
		make_dynamic(b, true, b->brace_at);
	}
	put(b, c);
}

static bool piece(struct shell *s, struct builder *b) {
	switch (*s->p) {
	case '\'':
		return single_quoted(s, b);
	case '"':
		return double_quoted(s, b);
	case '`':
		return expand(s, b, false);
	case '$':
		if (shell_at(s, 1) == '"') {
			s->p++; /* a translated string */
			return double_quoted(s, b);
		}
		return expand(s, b, false);
	case '\\':
		if (s->p + 1 >= s->end) {
			put(b, '\\');
			s->p++;
		} else if (s->p[1] == '\n') {
			shell_join(s);
		} else {
			put(b, s->p[1]);
			s->p += 2;
		}
		return true;
	default:
		plain(s, b);
		return true;
	}
}

static bool at_process(const struct shell *s) {
	return (shell_at(s, 0) == '<' || shell_at(s, 0) == '>') && shell_at(s, 1) == '(';
}

bool shell_word(struct shell *s, struct shell_word *ret) {
	struct builder b = {0};
	bool ok = ++s->counts->words <= SHELL_WORDS_MAX || shell_fail(s, "too many words");

	buf_init(&b.text);
	while (ok && s->p < s->end && (!shell_is_meta(*s->p) || at_process(s))) {
		ok = at_process(s) ? process(s, &b) : piece(s, &b);
	}
	char *text =
		ok && !buf_failed(&b.text)
			? arena_strndup(s->a, b.text.data == NULL ? "" : b.text.data, b.text.len)
			: NULL;
	buf_done(&b.text);
	if (!ok) {
		return false;
	}
	if (text == NULL) {
		return shell_no_memory(s);
	}
	s->counts->literal = s->counts->literal || b.literal;
	*ret = (struct shell_word){.text = text, .dynamic = b.dynamic, .splits = b.splits};
	return true;
}

bool shell_expansions(struct shell *s, const char *from, const char *to) {
	struct shell within = {.a = s->a,
			       .text = s->text,
			       .p = from,
			       .end = to,
			       .depth = s->depth,
			       .out = s->out,
			       .fault = s->fault,
			       .counts = s->counts,
			       .plain = s->plain};

	while (within.p < within.end) {
		if (*within.p == '\\' && within.p + 1 < within.end) {
			within.p += 2;
		} else if (*within.p == '$' || *within.p == '`') {
			if (!inner(&within, true)) {
				return false;
			}
		} else {
			within.p++;
		}
	}
	return true;
}
