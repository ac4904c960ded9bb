/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the members of a line of the audit log without a tree.
 *
 * Should:   look at each byte once, and stop after the last member that is needed.
 * Must not: read beyond the line, whatever is in it.
 * Fails:    a line that is not a JSON object is an error; a missing member has length 0. */
#include "audit/read.h"

#include "audit/bytes.h"
#include "base/auto.h"
#include "base/emit.h"

#include <string.h>

/* With zeros up to the length of a key. */
#define KEY_MAX 16
static const char names[AUDIT_MEMBERS][KEY_MAX] = {
	[AUDIT_TIME] = "time",
	[AUDIT_SEQ] = "seq",
	[AUDIT_KIND] = "kind",
	[AUDIT_ID] = "id",
	[AUDIT_SESSION] = "session",
	[AUDIT_AGENT] = "agent",
	[AUDIT_VERDICT] = "verdict",
	[AUDIT_REASON] = "reason",
	[AUDIT_EXIT] = "exit",
	[AUDIT_SIGNAL] = "signal",
	[AUDIT_DURATION] = "duration_ms",
	[AUDIT_LEVEL] = "level",
	[AUDIT_COMMAND] = "command",
	[AUDIT_CWD] = "cwd",
	[AUDIT_WORKSPACE] = "workspace",
	[AUDIT_OP] = "op",
	[AUDIT_PATH] = "path",
	[AUDIT_HOST] = "host",
	[AUDIT_PROGRAM] = "program",
	[AUDIT_SYSCALL] = "syscall",
	[AUDIT_METHOD] = "method",
	[AUDIT_PORT] = "port",
	[AUDIT_ACCESS] = "access",
	[AUDIT_ERRNO] = "errno",
	[AUDIT_RULE] = "rule",
	[AUDIT_WHY] = "why",
	[AUDIT_ALLOW_WITH] = "allow_with",
	[AUDIT_COUNT] = "count",
	[AUDIT_LEAK] = "leak",
	[AUDIT_STREAM] = "stream",
	[AUDIT_FINGERPRINT] = "fingerprint",
	[AUDIT_SECRET] = "secret",
};

/* The position after the string that begins at `at`; 0 when it does not end. */
static size_t after_string(const char *t, size_t len, size_t at) {
	for (size_t i = at + 1; i < len; i += 2) { /* 2: a backslash and the escaped character */
		i = bytes_find(t, i, len, "\"\\");
		if (i < len && t[i] == '"') {
			return i + 1;
		}
	}
	return 0;
}

/* The position after an array or object. */
static size_t after_nested(const char *t, size_t len, size_t at) {
	int depth = 0;
	size_t i = at;

	while (i < len) {
		if (t[i] == '"') {
			i = after_string(t, len, i);
			if (i == 0) {
				return 0;
			}
			continue;
		}
		depth += t[i] == '[' || t[i] == '{';
		depth -= t[i] == ']' || t[i] == '}';
		i++;
		if (depth == 0) {
			return i;
		}
	}
	return 0;
}

static size_t after_value(const char *t, size_t len, size_t at) {
	if (at >= len) {
		return 0;
	}
	if (t[at] == '"') {
		return after_string(t, len, at);
	}
	if (t[at] == '[' || t[at] == '{') {
		return after_nested(t, len, at);
	}
	size_t i = at;
	while (i < len && t[i] != ',' && t[i] != '}' && t[i] != ']') {
		i++;
	}
	return i > at ? i : 0;
}

/* The position of the colon if the member `name` begins at `at`, its quote; else 0. */
static size_t colon_of(const struct audit_line *l, size_t at, const char name[KEY_MAX]) {
	if (at > l->len || l->len - at < KEY_MAX + 3) {
		return 0; /* the name, two quotes and a colon */
	}
	const uint64_t low = bytes_load(name), high = bytes_load(name + 8);
	const uint64_t end = bytes_zero(low), end_high = bytes_zero(high);
	const char *t = l->text + at;
	size_t len = end != 0        ? (size_t)__builtin_ctzll(end) / 8
		     : end_high != 0 ? 8 + (size_t)__builtin_ctzll(end_high) / 8
				     : KEY_MAX;
	struct bytes_key key = bytes_key_within(t + 1, len);
	return t[0] == '"' && key.low == low && key.high == high && t[len + 1] == '"' &&
			       t[len + 2] == ':'
		       ? at + len + 2
		       : 0;
}

/* The position of the quote of the next key; 0 at the end; -1: not JSON. */
static ssize_t key_of(const struct audit_line *l, size_t at) {
	const char *t = l->text;

	if (at >= l->len || (t[at] != (at == 0 ? '{' : ',') && t[at] != '}')) {
		return -1;
	}
	if (t[at] == '}') {
		return at + 1 == l->len ? 0 : -1;
	}
	return (ssize_t)at + 1;
}

/* Takes the value after the colon. */
static int take_value(const struct audit_line *l, size_t colon, size_t *at,
		      struct audit_field *ret) {
	if (colon == 0 || colon >= l->len || l->text[colon] != ':') {
		return -1;
	}
	size_t end = after_value(l->text, l->len, colon + 1);
	if (end == 0) {
		return -1;
	}
	*ret = (struct audit_field){l->text + colon + 1, end - colon - 1};
	*at = end;
	return 1;
}

