/* SPDX-License-Identifier: Apache-2.0 */
/* Adds one value to the text of a TOML policy file: comments, order and layout stay.
 *
 * The place is found by a scanner that knows no more of TOML than strings, comments and brackets.
 * Then the parser of policies reads both texts, and the new one must have everything of the old
 * one, and the value, and nothing else.
 *
 * Should:   change one line.
 * Must not: replace a value that the file has.
 * Fails:    closed: a text that the check does not confirm is not returned. */
#include "policy/toml_insert.h"

#include "base/str.h"
#include "policy/doc.h"

#include <stdio.h>
#include <string.h>

/* ---- scanning ---- */

struct scan {
	const char *text;
	size_t len, at;
};

/* Where a key is, or where it can be added. */
struct place {
	bool value;     /* the key exists */
	bool array;     /* and is an array, */
	size_t close;   /* which ends here */
	bool comma;     /* and needs a comma before one more element */
	bool header;    /* the table exists */
	size_t heading; /* its first line after the header */
};

static int ahead(const struct scan *s, size_t n) {
	return s->at + n < s->len ? (unsigned char)s->text[s->at + n] : -1;
}

static void skip_line(struct scan *s) {
	while (ahead(s, 0) != -1 && s->text[s->at++] != '\n') {
	}
}

static void skip_string(struct scan *s) {
	int quote = ahead(s, 0);
	size_t marks = ahead(s, 1) == quote && ahead(s, 2) == quote ? 3 : 1;

	for (s->at += marks; ahead(s, 0) != -1; s->at++) {
		if (quote == '"' && ahead(s, 0) == '\\') {
			s->at++;
		} else if (ahead(s, 0) == quote &&
			   (marks == 1 || (ahead(s, 1) == quote && ahead(s, 2) == quote))) {
			s->at += marks;
			while (marks == 3 && ahead(s, 0) == quote) {
				s->at++; /* up to two quotes may precede the closing ones */
			}
			return;
		}
	}
}

/* Skips a value; of an array it notes the end. */
static void skip_value(struct scan *s, struct place *ret) {
	int depth = 0, last = -1;

	ret->array = ahead(s, 0) == '[';
	for (int c; (c = ahead(s, 0)) != -1 && (depth > 0 || c != '\n');) {
		if (c == '#') {
			skip_line(s);
			if (depth == 0) {
				return;
			}
			continue;
		}
		if (c == '"' || c == '\'') {
			skip_string(s);
			last = c;
			continue;
		}
		depth += (c == '[' || c == '{') - (c == ']' || c == '}');
		if (c == ']' && depth == 0) {
			ret->close = s->at;
			ret->comma = last != ',' && last != '[';
		}
		last = c == ' ' || c == '\t' || c == '\n' || c == '\r' ? last : c;
		s->at++;
	}
}

/* The text up to a mark on this line, without blanks; "" if it is too long or quoted. */
static void take_name(struct scan *s, char mark, char out[64]) {
	size_t n = 0;

	for (int c; (c = ahead(s, 0)) != -1 && c != mark && c != '\n'; s->at++) {
		if (c != ' ' && c != '\t' && n < 63) {
			out[n++] = (char)c;
		}
	}
	out[n] = '\0';
	s->at += ahead(s, 0) == mark;
}

static void find(const char *text, size_t len, const char *table, const char *name,
		 struct place *ret) {
	struct scan s = {.text = text, .len = len};
	char here[64] = "", word[64], whole[130];

	*ret = (struct place){.header = table[0] == '\0'};
	while (ahead(&s, 0) != -1) {
		int c = ahead(&s, 0);
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			s.at++;
		} else if (c == '#') {
			skip_line(&s);
		} else if (c == '[') {
			s.at++;
			take_name(&s, ']', here);
			skip_line(&s);
			if (streq(here, table) && !ret->header) {
				ret->header = true;
				ret->heading = s.at;
			}
		} else {
			struct place found = {0};
			take_name(&s, '=', word);
			while (ahead(&s, 0) == ' ' || ahead(&s, 0) == '\t') {
				s.at++;
			}
			skip_value(&s, &found);
			(void)snprintf(whole, sizeof whole, "%s%s%s", here,
				       here[0] == '\0' ? "" : ".", word); /* it fits */
			bool match = table[0] == '\0'
					     ? streq(whole, name)
					     : str_starts(whole, table) &&
						       whole[strlen(table)] == '.' &&
						       streq(whole + strlen(table) + 1, name);
			if (match && !ret->value) {
				ret->value = true;
				ret->array = found.array;
				ret->close = found.close;
				ret->comma = found.comma;
			}
		}
	}
}

/* ---- writing ---- */

static void put_string(struct buf *out, const char *value) {
	buf_puts(out, "\"");
	for (const char *p = value; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		if (c == '"' || c == '\\') {
			buf_printf(out, "\\%c", c);
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(out, "\\u%04x", c);
		} else {
			buf_add(out, p, 1);
		}
	}
	buf_puts(out, "\"");
}

static void put_line(struct buf *out, const char *name, const char *value, bool list) {
	buf_printf(out, "%s = %s", name, list ? "[" : "");
	put_string(out, value);
	buf_puts(out, list ? "]\n" : "\n");
}

