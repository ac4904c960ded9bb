/* SPDX-License-Identifier: Apache-2.0 */
/* Records as text for people.
 *
 * The strings of a record are printed with their JSON escapes, so a name of a command cannot
 * control the terminal.  The file may have been edited: control characters are replaced again.
 *
 * Should:   print a line without printf(3): there may be a million.
 * Must not: print a control character.
 * Fails:    as buf.h. */
#include "audit/print.h"

#include "base/auto.h"
#include "base/str.h"

#include <string.h>

#define RED "\033[31m"
#define YELLOW "\033[33m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static void put(struct buf *out, struct audit_field f) {
	buf_add(out, f.text, f.len);
}

static void put_padded(struct buf *out, struct audit_field f, size_t width) {
	static const char spaces[] = "                ";

	put(out, f);
	if (f.len < width) {
		buf_add(out, spaces, width - f.len < sizeof spaces ? width - f.len : 1);
	}
}

/* ["npm","test"] as: npm test */
static void put_words(struct buf *out, struct audit_field list) {
	bool inside = false;

	for (size_t i = 0, from = 0; i < list.len; i++) {
		if (list.text[i] == '\\' && inside) {
			i++;
		} else if (list.text[i] == '"') {
			if (inside) {
				buf_add(out, " ", 1);
				buf_add(out, list.text + from, i - from);
			}
			inside = !inside;
			from = i + 1;
		}
	}
}

static bool is_word(struct audit_field f, const char *word) {
	struct audit_field text = audit_unquote(f);
	return text.len == strlen(word) && memcmp(text.text, word, text.len) == 0;
}

static void put_run(struct buf *out, const struct audit_fields *f) {
	if (is_word(f->at[AUDIT_REASON], "exit")) {
		buf_puts(out, "exit ");
		put(out, f->at[AUDIT_EXIT]);
	} else {
		put(out, audit_unquote(f->at[AUDIT_REASON]));
		if (audit_number(f->at[AUDIT_SIGNAL], 0) > 0) {
			buf_puts(out, " ");
			put(out, f->at[AUDIT_SIGNAL]);
		}
	}
	buf_puts(out, "  ");
	put(out, f->at[AUDIT_DURATION]);
	buf_puts(out, " ms  ");
	put(out, audit_unquote(f->at[AUDIT_LEVEL]));
	buf_puts(out, " ");
	put_words(out, f->at[AUDIT_COMMAND]);
}

/* The object of a record other than that of a run: path, host, program, leak, secret. */
static void put_object(struct buf *out, const struct audit_fields *f) {
	static const enum audit_member members[] = {
		AUDIT_OP,     AUDIT_PATH,   AUDIT_HOST,   AUDIT_PROGRAM, AUDIT_SYSCALL, AUDIT_LEAK,
		AUDIT_SECRET, AUDIT_STREAM, AUDIT_ACCESS, AUDIT_LEVEL,   AUDIT_RULE,    AUDIT_WHY};
	bool first = true;

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct audit_field text = audit_unquote(f->at[members[i]]);
		if (text.len == 0) {
			continue;
		}
		buf_puts(out, first ? "" : members[i] == AUDIT_WHY ? ": " : " ");
		put(out, text);
		if (members[i] == AUDIT_HOST && audit_number(f->at[AUDIT_PORT], 0) > 0) {
			buf_puts(out, ":");
			put(out, f->at[AUDIT_PORT]);
		}
		first = false;
	}
	if (audit_number(f->at[AUDIT_COUNT], 1) > 1) {
		buf_puts(out, " (");
		put(out, f->at[AUDIT_COUNT]);
		buf_puts(out, " times)");
	}
}

static const char *colour_of(const struct audit_fields *f) {
	if (is_word(f->at[AUDIT_VERDICT], "allowed")) {
		return is_word(f->at[AUDIT_KIND], "run") ? "" : YELLOW;
	}
	return is_word(f->at[AUDIT_VERDICT], "denied") ? RED : YELLOW;
}

/* Almost every line is. */
static bool is_plain_ascii(const char *text, size_t len) {
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c >= 0x7f) {
			return false;
		}
	}
	return true;
}

/* Removes control characters from the bytes after `from`. */
void audit_clean(struct buf *out, size_t from) {
	if (is_plain_ascii(out->data + from, out->len - from)) {
		return;
	}
	for (size_t i = from; i < out->len; i++) {
		if (out->data[i] == '\0') {
			out->data[i] = '?';
		}
	}
	str_hide_controls(out->data + from, false);
}

void audit_text_line(const struct audit_line *l, const struct audit_fields *f, bool colour,
		     struct buf *out) {
	const char *paint = colour ? colour_of(f) : "";
	struct audit_field time = audit_unquote(f->at[AUDIT_TIME]);

	(void)l;
	buf_puts(out, paint);
	size_t from = out->len;
	put_padded(out, time, 24);
	buf_puts(out, "  ");
	put_padded(out, audit_unquote(f->at[AUDIT_ID]), 12);
	buf_puts(out, "  ");
	put_padded(out, audit_unquote(f->at[AUDIT_KIND]), 11);
	buf_puts(out, " ");
	put_padded(out, audit_unquote(f->at[AUDIT_VERDICT]), 8);
	buf_puts(out, "  ");
	if (f->at[AUDIT_COMMAND].len > 0) {
		put_run(out, f);
	} else {
		put_object(out, f);
	}
	if (!buf_failed(out)) {
		audit_clean(out, from);
	}
	buf_puts(out, paint[0] == '\0' ? "\n" : PLAIN "\n");
}

void audit_detail(const struct audit_line *l, struct buf *out) {
	struct audit_field key, value;
	size_t at = 0;

	while (audit_member_next(l, &at, &key, &value) == 1) {
		bool null = value.len == 4 && memcmp(value.text, "null", 4) == 0;
		if (null) {
			continue;
		}
		size_t from = out->len;
		struct audit_field text = audit_unquote(value);
		put_padded(out, key, 14);
		buf_puts(out, " ");
		put(out, value.text[0] == '"' ? text : value);
		if (!buf_failed(out)) {
			audit_clean(out, from);
		}
		buf_puts(out, "\n");
	}
	buf_puts(out, "\n");
}
