/* SPDX-License-Identifier: Apache-2.0 */
/* Edits one table of a TOML file by its header line.
 *
 * Should:   end the table at the next line that begins with "[", and leave the comments before
 *           that line to the next table.
 * Must not: take a line of a string or an array for a header; parse the rest: a table appended at
 *           the end is valid after any valid text.
 * Fails:    with the buffer, out of memory; a header that is written in another way is not found,
 *           except by toml_table_is_other(). */
#include "agents/toml_table.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Longer than each key that is looked for. */
#define SQUEEZED 128

void toml_key(struct buf *out, const char *text) {
	buf_puts(out, "\"");
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\') {
			buf_printf(out, "\\%c", c);
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(out, "\\u%04x", c);
		} else {
			buf_add(out, text, 1);
		}
	}
	buf_puts(out, "\"");
}

static size_t line_end(const struct buf *text, size_t at) {
	const char *end = memchr(text->data + at, '\n', text->len - at);
	return end == NULL ? text->len : (size_t)(end - text->data) + 1;
}

static bool is_at(const struct buf *text, size_t at, const char *word) {
	size_t n = strlen(word);
	return text->len - at >= n && memcmp(text->data + at, word, n) == 0;
}

/* Where the string that begins at `at` ends; a string of one line ends with its line. */
static size_t string_end(const struct buf *text, size_t at) {
	const char quote = text->data[at];
	const char *const close = quote == '"' ? "\"\"\"" : "'''";
	bool lines = is_at(text, at, close);

	for (at += lines ? 3 : 1; at < text->len; at++) {
		if (quote == '"' && text->data[at] == '\\') {
			at++; /* the character after it */
		} else if (lines && is_at(text, at, close)) {
			at += 3; /* up to two quotes more belong to the string */
			while (at < text->len && text->data[at] == quote) {
				at++;
			}
			return at;
		} else if (!lines && (text->data[at] == quote || text->data[at] == '\n')) {
			return text->data[at] == quote ? at + 1 : at;
		}
	}
	return text->len;
}

/* The newline after the comment, or the end of the text. */
static size_t comment_end(const struct buf *text, size_t at) {
	while (at < text->len && text->data[at] != '\n') {
		at++;
	}
	return at;
}

/* Where the line ends with all lines of the strings and arrays that begin in it. */
static size_t statement_end(const struct buf *text, size_t at) {
	size_t depth = 0;

	while (at < text->len) {
		switch (text->data[at]) {
		case '"':
		case '\'':
			at = string_end(text, at);
			continue;
		case '#':
			at = comment_end(text, at);
			continue;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			depth -= depth > 0 ? 1 : 0;
			break;
		case '\n':
			if (depth == 0) {
				return at + 1;
			}
			break;
		default:
			break;
		}
		at++;
	}
	return text->len;
}

/* The first character of a line that is not a blank. */
static size_t after_blanks(const struct buf *text, size_t at) {
	while (at < text->len && (text->data[at] == ' ' || text->data[at] == '\t')) {
		at++;
	}
	return at;
}

static bool begins_with(const struct buf *text, size_t at, const char *characters) {
	at = after_blanks(text, at);
	return at < text->len && text->data[at] != '\0' &&
	       strchr(characters, text->data[at]) != NULL;
}

static bool is_header(const struct buf *text, size_t at, const char *header) {
	size_t n = strlen(header), end = line_end(text, at);

	while (end > at && strchr(" \t\r\n", text->data[end - 1]) != NULL) {
		end--;
	}
	return end - at == n && memcmp(text->data + at, header, n) == 0;
}

/* Where the table that begins at `at` ends: comments and empty lines before the next header are
 * not part of it. */
static size_t table_end(const struct buf *text, size_t at) {
	size_t end = line_end(text, at), kept = end;
	while (end < text->len && !begins_with(text, end, "[")) {
		size_t next = statement_end(text, end);
		if (!begins_with(text, end, "#\r\n")) {
			kept = next;
		}
		end = next;
	}
	return kept;
}

void toml_table_remove(struct buf *text, const char *header) {
	struct buf out;

	buf_init(&out);
	for (size_t at = 0; at < text->len;) {
		if (is_header(text, at, header)) {
			at = table_end(text, at);
			if (out.len > 1 && out.data[out.len - 1] == '\n' &&
			    out.data[out.len - 2] == '\n') {
				out.data[--out.len] = '\0'; /* the empty line before it */
			}
			continue;
		}
		size_t end = statement_end(text, at);
		buf_add(&out, text->data + at, end - at);
		at = end;
	}
	buf_done(text);
	*text = out;
}

void toml_table_add(struct buf *text, const char *header, const char *lines) {
	if (text->len > 0) {
		buf_puts(text, text->data[text->len - 1] == '\n' ? "\n" : "\n\n");
	}
	buf_printf(text, "%s\n%s", header, lines == NULL ? "" : lines);
}

/* A line without spaces, quotes and comment, as far as it fits. */
static void squeeze(const struct buf *text, size_t at, char out[SQUEEZED]) {
	size_t end = line_end(text, at), n = 0;

	for (; at < end && n + 1 < SQUEEZED && text->data[at] != '#'; at++) {
		if (strchr(" \t\r\n\"'", text->data[at]) == NULL) {
			out[n++] = text->data[at];
		}
	}
	out[n] = '\0';
}

/* The line begins with this name as a whole key. */
static bool sets(const char *line, const char *name) {
	return str_starts(line, name) && line[strlen(name)] != '\0' &&
	       strchr(".=]", line[strlen(name)]) != NULL;
}

bool toml_table_is_other(const struct buf *text, const char *table, const char *key) {
	char line[SQUEEZED], section[SQUEEZED] = "", whole[SQUEEZED], within[SQUEEZED];

	(void)snprintf(whole, sizeof whole, "%s.%s", table, key); /* names of ours: they fit */
	(void)snprintf(within, sizeof within, "[%s]", table);
	for (size_t at = 0; at < text->len; at = statement_end(text, at)) {
		squeeze(text, at, line);
		const char *name = line + strspn(line, "[");
		if (line[0] == '[') {
			memcpy(section, line, sizeof line);
		}
		bool top = line[0] == '[' || section[0] == '\0';
		if ((top && sets(name, whole)) ||
		    (section[0] == '\0' && sets(name, table) && name[strlen(table)] == '=') ||
		    (streq(section, within) && sets(line, key))) {
			return true;
		}
	}
	return false;
}
