/* SPDX-License-Identifier: Apache-2.0 */
/* Parses redirections and here-documents.
 *
 * Should:   parse the commands in the text of a here-document that a shell expands.
 * Must not: take commands for the text of a here-document.
 * Fails:    closed: a delimiter that shells read in different ways makes the text ambiguous. */
#include "command/shell_parser.h"

#include "base/auto.h"
#include "base/buf.h"

#include <string.h>

/* ---- here-documents ---- */

/* Whether the line continues on the next one; in a text that is expanded, shells differ about a
 * delimiter there. */
static bool continues(const struct heredoc *h, const char *word, const char *eol) {
	size_t n = 0;

	while (!h->quoted && eol - n > word && *(eol - n - 1) == '\\') {
		n++;
	}
	return n % 2 == 1;
}

/* A command that the shell does not expand here, but may evaluate later. */
static void note_literal(struct shell *s, const struct heredoc *h, const char *from,
			 const char *to) {
	for (const char *p = from; p + 1 < to; p++) {
		bool escaped = p[0] == '\\' && (p[1] == '$' || p[1] == '`');
		bool quoted = h->quoted && (p[0] == '`' || (p[0] == '$' && p[1] == '('));
		s->counts->literal = s->counts->literal || escaped || quoted;
	}
}

bool shell_heredoc(struct shell *s, const struct heredoc *h) {
	const char *body = s->p;
	bool joined = false;

	while (s->p < s->end) {
		const char *line = s->p;
		const char *stop = memchr(line, '\n', (size_t)(s->end - line));
		const char *eol = stop == NULL ? s->end : stop;
		const char *word = line;
		while (h->tabs && word < eol && *word == '\t') {
			word++;
		}
		s->p = stop == NULL ? s->end : stop + 1;
		size_t len = (size_t)(eol - word), want = strlen(h->delimiter);
		bool ends = len == want && memcmp(word, h->delimiter, len) == 0;
		bool goes_on = continues(h, word, eol);
		if ((joined && ends) ||
		    (goes_on && len <= want + 1 && memcmp(word, h->delimiter, len - 1) == 0)) {
			shell_doubt(s, "a backslash and a newline are beside a delimiter");
		}
		if (ends) {
			note_literal(s, h, body, line);
			return h->quoted || shell_expansions(s, body, line);
		}
		joined = goes_on;
	}
	shell_doubt(s, "a here-document is not closed");
	return h->quoted || shell_expansions(s, body, s->end);
}

/* ---- redirections ---- */

static bool add_file(struct shell *s, const struct shell_word *w) {
	struct shell_script *out = s->out;

	if (arena_grow(s->a, &out->files, out->nfiles, &out->files_cap, sizeof *out->files) != 0) {
		return shell_no_memory(s);
	}
	out->files[out->nfiles++] = *w;
	return true;
}

/* The operator at the current place, after digits; 0 when there is none. */
static size_t operator_length(const struct shell *s, size_t at) {
	static const char *const operators[] = {"<<<", "<<-", "&>>", "<<", "<>", "<&",
						">>",  ">&",  ">|",  "&>", "<",  ">"};

	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		size_t n = strlen(operators[i]);
		if ((size_t)(s->end - s->p) >= at + n && memcmp(s->p + at, operators[i], n) == 0) {
			bool process = n == 1 && shell_at(s, at + 1) == '(';
			return process ? 0 : n;
		}
	}
	return 0;
}

/* The length of a descriptor before an operator: digits, or {name} of bash. */
static size_t digits_at(const struct shell *s) {
	size_t n = 0;

	if (shell_at(s, 0) == '{') {
		for (n = 1; shell_is_name(shell_at(s, n)); n++) {
		}
		return n > 1 && shell_at(s, n) == '}' ? n + 1 : 0;
	}
	while (shell_at(s, n) >= '0' && shell_at(s, n) <= '9') {
		n++;
	}
	return n;
}

bool shell_at_redirection(const struct shell *s) {
	size_t n = digits_at(s);
	return operator_length(s, n) > 0 && (n == 0 || s->p[n] != '&');
}

/* The word after << is not expanded. */
static bool heredoc_word(struct shell *s, struct heredoc *h) {
	struct buf out;
	char quote = '\0';
	bool odd = false;
	const char *from = s->p;

	buf_init(&out);
	for (; s->p < s->end && (quote != '\0' || !shell_is_meta(*s->p)); s->p++) {
		char c = *s->p;
		if (c == quote && quote != '\0') {
			quote = '\0';
		} else if (quote == '\0' && (c == '\'' || c == '"')) {
			quote = c;
			h->quoted = true;
		} else if (c == '\\' && quote != '\'' && s->p + 1 < s->end) {
			h->quoted = true;
			odd = odd || quote != '\0' || s->p[1] == '\n';
			buf_add(&out, ++s->p, 1);
		} else {
			odd = odd || strchr("\\$`\n", c) != NULL;
			buf_add(&out, &c, 1);
		}
	}
	const char *text = out.data == NULL ? "" : out.data;
	h->delimiter = buf_failed(&out) ? NULL : arena_strndup(s->a, text, out.len);
	buf_done(&out);
	if (h->delimiter == NULL) {
		return shell_no_memory(s);
	}
	if (odd) {
		shell_doubt(s, "shells differ about the delimiter of a here-document");
	}
	if (quote != '\0' || s->p == from) {
		return shell_fail(s, "a here-document has no delimiter");
	}
	return true;
}

static bool heredoc(struct shell *s, bool tabs) {
	struct heredoc h = {.tabs = tabs};

	if (s->npending == HEREDOCS_MAX) {
		return shell_fail(s, "too many here-documents on one line");
	}
	if (!heredoc_word(s, &h)) {
		return false;
	}
	s->pending[s->npending++] = h;
	return true;
}

bool shell_redirection(struct shell *s) {
	size_t digits = digits_at(s);
	size_t n = operator_length(s, digits);
	const char *op = s->p + digits;
	struct shell_word w;

	if (digits > 0 && *s->p == '{') {
		shell_doubt(s, "shells differ about {name} before a redirection");
	}
	s->p += digits + n;
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t')) {
		s->p++;
	}
	if (n >= 2 && op[0] == '<' && op[1] == '<' && (n == 2 || op[2] == '-')) {
		return heredoc(s, n == 3);
	}
	const char *from = s->p;
	if (!shell_word(s, &w)) {
		return false;
	}
	if (s->p == from) {
		return shell_fail(s, "a redirection has no target");
	}
	bool string = n == 3 && op[2] == '<';
	return string || add_file(s, &w);
}

bool shell_redirections(struct shell *s) {
	for (;;) {
		shell_blanks(s);
		if (s->p >= s->end || !shell_at_redirection(s)) {
			return true;
		}
		if (!shell_redirection(s)) {
			return false;
		}
	}
}
