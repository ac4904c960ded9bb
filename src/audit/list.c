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

#include "audit/bytes.h"
#include "base/auto.h"
#include "base/str.h"

#include <assert.h>
#include <string.h>

#define RED "\033[31m"
#define YELLOW "\033[33m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* Of a line that is printed: padding, separators, units and colours, without what the record has.
 */
#define EXTRA ((size_t)256)

/* A line is made in memory that was reserved for it: each member of the record is in it at most
 * once, so it has at most the record's length and EXTRA. */
struct pen {
	char *at;
};

static void put(struct pen *out, struct audit_field f) {
	out->at = bytes_copy(out->at, f.text, f.len);
}

#define PUT(out, literal) ((out)->at = bytes_copy((out)->at, (literal), sizeof(literal) - 1))

static void put_padded(struct pen *out, struct audit_field f, size_t width) {
	put(out, f);
	for (size_t i = f.len; i < width; i++) {
		*out->at++ = ' ';
	}
}

/* ["npm","test"] as: npm test */
static void put_words(struct pen *out, struct audit_field list) {
	struct audit_field word;
	size_t at = 0;

	while (audit_element_next(&list, &at, &word) == 1) {
		struct audit_field text = audit_unquote(word);
		PUT(out, " ");
		put(out, text);
	}
}

static bool is_word(struct audit_field f, const char *word) {
	struct audit_field text = audit_unquote(f);
	return text.len == strlen(word) && memcmp(text.text, word, text.len) == 0;
}

static void put_run(struct pen *out, const struct audit_fields *f) {
	if (is_word(f->at[AUDIT_REASON], "exit")) {
		PUT(out, "exit ");
		put(out, f->at[AUDIT_EXIT]);
	} else {
		put(out, audit_unquote(f->at[AUDIT_REASON]));
		if (audit_number(f->at[AUDIT_SIGNAL], 0) > 0) {
			PUT(out, " ");
			put(out, f->at[AUDIT_SIGNAL]);
		}
	}
	PUT(out, "  ");
	put(out, f->at[AUDIT_DURATION]);
	PUT(out, " ms  ");
	put(out, audit_unquote(f->at[AUDIT_LEVEL]));
	PUT(out, " ");
	put_words(out, f->at[AUDIT_COMMAND]);
}

/* The object of a record other than that of a run: path, host, program, method, leak, secret. */
static void put_object(struct pen *out, const struct audit_fields *f) {
	static const enum audit_member members[] = {
		AUDIT_OP,     AUDIT_PATH, AUDIT_HOST,   AUDIT_PROGRAM, AUDIT_SYSCALL,
		AUDIT_METHOD, AUDIT_LEAK, AUDIT_SECRET, AUDIT_STREAM,  AUDIT_ACCESS,
		AUDIT_LEVEL,  AUDIT_RULE, AUDIT_WHY};
	bool first = true;

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct audit_field text = audit_unquote(f->at[members[i]]);
		if (text.len == 0) {
			continue;
		}
		if (!first && members[i] == AUDIT_WHY) {
			PUT(out, ": ");
		} else if (!first) {
			PUT(out, " ");
		}
		put(out, text);
		if (members[i] == AUDIT_HOST && audit_number(f->at[AUDIT_PORT], 0) > 0) {
			PUT(out, ":");
			put(out, f->at[AUDIT_PORT]);
		}
		first = false;
	}
	if (audit_number(f->at[AUDIT_COUNT], 1) > 1) {
		PUT(out, " (");
		put(out, f->at[AUDIT_COUNT]);
		PUT(out, " times)");
	}
}

static const char *colour_of(const struct audit_fields *f) {
	if (is_word(f->at[AUDIT_VERDICT], "allowed")) {
		return is_word(f->at[AUDIT_KIND], "run") ? "" : YELLOW;
	}
	return is_word(f->at[AUDIT_VERDICT], "denied") ? RED : YELLOW;
}

/* Removes control characters from the bytes after `from`. */
void audit_clean(struct buf *out, size_t from) {
	if (bytes_are_plain(out->data + from, out->len - from)) {
		return; /* almost every line is */
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

	buf_reserve(out, l->len + EXTRA);
	if (buf_failed(out)) {
		return;
	}
	struct pen pen = {out->data + out->len};
	for (const char *p = paint; *p != '\0'; p++) {
		*pen.at++ = *p;
	}
	size_t from = (size_t)(pen.at - out->data);
	put_padded(&pen, audit_unquote(f->at[AUDIT_TIME]), 24);
	PUT(&pen, "  ");
	put_padded(&pen, audit_unquote(f->at[AUDIT_ID]), 12);
	PUT(&pen, "  ");
	put_padded(&pen, audit_unquote(f->at[AUDIT_KIND]), 11);
	PUT(&pen, " ");
	put_padded(&pen, audit_unquote(f->at[AUDIT_VERDICT]), 8);
	PUT(&pen, "  ");
	(f->at[AUDIT_COMMAND].len > 0 ? put_run : put_object)(&pen, f);
	*pen.at = '\0'; /* for audit_clean() */
	out->len = (size_t)(pen.at - out->data);
	assert(out->len - from <= l->len + EXTRA / 2);
	audit_clean(out, from);
	if (paint[0] != '\0') {
		buf_puts(out, PLAIN);
	}
	out->data[out->len++] = '\n'; /* EXTRA has room for it */
	out->data[out->len] = '\0';
}

static void put_detail(struct buf *out, struct audit_field key, struct audit_field value) {
	size_t from = out->len;

	buf_add(out, key.text, key.len);
	for (size_t i = key.len; i < 15; i++) {
		buf_puts(out, " ");
	}
	value = value.text[0] == '"' ? audit_unquote(value) : value;
	buf_add(out, value.text, value.len);
	if (!buf_failed(out)) {
		audit_clean(out, from);
	}
	buf_puts(out, "\n");
}

void audit_detail(const struct audit_line *l, struct buf *out) {
	struct audit_field key, value;
	size_t at = 0;

	while (audit_member_next(l, &at, &key, &value) == 1) {
		if (value.len != 4 || memcmp(value.text, "null", 4) != 0) {
			put_detail(out, key, value);
		}
	}
	buf_puts(out, "\n");
}
