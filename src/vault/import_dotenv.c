/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a .env file in place: NAME=VALUE lines, as dotenv tools and shells read them.
 *
 *     # comment
 *     export NAME=plain value # comment
 *     NAME='as it stands, also over several lines'
 *     NAME="with \n \r \t \" \\ \$ escapes"
 *
 * Should:   take $ literally: a value is never built from other variables or commands.
 * Must not: guess: a line that is none of these is an error.
 * Fails:    closed, with the line. */
#include "vault/import.h"

#include "base/str.h"

struct dotenv {
	struct import *in;
	char *at, *end;
	int line;
};

static int fail(const struct dotenv *d, const char *why, struct err *e) {
	return import_fail(d->in, d->line, why, e);
}

static bool is_blank(char c) {
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct dotenv *d) {
	while (d->at < d->end && is_blank(*d->at)) {
		d->at++;
	}
}

static bool at_line_end(const struct dotenv *d) {
	return d->at == d->end || *d->at == '\n';
}

static void skip_line(struct dotenv *d) {
	while (!at_line_end(d)) {
		d->at++;
	}
	if (d->at < d->end) {
		d->at++;
		d->line++;
	}
}

/* "export" before a name. */
static void skip_export(struct dotenv *d) {
	static const char word[] = "export";
	size_t n = sizeof word - 1;
	if ((size_t)(d->end - d->at) > n && memcmp(d->at, word, n) == 0 && is_blank(d->at[n])) {
		d->at += n;
		skip_blanks(d);
	}
}

static char escaped(char c) {
	static const char from[] = "nrt\"\\$`", to[] = "\n\r\t\"\\$`";
	const char *known = c == '\0' ? NULL : strchr(from, c);
	return to[known == NULL ? sizeof to - 1 : (size_t)(known - from)];
}

/* After the opening quote, up to the closing one; only a comment may follow it. */
static int read_quoted(struct dotenv *d, char quote, struct import_entry *entry, struct err *e) {
	char *start = d->at, *out = d->at;
	while (d->at < d->end && *d->at != quote) {
		char c = *d->at++;
		d->line += c == '\n';
		if (quote == '"' && c == '\\' && d->at < d->end && escaped(*d->at) != '\0') {
			c = escaped(*d->at++);
		}
		*out++ = c;
	}
	if (d->at == d->end) {
		return import_fail(d->in, entry->line, "the closing quote is missing", e);
	}
	d->at++;
	skip_blanks(d);
	if (!at_line_end(d) && *d->at != '#') {
		return fail(d, "text follows the closing quote", e);
	}
	entry->value = (unsigned char *)start;
	entry->len = (size_t)(out - start);
	return 0;
}

/* Up to the end of the line, or a # after a blank. */
static void read_plain(struct dotenv *d, struct import_entry *entry) {
	char *start = d->at;
	while (!at_line_end(d) && !(*d->at == '#' && is_blank(d->at[-1]))) {
		d->at++;
	}
	char *end = d->at;
	while (end > start && is_blank(end[-1])) {
		end--;
	}
	entry->value = (unsigned char *)start;
	entry->len = (size_t)(end - start);
}

static int read_value(struct dotenv *d, struct import_entry *entry, struct err *e) {
	skip_blanks(d);
	if (d->at < d->end && (*d->at == '"' || *d->at == '\'')) {
		char quote = *d->at++;
		return read_quoted(d, quote, entry, e);
	}
	read_plain(d, entry);
	return 0;
}

static int read_line(struct dotenv *d, struct err *e) {
	struct import_entry entry = {.line = d->line};
	skip_export(d);
	char *name = d->at;
	while (!at_line_end(d) && *d->at != '=' && !is_blank(*d->at)) {
		d->at++;
	}
	char *name_end = d->at;
	skip_blanks(d);
	if (at_line_end(d) || *d->at != '=') {
		return fail(d, "NAME=VALUE was expected", e);
	}
	d->at++;
	*name_end = '\0'; /* at the = or the blank before it, which were read */
	entry.name = name;
	return read_value(d, &entry, e) != 0 ? -1 : import_add(d->in, &entry, e);
}

int import_dotenv(char *text, size_t len, struct import *in, struct err *e) {
	struct dotenv d = {.in = in, .at = text, .end = text + len, .line = 1};
	if (memchr(text, '\0', len) != NULL) {
		return fail(&d, "the file has NUL bytes; it is not a text", e);
	}
	while (d.at < d.end) {
		skip_blanks(&d);
		if (!at_line_end(&d) && *d.at != '#' && read_line(&d, e) != 0) {
			return -1;
		}
		skip_line(&d);
	}
	return 0;
}