/* A value, and where it belongs. */
struct addition {
	char table[64];   /* "": the top */
	const char *name; /* of the key in it */
	const char *value;
	bool list;
};

static void write_text(const char *text, size_t len, const struct addition *a, struct buf *out) {
	const char *name = a->name, *value = a->value;
	bool list = a->list;
	struct place p;

	find(text, len, a->table, name, &p);
	if (p.value && p.array && list) {
		buf_add(out, text, p.close);
		buf_puts(out, p.comma ? ", " : "");
		put_string(out, value);
		buf_add(out, text + p.close, len - p.close);
	} else if (p.header) {
		bool ends = p.heading == 0 || text[p.heading - 1] == '\n';
		buf_add(out, text, p.heading);
		buf_puts(out, ends ? "" : "\n");
		put_line(out, name, value, list);
		buf_add(out, text + p.heading, len - p.heading);
	} else {
		buf_add(out, text, len);
		buf_puts(out, len == 0 ? "" : text[len - 1] == '\n' ? "\n" : "\n\n");
		buf_printf(out, "[%s]\n", a->table);
		put_line(out, name, value, list);
	}
}

/* ---- checking ---- */

static const struct doc *child(const struct doc *d, const char *key) {
	const struct doc *c = d == NULL || d->type != DOC_TABLE ? NULL : d->first;

	while (c != NULL && !streq(c->key, key)) {
		c = c->next;
	}
	return c;
}

static size_t count(const struct doc *d) {
	size_t n = 1;

	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		n += count(c);
	}
	return n;
}

static bool same_scalar(const struct doc *a, const struct doc *b) {
	if (a->type == DOC_STRING || a->type == DOC_TIME) {
		return a->len == b->len && memcmp(a->str, b->str, a->len) == 0;
	}
	return a->num == b->num && a->yes == b->yes && !(a->real < b->real) && !(a->real > b->real);
}

/* Everything of the old tree is in the new one, in the same order of arrays. */
static bool covers(const struct doc *old, const struct doc *new) {
	if (new == NULL || old->type != new->type) {
		return false;
	}
	const struct doc *n = new->first;
	for (const struct doc *c = old->first; c != NULL; c = c->next) {
		const struct doc *other = old->type == DOC_TABLE ? child(new, c->key) : n;
		if (other == NULL || !covers(c, other)) {
			return false;
		}
		n = n == NULL ? NULL : n->next;
	}
	return old->type == DOC_TABLE || old->type == DOC_ARRAY || same_scalar(old, new);
}

static const struct doc *value_at(const struct doc *root, const struct addition *a) {
	return child(a->table[0] == '\0' ? root : child(root, a->table), a->name);
}

static bool is_value(const struct doc *d, const char *value) {
	return d != NULL && d->type == DOC_STRING && streq(d->str, value);
}

static bool has_value(const struct doc *d, const char *value, bool list) {
	if (d == NULL || !list) {
		return is_value(d, value);
	}
	const struct doc *c = d->type == DOC_ARRAY ? d->first : NULL;
	while (c != NULL && !is_value(c, value)) {
		c = c->next;
	}
	return c != NULL;
}

static bool check(const struct doc *old, const struct doc *new, const struct addition *a) {
	bool had_table = a->table[0] == '\0' || child(old, a->table) != NULL;
	bool had_key = value_at(old, a) != NULL;
	size_t added = 1 + (had_table ? 0U : 1U) + (a->list && !had_key ? 1U : 0U);

	return covers(old, new) && has_value(value_at(new, a), a->value, a->list) &&
	       count(new) == count(old) + added;
}

/* The new text, if it is right. */
static int insert(struct arena *arena, const struct toml_text *text, const struct addition *a,
		  struct buf *out, struct err *e) {
	struct doc *old = NULL, *new = NULL;

	if (doc_parse_toml(arena, "the file", text->data, text->len, &old, e) != 0) {
		return -1;
	}
	if (has_value(value_at(old, a), a->value, a->list)) {
		buf_add(out, text->data, text->len);
		return 0;
	}
	write_text(text->data, text->len, a, out);
	if (!buf_failed(out) &&
	    doc_parse_toml(arena, "the new file", out->data, out->len, &new, e) == 0 &&
	    check(old, new, a)) {
		return 0;
	}
	return err_set(e, ERR_USAGE, "policy",
		       "the file is written in a way that Corral cannot extend: add %s by hand",
		       a->name);
}

int toml_insert(const struct toml_text *text, const char *key, const char *value, bool list,
		struct buf *out, struct err *e) {
	const char *dot = strchr(key, '.');
	struct addition a = {.name = dot == NULL ? key : dot + 1, .value = value, .list = list};
	struct arena arena;
	struct buf fresh;

	if (dot != NULL && (size_t)(dot - key) < sizeof a.table) {
		memcpy(a.table, key, (size_t)(dot - key));
	}
	arena_init(&arena);
	buf_init(&fresh);
	int rc = insert(&arena, text, &a, &fresh, e);
	if (rc == 0 && fresh.len > 0) {
		buf_add(out, fresh.data, fresh.len);
	}
	buf_done(&fresh);
	arena_done(&arena);
	return rc;
}
