/* SPDX-License-Identifier: Apache-2.0 */
/* Parses TOML 1.0 scalars: strings, numbers, booleans, dates and times.
 *
 * Should:   follow the grammar to the letter, and name the literal that fails.
 * Must not: depend on the locale, or guess: True, 01 and 1e5_ are errors.
 * Fails:    closed, with the line. */
#include "policy/toml.h"

#include "base/auto.h"

#include <math.h>
#include <string.h>

#define HEX "0123456789abcdefABCDEF"

/* Appends one code point as UTF-8. */
static void add_utf8(struct buf *out, uint32_t code) {
	unsigned char b[4];
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (len == 1) {
		b[0] = (unsigned char)code;
		buf_add(out, b, 1);
		return;
	}
	for (size_t i = len - 1; i > 0; i--) {
		b[i] = (unsigned char)(0x80 | (code & 0x3F));
		code >>= 6;
	}
	b[0] = (unsigned char)((0xF00U >> len) | code);
	buf_add(out, b, len);
}

static int read_code_point(struct toml *p, size_t digits, struct err *e) {
	int64_t code = 0;

	for (size_t i = 0; i < digits; i++) {
		int c = toml_ahead(p, i);
		if (c <= 0 || strchr(HEX, c) == NULL) {
			p->at += i;
			return toml_expected(p,
					     digits == 4 ? "four hexadecimal digits after \\u"
							 : "eight hexadecimal digits after \\U",
					     e);
		}
	}
	(void)doc_number_int(p->at, digits, 16, false, &code); /* eight digits always fit */
	if (code == 0) {
		return doc_tree_err(&p->tree, p->line, e, "U+0000 is not allowed in a string");
	}
	if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
		return doc_tree_err(&p->tree, p->line, e,
				    "the escape is not a Unicode character: U+%.*s", (int)digits,
				    p->at);
	}
	add_utf8(&p->scratch, (uint32_t)code);
	p->at += digits;
	return 0;
}

/* A backslash at the end of a line removes the line end and all white space after it.
 * False, and nothing consumed, when more than blanks follow on the line. */
static bool skip_folded_line(struct toml *p) {
	const char *start = p->at;

	toml_skip_blanks(p);
	if (toml_newline(p) == 0) {
		p->at = start;
		return false;
	}
	while (toml_newline(p) > 0) {
		p->at += toml_newline(p);
		p->line++;
		toml_skip_blanks(p);
	}
	return true;
}

/* The current position is after the backslash. */
static int read_escape(struct toml *p, bool multi, struct err *e) {
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	int c = toml_peek(p);

	if (multi && skip_folded_line(p)) {
		return 0;
	}
	if (c == 'u' || c == 'U') {
		p->at++;
		return read_code_point(p, c == 'u' ? 4 : 8, e);
	}
	const char *name = c <= 0 ? NULL : strchr(names, c);
	if (name == NULL) {
		return toml_expected(p, "one of b t n f r \" \\ u U after the backslash", e);
	}
	buf_add(&p->scratch, &values[name - names], 1);
	p->at++;
	return 0;
}

/* At a quote inside a multi-line string: up to two belong to the text, and
 * three end it, with up to two more in front of them.  True at the end. */
static bool read_quotes(struct toml *p, int quote) {
	size_t run = 0;
	while (run < 5 && toml_ahead(p, run) == quote) {
		run++;
	}
	buf_add(&p->scratch, p->at, run < 3 ? run : run - 3);
	p->at += run;
	return run >= 3;
}

static bool is_text(int c, int quote) {
	return c >= 0 && c != '\n' && c != '\r' && c != quote && (c != '\\' || quote == '\'');
}

static int unterminated(const struct toml *p, int quote, bool multi, int line, struct err *e) {
	if (multi) {
		return doc_tree_err(&p->tree, line, e, "expected %c%c%c at the end of the string",
				    quote, quote, quote);
	}
	return doc_tree_err(&p->tree, line, e, "expected %c at the end of the string, on its line",
			    quote);
}

/* Parses from after the opening quotes up to and including the closing ones. */
static int read_body(struct toml *p, int quote, bool multi, int first_line, struct err *e) {
	for (;;) {
		size_t run = 0;
		while (is_text(toml_ahead(p, run), quote)) {
			run++;
		}
		buf_add(&p->scratch, p->at, run);
		p->at += run;
		int c = toml_peek(p);
		if (c == quote && !multi) {
			p->at++;
			return 0;
		}
		if (c == quote) {
			if (read_quotes(p, quote)) {
				return 0;
			}
		} else if (c == '\\') {
			p->at++;
			if (read_escape(p, multi, e) != 0) {
				return -1;
			}
		} else if (multi && c >= 0) {
			buf_add(&p->scratch, "\n", 1);
			p->at += toml_newline(p);
			p->line++;
		} else {
			return unterminated(p, quote, multi, first_line, e);
		}
	}
}

