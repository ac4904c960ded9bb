/* SPDX-License-Identifier: Apache-2.0 */
/* Removes credentials from the text of a git configuration.
 *
 * Theory.  A credential is the userinfo of a URL, an entry with a known name, or a token with the
 * prefix of a known forge.  URLs are searched in every value, section head and comment, because
 * they may be anywhere.  Only the credential is removed from a value, so that `git remote -v` still
 * prints the URL of a repository.
 *
 * Should:   remove it in every form that git reads: quoted, escaped, continued.
 * Must not: change any other byte.
 * Fails:    closed: a file with a syntax error is hidden when any part of it looks like a
 *           credential. */
#include "plan/git/clean.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/gitkeys.h"
#include "plan/git/config.h"

#include <strings.h>

#define REMOVED "; corral: a credential was removed here"

/* User names are shorter; tokens without a known prefix are not. */
#define NAME_LENGTH 20

/* The minimum length of a token after its prefix. */
#define TOKEN_LENGTH 16

/* Removing a part may join the text around it to a new credential. */
#define ROUNDS_MAX 8

struct span {
	const char *s;
	size_t len;
};

static bool span_has(struct span in, const char *word) {
	size_t len = strlen(word);
	for (size_t i = 0; i + len <= in.len; i++) {
		if (strncasecmp(in.s + i, word, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool ends_with(struct span in, const char *word) {
	size_t len = strlen(word);
	return in.len >= len && strncasecmp(in.s + in.len - len, word, len) == 0;
}

/* Position of the last of these characters, or -1. */
static long last_of(struct span in, char c) {
	for (size_t i = in.len; i > 0; i--) {
		if (in.s[i - 1] == c) {
			return (long)i - 1;
		}
	}
	return -1;
}

static struct span until(const char *s, const char *end, const char *stops) {
	size_t n = 0;
	while (s + n < end && s[n] != '\0' && strchr(stops, s[n]) == NULL) {
		n++;
	}
	return (struct span){s, n};
}

/* ---- tokens ---- */

static bool is_token_char(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* The length of the token that begins here; 0 for none. */
static size_t token_length(const char *s, const char *end) {
	for (size_t i = 0; i < token_prefixes_count; i++) {
		size_t len = strlen(token_prefixes[i].prefix), n = len;
		if ((size_t)(end - s) < len || memcmp(s, token_prefixes[i].prefix, len) != 0) {
			continue;
		}
		while (s + n < end && is_token_char(s[n])) {
			n++;
		}
		if (n >= len + TOKEN_LENGTH) {
			return n;
		}
	}
	return 0;
}

/* ---- addresses ---- */

#define BLANKS " \t\r\n\"'`<>|"

/* The length of the userinfo at s to remove, with its "@"; 0 for none. */
static size_t userinfo_length(const char *s, const char *end) {
	struct span authority = until(s, end, BLANKS "/?#"), rest = until(s, end, BLANKS);
	long at = last_of(authority, '@');
	if (at >= 0) {
		struct span info = {s, (size_t)at};
		bool secret = memchr(info.s, ':', info.len) != NULL || info.len >= NAME_LENGTH ||
			      token_length(info.s, info.s + info.len) > 0;
		return secret ? info.len + 1 : 0;
	}
	/* A password with a slash in it: the part before the slash is not a port number. */
	const char *colon = memchr(s, ':', authority.len);
	at = last_of(rest, '@');
	if (colon == NULL || s[0] == '[' || at < colon - s) {
		return 0;
	}
	struct span port = {colon + 1, authority.len - (size_t)(colon + 1 - s)};
	for (size_t i = 0; i < port.len; i++) {
		if (port.s[i] < '0' || port.s[i] > '9') {
			return (size_t)at + 1;
		}
	}
	return 0;
}

/* The user name of an ssh URL is not a secret, and ssh needs it. */
static size_t kept_name(struct span before, const char *s, size_t removed) {
	struct span name = until(s, s + removed, ":@");
	return ends_with(before, "ssh") && name.len < NAME_LENGTH ? name.len : 0;
}

static bool query_is_secret(struct span query) {
	static const char *const words[] = {"token", "secret", "passw", "auth", "key=", "sig"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (span_has(query, words[i])) {
			return true;
		}
	}
	return false;
}

/* From after "://"; returns the rest. */
static const char *clean_address(struct span before, const char *s, const char *end,
				 struct buf *out) {
	size_t removed = userinfo_length(s, end);
	size_t name = removed == 0 ? 0 : kept_name(before, s, removed);
	if (name > 0) {
		buf_add(out, s, name);
		buf_puts(out, "@");
	}
	s += removed;
	struct span path = until(s, end, BLANKS "?");
	struct span query = until(path.s + path.len, end, BLANKS "#");
	if (!query_is_secret(query)) {
		return s;
	}
	/* The rest may contain another URL: the next round reads it. */
	buf_add(out, path.s, path.len);
	return query.s + query.len;
}

/* One round; returns whether anything was removed. */
static bool clean_once(struct span in, bool proxy, struct buf *out) {
	const char *s = in.s, *end = in.s + in.len;
	size_t before = out->len;
	if (proxy && span_has(in, "@") && !span_has(in, "://")) {
		s = clean_address((struct span){s, 0}, s, end, out);
	}
	while (s < end) {
		bool starts = s == in.s || !is_token_char(s[-1]);
		size_t token = starts ? token_length(s, end) : 0;
		if (token > 0) {
			buf_puts(out, "REMOVED");
			s += token;
		} else if (end - s >= 3 && memcmp(s, "://", 3) == 0) {
			buf_puts(out, "://");
			s = clean_address((struct span){in.s, (size_t)(s - in.s)}, s + 3, end, out);
		} else {
			buf_add(out, s++, 1);
		}
	}
	return out->len - before != in.len;
}

/* Appends a text without its credentials; returns whether it differs.  A text that still changes
 * after ROUNDS_MAX is left out as a whole. */
static bool clean_text(struct span in, bool proxy, struct buf *out) {
	struct buf from = {0}, to = {0};
	bool changed = false, again = true;

	buf_add(&from, in.s, in.len);
	for (int round = 0; again && round < ROUNDS_MAX; round++) {
		to.len = 0;
		buf_puts(&to, "");
		again = !buf_failed(&from) &&
			clean_once((struct span){from.data, from.len}, proxy, &to);
		changed = changed || again;
		struct buf other = from;
		from = to;
		to = other;
	}
	if (buf_failed(&from) || buf_failed(&to)) {
		out->failed = true;
	} else if (!again) {
		buf_add(out, from.data, from.len);
	}
	buf_done(&from);
	buf_done(&to);
	return changed;
}

/* ---- entries ---- */

static const struct gitkey_row *row_of(const char *section, const char *key) {
	for (size_t i = 0; i < gitkeys_count; i++) {
		const struct gitkey_row *row = &gitkeys[i];
		bool there =
			section == NULL || row->section == NULL || streq(section, row->section);
		if (there && strstr(key, row->key) != NULL) {
			return row;
		}
	}
	return NULL;
}

/* A boolean, such as credential.useHttpPath: not a secret, despite the name of its key. */
static bool is_switch(struct span value) {
	static const char *const words[] = {"",   "true", "false", "yes", "no",
					    "on", "off",  "0",     "1"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strlen(words[i]) == value.len &&
		    strncasecmp(value.s, words[i], value.len) == 0) {
			return true;
		}
	}
	return false;
}

static bool script_is_secret(struct span value) {
	return value.len > 0 && value.s[0] == '!' &&
	       (span_has(value, "passw") || span_has(value, "token") || span_has(value, "secret"));
}

static bool is_secret(const struct gitkey_row *row, struct span value) {
	if (row == NULL || is_switch(value)) {
		return false;
	}
	return row->kind == GITKEY_WHOLE || (row->kind == GITKEY_SCRIPT && script_is_secret(value));
}

/* ---- the file ---- */

struct cleaning {
	const char *text;
	size_t done; /* the text up to here has been written to out */
	bool changed;
	struct buf *out;
};

/* A comment that would be a secret entry without its "#". */
static bool comment_is_secret(struct span comment) {
	struct git_config c;
	const char *s = comment.s, *end = comment.s + comment.len;
	while (s < end && strchr("#; \t", *s) != NULL) {
		s++;
	}
	git_config_init(&c, s, (size_t)(end - s));
	bool entry = git_config_next(&c) == GIT_CONFIG_ENTRY && !git_config_failed(&c);
	struct span value = {entry ? c.value.data : "", entry ? c.value.len : 0};
	bool secret = entry && is_secret(row_of(NULL, c.key.data), value);
	git_config_done(&c);
	return secret;
}

static void copy_comment(struct cleaning *k, struct span comment) {
	if (comment_is_secret(comment)) {
		buf_puts(k->out, REMOVED);
		k->changed = true;
	} else {
		k->changed |= clean_text(comment, false, k->out);
	}
}

/* Copies blanks and comments up to this position. */
static void copy_until(struct cleaning *k, size_t to) {
	while (k->done < to) {
		const char *s = k->text + k->done, *end = k->text + to;
		bool comment = *s == '#' || *s == ';';
		struct span line = comment ? until(s, end, "\n") : (struct span){s, 1};
		if (comment) {
			copy_comment(k, line);
		} else {
			buf_add(k->out, line.s, line.len);
		}
		k->done += line.len;
	}
}

/* Writes the quoted text instead of the bytes from `from` to `to`. */
static void replace(struct cleaning *k, size_t from, size_t to, const struct buf *text) {
	buf_add(k->out, k->text + k->done, from - k->done);
	git_config_quote(text->data, text->len, k->out);
	k->done = to;
	k->changed = true;
}

static void clean_head(struct cleaning *k, const struct git_config *c) {
	struct buf clean = {0};
	struct span sub = {c->sub.data, c->has_sub ? c->sub.len : 0};
	buf_puts(&clean, "");
	if (sub.len > 0 && clean_text(sub, false, &clean)) {
		buf_printf(k->out, "[%s ", c->section.data);
		k->done = c->start;
		replace(k, c->start, c->end, &clean);
		buf_puts(k->out, "]");
	} else {
		buf_add(k->out, k->text + c->start, c->end - c->start);
		k->done = c->end;
	}
	k->out->failed |= clean.failed;
	buf_done(&clean);
}

static void clean_entry(struct cleaning *k, const struct git_config *c) {
	const struct gitkey_row *row = row_of(c->section.data, c->key.data);
	struct span value = {c->value.data, c->value.len};
	struct buf clean = {0};
	buf_puts(&clean, "");
	if (c->has_value && is_secret(row, value)) {
		buf_puts(k->out, REMOVED);
		k->changed = true;
	} else if (c->has_value &&
		   clean_text(value, row != NULL && row->kind == GITKEY_PROXY, &clean)) {
		replace(k, c->value_at, c->value_end, &clean);
	} else {
		buf_add(k->out, k->text + k->done, c->value_end - k->done);
	}
	k->done = c->value_end;
	k->out->failed |= clean.failed;
	buf_done(&clean);
}

/* For a file with a syntax error: searches the whole text. */
static bool seems_secret(struct span text) {
	struct buf clean = {0};
	bool secret = clean_text(text, false, &clean) || buf_failed(&clean);
	for (size_t i = 0; !secret && i < gitkeys_count; i++) {
		secret = gitkeys[i].kind == GITKEY_WHOLE && span_has(text, gitkeys[i].key);
	}
	buf_done(&clean);
	return secret;
}

/* False at a syntax error. */
static bool clean_events(struct cleaning *k, struct git_config *c) {
	for (;;) {
		enum git_config_event event = git_config_next(c);
		if (event == GIT_CONFIG_BAD || git_config_failed(c)) {
			return false;
		}
		copy_until(k, c->start);
		if (event == GIT_CONFIG_END) {
			return true;
		}
		if (event == GIT_CONFIG_SECTION) {
			clean_head(k, c);
		} else {
			clean_entry(k, c);
		}
	}
}

enum git_clean git_clean(const char *text, size_t len, struct buf *out) {
	struct git_config c;
	struct cleaning k = {.text = text, .out = out};

	buf_puts(out, "");
	git_config_init(&c, text, len);
	bool good = memchr(text, '\0', len) == NULL && clean_events(&k, &c);
	out->failed |= git_config_failed(&c);
	git_config_done(&c);
	if (good) {
		return k.changed ? GIT_CLEAN_CHANGED : GIT_CLEAN_SAME;
	}
	return seems_secret((struct span){text, len}) ? GIT_CLEAN_CLOSED : GIT_CLEAN_SAME;
}
