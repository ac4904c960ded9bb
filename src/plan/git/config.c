/* SPDX-License-Identifier: Apache-2.0 */
/* Parses git's configuration syntax as git does.
 *
 * Should:   agree with git about every byte: quotes, escapes, comments, continued
 *           lines, old and new section heads.
 * Must not: accept a line that git refuses, or guess its end.
 * Fails:    closed: such a line is GIT_CONFIG_BAD, and the caller decides. */
#include "plan/git/config.h"

#include "base/str.h"

#include <stdint.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

void git_config_init(struct git_config *c, const char *text, size_t len) {
	size_t mark = strlen(BYTE_ORDER_MARK);

	*c = (struct git_config){.text = text, .len = len};
	if (len >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0) {
		c->at = mark;
	}
}

void git_config_done(struct git_config *c) {
	buf_done(&c->section);
	buf_done(&c->sub);
	buf_done(&c->key);
	buf_done(&c->value);
}

bool git_config_failed(const struct git_config *c) {
	return buf_failed(&c->section) || buf_failed(&c->sub) || buf_failed(&c->key) ||
	       buf_failed(&c->value);
}

/* ---- characters; git's classes, for every locale ---- */

static bool is_blank(int c) {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(int c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key(int c) {
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char lower(int c) {
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* The end of the text reads as the end of a line. */
static int next(struct git_config *c) {
	if (c->at >= c->len) {
		return '\n';
	}
	if (c->text[c->at] == '\r' && c->at + 1 < c->len && c->text[c->at + 1] == '\n') {
		c->at++;
	}
	return (unsigned char)c->text[c->at++];
}

static void clear(struct buf *b) {
	b->len = 0;
	buf_puts(b, "");
}

static void add(struct buf *b, int c) {
	char byte = (char)c;
	buf_add(b, &byte, 1);
}

/* ---- heads ---- */

/* From the blank after the section's name: "sub"] */
static bool read_sub(struct git_config *c) {
	int ch;
	do {
		ch = next(c);
		if (ch == '\n') {
			return false;
		}
	} while (is_blank(ch));
	if (ch != '"') {
		return false;
	}
	c->has_sub = true;
	while ((ch = next(c)) != '"') {
		if (ch == '\\') {
			ch = next(c);
		}
		if (ch == '\n') {
			return false;
		}
		add(&c->sub, ch);
	}
	return next(c) == ']';
}

/* From after "[". */
static bool read_head(struct git_config *c) {
	clear(&c->section);
	clear(&c->sub);
	c->has_sub = false;
	while (c->at < c->len) {
		int ch = next(c);
		if (ch == ']') {
			return c->section.len > 0 || c->has_sub;
		}
		if (ch == ' ' || ch == '\t') {
			return read_sub(c);
		}
		if (ch == '.' && !c->has_sub) {
			c->has_sub = true; /* [section.sub], the old form */
		} else if (is_key(ch) || ch == '.') {
			add(c->has_sub ? &c->sub : &c->section, lower(ch));
		} else {
			return false;
		}
	}
	return false;
}

/* ---- entries ---- */

/* The character after a backslash; -1 for an unknown escape, 0 for a continued line. */
static int escape(struct git_config *c) {
	int ch = next(c);
	switch (ch) {
	case '\n':
		return 0;
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return '\n';
	case '\\':
	case '"':
		return ch;
	default:
		return -1;
	}
}

struct reading {
	size_t blanks; /* dropped at the end of the value */
	bool quoted, comment;
};

/* One character that is neither blank nor part of a comment. */
static bool take(struct git_config *c, struct reading *r, int ch) {
	for (; r->blanks > 0; r->blanks--) {
		add(&c->value, ' ');
	}
	if (ch == '"') {
		r->quoted = !r->quoted;
	} else if (ch == '\\') {
		ch = escape(c);
		if (ch < 0) {
			return false;
		}
		if (ch != 0) {
			add(&c->value, ch);
		}
	} else {
		add(&c->value, ch);
	}
	c->value_end = c->at;
	return true;
}

/* From after "=" to the end of the line, which is not consumed. */
static bool read_value(struct git_config *c) {
	struct reading r = {0};
	c->value_at = c->value_end = c->at;
	for (;;) {
		size_t before = c->at;
		int ch = next(c);
		if (ch == '\n') {
			c->at = c->end = before;
			return !r.quoted;
		}
		r.comment = r.comment || (!r.quoted && (ch == '#' || ch == ';'));
		if (r.comment) {
			continue;
		}
		if (is_blank(ch) && !r.quoted) {
			r.blanks += c->value.len > 0;
			continue;
		}
		if (c->value_end == c->value_at) {
			c->value_at = before;
		}
		if (!take(c, &r, ch)) {
			return false;
		}
	}
}

/* From the key's first letter. */
static bool read_entry(struct git_config *c) {
	clear(&c->key);
	clear(&c->value);
	c->has_value = false;
	while (c->at < c->len && is_key((unsigned char)c->text[c->at])) {
		add(&c->key, lower(next(c)));
	}
	while (c->at < c->len && (c->text[c->at] == ' ' || c->text[c->at] == '\t')) {
		c->at++;
	}
	size_t before = c->at;
	int ch = next(c);
	c->value_at = c->value_end = c->end = c->at = before;
	if (ch == '\n') {
		return true;
	}
	c->at++;
	c->has_value = true;
	return ch == '=' && read_value(c);
}

/* ---- the whole ---- */

static void skip_line(struct git_config *c) {
	while (c->at < c->len && c->text[c->at] != '\n') {
		c->at++;
	}
}

static enum git_config_event bad(struct git_config *c) {
	c->at = c->start;
	skip_line(c);
	c->end = c->at;
	return GIT_CONFIG_BAD;
}

enum git_config_event git_config_next(struct git_config *c) {
	while (c->at < c->len) {
		char ch = c->text[c->at];
		if (is_blank((unsigned char)ch)) {
			c->at++;
		} else if (ch == '#' || ch == ';') {
			skip_line(c);
		} else {
			break;
		}
	}
	c->start = c->end = c->at;
	if (c->at >= c->len) {
		return GIT_CONFIG_END;
	}
	if (c->text[c->at] == '[') {
		c->at++;
		bool good = read_head(c);
		c->end = c->at;
		if (!good) {
			clear(&c->section); /* the section of the next entries is unknown */
		}
		return good ? GIT_CONFIG_SECTION : bad(c);
	}
	if (!is_letter((unsigned char)c->text[c->at])) {
		return bad(c);
	}
	return read_entry(c) ? GIT_CONFIG_ENTRY : bad(c);
}

bool git_config_is(const struct git_config *c, const char *section, const char *key) {
	return c->section.data != NULL && streq(c->section.data, section) &&
	       streq(c->key.data, key);
}

void git_config_quote(const char *text, size_t len, struct buf *out) {
	buf_puts(out, "\"");
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '\n':
			buf_puts(out, "\\n");
			break;
		case '\t':
			buf_puts(out, "\\t");
			break;
		case '\b':
			buf_puts(out, "\\b");
			break;
		case '"':
		case '\\':
			add(out, '\\');
			add(out, text[i]);
			break;
		default:
			add(out, text[i]);
		}
	}
	buf_puts(out, "\"");
}
