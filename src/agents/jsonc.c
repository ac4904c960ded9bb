/* SPDX-License-Identifier: Apache-2.0 */
/* Finds values in a JSON text and adds or removes one, without writing the rest anew.
 *
 * The settings of an agent belong to its user: order, indentation and comments have to stay.
 * Comments and trailing commas become spaces first; jansson parses the result, so that the
 * functions that look for offsets read only valid JSON.
 *
 * Should:   keep every byte outside of the added or removed item and its comma.
 * Must not: be given a text that jsonc_parse() refused.
 * Fails:    out of memory, with the buffer. */
#include "agents/jsonc.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

static bool is_space(char c) {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(const struct buf *b, size_t at) {
	while (at < b->len && is_space(b->data[at])) {
		at++;
	}
	return at;
}

/* The end of the string that begins at `at`. */
static size_t string_end(const char *s, size_t len, size_t at) {
	for (at++; at < len && s[at] != '"'; at++) {
		at += s[at] == '\\' && at + 1 < len;
	}
	return at < len ? at + 1 : len;
}

/* The length of the comment that begins at `at`; 0: there is none. */
static size_t comment_length(const char *s, size_t len, size_t at) {
	if (len - at < 2 || s[at] != '/') {
		return 0;
	}
	if (s[at + 1] == '/') {
		const char *end = memchr(s + at, '\n', len - at);
		return end == NULL ? len - at : (size_t)(end - (s + at));
	}
	for (size_t i = at + 3; s[at + 1] == '*' && i < len; i++) {
		if (s[i - 1] == '*' && s[i] == '/') {
			return i + 1 - at;
		}
	}
	return 0;
}

static void blank_comments(struct buf *plain) {
	for (size_t i = 0; i < plain->len;) {
		size_t n = comment_length(plain->data, plain->len, i);
		if (plain->data[i] == '"') {
			i = string_end(plain->data, plain->len, i);
		} else if (n > 0) {
			memset(plain->data + i, ' ', n);
			i += n;
		} else {
			i++;
		}
	}
}

static void blank_commas(struct buf *plain) {
	for (size_t i = 0; i < plain->len;) {
		char c = plain->data[i];
		size_t next = skip_space(plain, i + 1);
		if (c == '"') {
			i = string_end(plain->data, plain->len, i);
			continue;
		}
		if (c == ',' && next < plain->len &&
		    (plain->data[next] == ']' || plain->data[next] == '}')) {
			plain->data[i] = ' ';
		}
		i++;
	}
}

json_t *jsonc_parse(const struct buf *text, struct buf *plain, char why[160]) {
	json_error_t where;

	buf_add(plain, text->data == NULL ? "" : text->data, text->len);
	if (buf_failed(plain)) {
		(void)snprintf(why, 160, "out of memory");
		return NULL;
	}
	/* jansson takes a NUL after a number for its end. */
	if (memchr(plain->data, '\0', plain->len) != NULL) {
		(void)snprintf(why, 160, "it has a NUL byte");
		return NULL;
	}
	blank_comments(plain);
	blank_commas(plain);
	json_t *root = json_loadb(plain->data, plain->len, JSON_REJECT_DUPLICATES, &where);
	if (root == NULL) {
		(void)snprintf(why, 160, "line %d: %.120s", where.line, where.text);
		str_hide_controls(why, false);
	} else if (!json_is_object(root)) {
		(void)snprintf(why, 160, "it is not an object");
		json_decref(root);
		root = NULL;
	}
	return root;
}

/* The end of the value that begins at `at`. */
static size_t value_end(const struct buf *b, size_t at) {
	size_t depth = 0;

	while (at < b->len) {
		char c = b->data[at];
		if (c == '"') {
			at = string_end(b->data, b->len, at);
		} else if (c == '{' || c == '[') {
			depth++;
			at++;
		} else if (depth > 0) {
			depth -= c == '}' || c == ']';
			at++;
		} else {
			while (at < b->len && !is_space(b->data[at]) &&
			       strchr(",]}:", b->data[at]) == NULL) {
				at++;
			}
		}
		if (depth == 0) {
			return at;
		}
	}
	return at;
}

struct span jsonc_root(const struct buf *plain) {
	size_t at = skip_space(plain, 0);
	return (struct span){at, value_end(plain, at)};
}

/* The value of the member that begins at `at`, which is its key. */
static size_t member_value(const struct buf *plain, size_t at) {
	return skip_space(plain, skip_space(plain, value_end(plain, at)) + 1);
}

bool jsonc_item(const struct buf *plain, struct span container, size_t i, struct span *ret) {
	bool object = plain->data[container.at] == '{';
	size_t at = skip_space(plain, container.at + 1);

	for (size_t n = 0; at + 1 < container.end; n++) {
		size_t end = value_end(plain, object ? member_value(plain, at) : at);
		if (n == i) {
			*ret = (struct span){at, end};
			return true;
		}
		at = skip_space(plain, skip_space(plain, end) + 1); /* after the comma */
	}
	return false;
}

bool jsonc_member(const struct buf *plain, struct span object, const char *key,
		  struct span *ret_member, struct span *ret_value) {
	size_t len = strlen(key);

	for (size_t i = 0; jsonc_item(plain, object, i, ret_member); i++) {
		const char *name = plain->data + ret_member->at + 1;
		size_t end = value_end(plain, ret_member->at);
		if (end - ret_member->at == len + 2 && memcmp(name, key, len) == 0) {
			*ret_value =
				(struct span){member_value(plain, ret_member->at), ret_member->end};
			return true;
		}
	}
	return false;
}

/* The indentation of the line with this offset. */
static struct span indentation(const struct buf *text, size_t at) {
	struct span s = {at, at};

	while (s.at > 0 && text->data[s.at - 1] != '\n') {
		s.at--;
	}
	for (s.end = s.at; s.end < at && (text->data[s.end] == ' ' || text->data[s.end] == '\t');) {
		s.end++;
	}
	return s;
}

static void put(struct buf *out, const struct buf *text, struct span s) {
	buf_add(out, text->data + s.at, s.end - s.at);
}

void jsonc_append(const struct buf *text, const struct buf *plain, struct span container,
		  const char *item, struct buf *out) {
	struct span last = {0, 0}, at = indentation(text, container.at);
	size_t n = 0;

	while (jsonc_item(plain, container, n, &last)) {
		n++;
	}
	size_t cut = n == 0 ? container.at + 1 : last.end;
	put(out, text, (struct span){0, cut});
	buf_puts(out, n == 0 ? "\n" : ",\n");
	put(out, text, at);
	buf_puts(out, "  ");
	buf_puts(out, item);
	if (n == 0 && skip_space(plain, cut) + 1 == container.end &&
	    memchr(text->data + cut, '\n', container.end - cut) == NULL) {
		buf_puts(out, "\n");
		put(out, text, at);
	}
	put(out, text, (struct span){cut, text->len});
}

void jsonc_remove(const struct buf *text, const struct buf *plain, struct span container, size_t i,
		  struct buf *out) {
	struct span item, other;
	size_t from, to;

	if (!jsonc_item(plain, container, i, &item)) {
		put(out, text, (struct span){0, text->len});
		return;
	}
	if (i > 0 && jsonc_item(plain, container, i - 1, &other)) {
		from = other.end;
		to = item.end;
	} else if (jsonc_item(plain, container, i + 1, &other)) {
		from = item.at;
		to = other.at;
	} else {
		from = container.at + 1;
		to = skip_space(plain, item.end);
	}
	put(out, text, (struct span){0, from});
	put(out, text, (struct span){to, text->len});
}