static int read_string(struct toml *p, bool multi, const char **ret, size_t *ret_len,
		       struct err *e) {
	int quote = toml_peek(p), first_line = p->line;

	p->scratch.len = 0;
	p->at += multi ? 3 : 1;
	if (multi && toml_newline(p) > 0) {
		p->at += toml_newline(p);
		p->line++;
	}
	if (read_body(p, quote, multi, first_line, e) != 0) {
		return -1;
	}
	/* For an empty string the buffer may not be allocated yet. */
	const char *text = p->scratch.len == 0 ? "" : p->scratch.data;
	*ret = buf_failed(&p->scratch) ? NULL : arena_strndup(p->tree.a, text, p->scratch.len);
	*ret_len = p->scratch.len;
	return *ret == NULL ? err_memory(e, "policy") : 0;
}

int toml_key_string(struct toml *p, const char **ret, struct err *e) {
	size_t len;
	return read_string(p, false, ret, &len, e);
}

static bool take_char(const char **s, const char *end, const char *any) {
	if (*s == end || **s == '\0' || strchr(any, **s) == NULL) {
		return false;
	}
	(*s)++;
	return true;
}

/* Exactly two digits whose value is within bounds. */
static bool take_pair(const char **s, const char *end, int min, int max, int *ret) {
	int n = 0;
	for (int i = 0; i < 2; i++) {
		if (*s == end || **s < '0' || **s > '9') {
			return false;
		}
		n = n * 10 + (*(*s)++ - '0');
	}
	*ret = n;
	return n >= min && n <= max;
}

static bool take_date(const char **s, const char *end) {
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int century, year, month, day;

	if (!take_pair(s, end, 0, 99, &century) || !take_pair(s, end, 0, 99, &year) ||
	    !take_char(s, end, "-") || !take_pair(s, end, 1, 12, &month) ||
	    !take_char(s, end, "-") || !take_pair(s, end, 1, 31, &day)) {
		return false;
	}
	bool leap = year == 0 ? century % 4 == 0 : year % 4 == 0;
	return day <= days[month - 1] + (month == 2 && leap);
}

/* Second 60 is RFC 3339's leap second. */
static bool take_time(const char **s, const char *end) {
	int n;

	if (!take_pair(s, end, 0, 23, &n) || !take_char(s, end, ":") ||
	    !take_pair(s, end, 0, 59, &n) || !take_char(s, end, ":") ||
	    !take_pair(s, end, 0, 60, &n)) {
		return false;
	}
	if (!take_char(s, end, ".")) {
		return true;
	}
	if (!take_char(s, end, "0123456789")) {
		return false;
	}
	while (take_char(s, end, "0123456789")) {
	}
	return true;
}

static bool take_offset(const char **s, const char *end) {
	int n;
	return take_char(s, end, "Zz") ||
	       (take_char(s, end, "+-") && take_pair(s, end, 0, 23, &n) && take_char(s, end, ":") &&
		take_pair(s, end, 0, 59, &n));
}

static bool is_time(const char *s, const char *end) {
	if (end - s > 2 && s[2] == ':') {
		return take_time(&s, end) && s == end;
	}
	if (!take_date(&s, end)) {
		return false;
	}
	if (s == end) {
		return true;
	}
	return take_char(&s, end, "Tt ") && take_time(&s, end) &&
	       (s == end || (take_offset(&s, end) && s == end));
}

static bool looks_like_time(const char *s, size_t len) {
	return (len > 2 && s[2] == ':') || (len > 4 && s[4] == '-' && strspn(s, "0123456789") >= 4);
}

static size_t literal_length(const struct toml *p, size_t from) {
	size_t len = from;
	for (int c; (c = toml_ahead(p, len)) > 0 &&
		    ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		     strchr("+-_.:", c) != NULL);) {
		len++;
	}
	return len;
}

static int read_time(struct toml *p, size_t len, struct doc *d, struct err *e) {
	/* A space may replace the T, but only before a time. */
	if (len == 10 && toml_ahead(p, 10) == ' ' && toml_ahead(p, 13) == ':') {
		len = literal_length(p, 11);
	}
	if (!is_time(p->at, p->at + len)) {
		return doc_tree_err(&p->tree, p->line, e, "%.*s is not a valid date or time",
				    (int)(len > 60 ? 60 : len), p->at);
	}
	d->type = DOC_TIME;
	d->len = len;
	d->str = arena_strndup(p->tree.a, p->at, len);
	p->at += len;
	return d->str == NULL ? err_memory(e, "policy") : 0;
}

/* Length of digits with single underscores between them; 0 when there are none. */
static size_t digit_run(const char *s, const char *end, const char *digits) {
	const char *start = s, *last = s;
	while (take_char(&s, end, digits)) {
		last = s;
		(void)take_char(&s, end, "_");
	}
	return (size_t)(last - start);
}

