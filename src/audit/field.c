/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the members of a line of the audit log without a tree.
 *
 * Should:   look at each byte once, and stop after the last member that is needed.
 * Must not: read beyond the line, whatever is in it.
 * Fails:    a line that is not a JSON object is an error; a missing member has length 0. */
#include "audit/read.h"

#include "base/auto.h"
#include "base/emit.h"

#include <string.h>

static const struct {
	const char *name;
	size_t len;
} names[AUDIT_MEMBERS] = {
#define NAME(member, text) [member] = {(text), sizeof(text) - 1}
	NAME(AUDIT_TIME, "time"),
	NAME(AUDIT_SEQ, "seq"),
	NAME(AUDIT_KIND, "kind"),
	NAME(AUDIT_ID, "id"),
	NAME(AUDIT_SESSION, "session"),
	NAME(AUDIT_AGENT, "agent"),
	NAME(AUDIT_VERDICT, "verdict"),
	NAME(AUDIT_REASON, "reason"),
	NAME(AUDIT_EXIT, "exit"),
	NAME(AUDIT_SIGNAL, "signal"),
	NAME(AUDIT_DURATION, "duration_ms"),
	NAME(AUDIT_LEVEL, "level"),
	NAME(AUDIT_COMMAND, "command"),
	NAME(AUDIT_CWD, "cwd"),
	NAME(AUDIT_WORKSPACE, "workspace"),
	NAME(AUDIT_OP, "op"),
	NAME(AUDIT_PATH, "path"),
	NAME(AUDIT_HOST, "host"),
	NAME(AUDIT_PROGRAM, "program"),
	NAME(AUDIT_SYSCALL, "syscall"),
	NAME(AUDIT_PORT, "port"),
	NAME(AUDIT_ACCESS, "access"),
	NAME(AUDIT_RULE, "rule"),
	NAME(AUDIT_WHY, "why"),
	NAME(AUDIT_COUNT, "count"),
	NAME(AUDIT_LEAK, "leak"),
	NAME(AUDIT_STREAM, "stream"),
	NAME(AUDIT_FINGERPRINT, "fingerprint"),
	NAME(AUDIT_SECRET, "secret"),
#undef NAME
};

/* The position after the string that begins at `at`; 0 when it does not end. */
static size_t after_string(const char *t, size_t len, size_t at) {
	for (size_t i = at + 1; i < len;) {
		const char *quote = memchr(t + i, '"', len - i);
		if (quote == NULL) {
			return 0;
		}
		size_t end = (size_t)(quote - t), slashes = 0;
		while (end - slashes > at + 1 && t[end - slashes - 1] == '\\') {
			slashes++;
		}
		if (slashes % 2 == 0) {
			return end + 1;
		}
		i = end + 1;
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

int audit_member_next(const struct audit_line *l, size_t *at, struct audit_field *ret_key,
		      struct audit_field *ret_value) {
	const char *t = l->text;
	size_t i = *at;

	if (i >= l->len || (t[i] != (i == 0 ? '{' : ',') && t[i] != '}')) {
		return -1;
	}
	if (t[i] == '}') {
		return i + 1 == l->len ? 0 : -1;
	}
	size_t key = i + 1;
	size_t colon = key < l->len && t[key] == '"' ? after_string(t, l->len, key) : 0;
	if (colon == 0 || colon >= l->len || t[colon] != ':') {
		return -1;
	}
	size_t end = after_value(t, l->len, colon + 1);
	if (end == 0) {
		return -1;
	}
	*ret_key = (struct audit_field){t + key + 1, colon - key - 2};
	*ret_value = (struct audit_field){t + colon + 1, end - colon - 1};
	*at = end;
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

/* Records have their members in the order of the table, mostly: the search begins where the last
 * one ended. */
static size_t member_of(struct audit_field key, size_t from) {
	for (size_t i = 0; i < AUDIT_MEMBERS; i++) {
		size_t m = (from + i) % AUDIT_MEMBERS;
		if (names[m].len == key.len && memcmp(names[m].name, key.text, key.len) == 0) {
			return m;
		}
	}
	return AUDIT_MEMBERS;
}

int audit_fields_read(const struct audit_line *l, enum audit_member last,
		      struct audit_fields *ret) {
	struct audit_field key, value;
	size_t at = 0, expected = 0;
	int more;

	*ret = (struct audit_fields){0};
	while ((more = audit_member_next(l, &at, &key, &value)) == 1) {
		size_t m = member_of(key, expected);
		if (m == AUDIT_MEMBERS) {
			continue;
		}
		ret->at[m] = value;
		expected = m + 1;
		if (m == last) {
			return 0;
		}
	}
	return more;
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