int audit_member_next(const struct audit_line *l, size_t *at, struct audit_field *ret_key,
		      struct audit_field *ret_value) {
	ssize_t key = key_of(l, *at);

	if (key <= 0) {
		return (int)key;
	}
	size_t from = (size_t)key;
	size_t colon =
		from < l->len && l->text[from] == '"' ? after_string(l->text, l->len, from) : 0;
	if (take_value(l, colon, at, ret_value) != 1) {
		return -1;
	}
	*ret_key = (struct audit_field){l->text + from + 1, colon - from - 2};
	return 1;
}

int audit_element_next(const struct audit_field *list, size_t *at, struct audit_field *ret_value) {
	const char *t = list->text;
	size_t i = *at;

	if (i >= list->len || (t[i] != (i == 0 ? '[' : ',') && t[i] != ']')) {
		return -1;
	}
	if (t[i] == ']' || (i == 0 && list->len == 2)) {
		return 0;
	}
	size_t end = after_value(t, list->len, i + 1);
	if (end == 0 || end >= list->len) {
		return -1;
	}
	*ret_value = (struct audit_field){t + i + 1, end - i - 1};
	*at = end;
	return 1;
}

static bool is_plain_string(struct audit_field f) {
	for (size_t i = 1; i + 1 < f.len; i++) {
		if ((unsigned char)f.text[i] < 0x20) {
			return false;
		}
		if (f.text[i] == '\\' && strchr("\"\\/bfnrtu", f.text[++i]) == NULL) {
			return false;
		}
	}
	return f.len >= 2 && f.text[0] == '"';
}

void audit_emit_value(struct emit *j, const char *key, struct audit_field value) {
	static const char *const words[] = {"null", "true", "false"};

	if (value.len == 0) {
		emit_null(j, key);
		return;
	}
	bool raw = is_plain_string(value) || audit_number(value, -1) >= 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		raw = raw || (value.len == strlen(words[i]) &&
			      memcmp(value.text, words[i], value.len) == 0);
	}
	if (raw) {
		emit_raw(j, key, value.text, value.len);
	} else {
		emit_bytes(j, key, value.text, value.len);
	}
}

static bool is_name(size_t member, struct bytes_key key) {
	return bytes_load(names[member]) == key.low && bytes_load(names[member] + 8) == key.high;
}

/* Records have their members in the order of the table, mostly: the search begins where the last
 * one ended. */
static size_t member_of(struct audit_field text, size_t from) {
	if (text.len == 0 || text.len > KEY_MAX || text.text[text.len - 1] == '\0') {
		return AUDIT_MEMBERS;
	}
	const struct bytes_key key = bytes_key(text.text, text.len);
	for (size_t m = from; m < AUDIT_MEMBERS; m++) {
		if (is_name(m, key)) {
			return m;
		}
	}
	for (size_t m = 0; m < from; m++) {
		if (is_name(m, key)) {
			return m;
		}
	}
	return AUDIT_MEMBERS;
}

/* The next member, whose number is probably *m; AUDIT_MEMBERS: no member of the table. */
static int known_next(const struct audit_line *l, size_t *at, size_t *m,
		      struct audit_field *ret_value) {
	struct audit_field key;
	ssize_t from = *m < AUDIT_MEMBERS ? key_of(l, *at) : -1;
	size_t colon = from > 0 ? colon_of(l, (size_t)from, names[*m]) : 0;

	if (colon > 0) {
		return take_value(l, colon, at, ret_value);
	}
	int more = audit_member_next(l, at, &key, ret_value);
	if (more == 1) {
		*m = member_of(key, *m);
	}
	return more;
}

int audit_fields_more(const struct audit_line *l, enum audit_member last,
		      struct audit_fields *fields) {
	struct audit_field value;
	int more = 1;

	while (!fields->counted || last == AUDIT_MEMBERS) {
		size_t m = fields->expected;
		more = known_next(l, &fields->next, &m, &value);
		if (more != 1) {
			break;
		}
		if (m == AUDIT_MEMBERS) {
			continue;
		}
		fields->at[m] = value;
		fields->expected = m + 1;
		fields->counted = fields->counted || m == AUDIT_COUNT;
		if (m == last) {
			return 0;
		}
	}
	return more < 0 ? -1 : 0;
}

int audit_fields_read(const struct audit_line *l, enum audit_member last,
		      struct audit_fields *ret) {
	*ret = (struct audit_fields){0};
	return audit_fields_more(l, last, ret);
}

struct audit_field audit_unquote(struct audit_field f) {
	if (f.len < 2 || f.text[0] != '"') {
		return (struct audit_field){0};
	}
	return (struct audit_field){f.text + 1, f.len - 2};
}

int64_t audit_number(struct audit_field f, int64_t missing) {
	int64_t n = 0;

	if (f.len == 0 || f.len > 18) {
		return missing;
	}
	for (size_t i = 0; i < f.len; i++) {
		if (f.text[i] < '0' || f.text[i] > '9') {
			return missing;
		}
		n = n * 10 + (f.text[i] - '0');
	}
	return n;
}