/* A whole part without leading zeros; 0 when there is none. */
static size_t whole_part(const char *s, const char *end) {
	size_t n = digit_run(s, end, "0123456789");
	return n > 1 && s[0] == '0' ? 0 : n;
}

static bool is_float(const char *s, const char *end) {
	(void)take_char(&s, end, "+-");
	size_t n = whole_part(s, end);
	if (n == 0) {
		return false;
	}
	s += n;
	if (take_char(&s, end, ".")) {
		n = digit_run(s, end, "0123456789");
		if (n == 0) {
			return false;
		}
		s += n;
	}
	if (take_char(&s, end, "eE")) {
		(void)take_char(&s, end, "+-");
		n = digit_run(s, end, "0123456789");
		if (n == 0) {
			return false;
		}
		s += n;
	}
	return s == end;
}

static int read_float(struct toml *p, size_t len, struct doc *d, struct err *e) {
	char *digits = arena_alloc(p->tree.a, len + 1);
	size_t n = 0;

	if (digits == NULL) {
		return err_memory(e, "policy");
	}
	for (size_t i = 0; i < len; i++) {
		if (p->at[i] != '_') {
			digits[n++] = p->at[i];
		}
	}
	d->type = DOC_FLOAT;
	d->real = doc_number_float(digits);
	return 0;
}

/* 1: an integer; 0: something else; -1: an error. */
static int read_int(struct toml *p, size_t len, struct doc *d, struct err *e) {
	static const struct {
		const char *prefix;
		unsigned base;
		const char *digits;
	} kinds[] = {
		{"0x", 16, HEX},
		{"0o", 8, "01234567"},
		{"0b", 2, "01"},
	};
	const char *s = p->at, *end = p->at + len;
	unsigned base = 10;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (len > 2 && memcmp(s, kinds[i].prefix, 2) == 0) {
			base = kinds[i].base;
			s += 2;
			n = digit_run(s, end, kinds[i].digits);
			break;
		}
	}
	if (base == 10) {
		(void)take_char(&s, end, "+-");
		n = whole_part(s, end);
	}
	if (n == 0 || s + n != end) {
		return 0;
	}
	d->type = DOC_INT;
	if (!doc_number_int(s, n, base, p->at[0] == '-', &d->num)) {
		return doc_tree_err(&p->tree, p->line, e, "%.*s does not fit a 64-bit integer",
				    (int)(len > 60 ? 60 : len), p->at);
	}
	return 1;
}

static bool read_word(const struct toml *p, size_t len, struct doc *d) {
	static const struct {
		const char *text;
		enum doc_type type;
		double real;
		bool yes;
	} words[] = {
		{"true", DOC_BOOL, 0, true},       {"false", DOC_BOOL, 0, false},
		{"inf", DOC_FLOAT, INFINITY, 0},   {"+inf", DOC_FLOAT, INFINITY, 0},
		{"-inf", DOC_FLOAT, -INFINITY, 0}, {"nan", DOC_FLOAT, NAN, 0},
		{"+nan", DOC_FLOAT, NAN, 0},       {"-nan", DOC_FLOAT, -NAN, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strlen(words[i].text) == len && memcmp(words[i].text, p->at, len) == 0) {
			d->type = words[i].type;
			d->real = words[i].real;
			d->yes = words[i].yes;
			return true;
		}
	}
	return false;
}

static int read_number(struct toml *p, size_t len, struct doc *d, struct err *e) {
	int is_int = read_int(p, len, d, e);

	if (is_int < 0) {
		return -1;
	}
	if (is_int == 0 && !is_float(p->at, p->at + len)) {
		(void)doc_tree_err(&p->tree, p->line, e, "expected a value, found %.*s",
				   (int)(len > 60 ? 60 : len), p->at);
		return err_fix(e, "put a string in quotes; booleans are true and false");
	}
	if (is_int == 0 && read_float(p, len, d, e) != 0) {
		return -1;
	}
	p->at += len;
	return 0;
}

static int read_literal(struct toml *p, struct doc *d, struct err *e) {
	size_t len = literal_length(p, 0);

	if (len == 0) {
		return toml_expected(p, "a value", e);
	}
	if (read_word(p, len, d)) {
		p->at += len;
		return 0;
	}
	return looks_like_time(p->at, len) ? read_time(p, len, d, e) : read_number(p, len, d, e);
}

int toml_scalar(struct toml *p, struct node **ret, struct err *e) {
	struct node *n = doc_tree_node(&p->tree, DOC_STRING, p->line);
	int c = toml_peek(p);

	if (n == NULL) {
		return err_memory(e, "policy");
	}
	bool multi = toml_ahead(p, 1) == c && toml_ahead(p, 2) == c;
	int r = c == '"' || c == '\'' ? read_string(p, multi, &n->doc.str, &n->doc.len, e)
				      : read_literal(p, &n->doc, e);
	if (r == 0) {
		*ret = n;
	}
	return r;
}
