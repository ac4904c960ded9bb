/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the values in a recorded text that may be secret, so that the plan's parsers still find
 * the same sections, keys, URLs and paths.
 *
 * A value is replaced unless a rule keeps it: letters become "x", digits "1", and every other byte
 * stays, so that quotes, separators and lengths are the same.  Kept are section heads, keys, host
 * and port of a URL, the value of a key of kept_keys, words of kept_words, names of variables
 * (${NAME}), and the prefix of a forge's token, by which the plan detects one.
 *
 * Should:   work on any text, also one that no parser accepts.
 * Must not: keep the userinfo, path or query of a URL, or a value that no rule names.
 * Fails:    closed: a text that is not understood is replaced. */
#include "plan/snapshot.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/gitkeys.h"

#include <ctype.h>
#include <strings.h>

struct span {
	char *s;
	size_t len;
};

/* Keys whose value is a path, a host or a name that the plan compares. */
static const char *const kept_keys[] = {
	"active",       "gitdir", "go-sumdb",      "gosumdb",  "hookspath",
	"insteadof",    "path",   "pushinsteadof", "pushurl",  "ref",
	"replace-with", "update", "url",           "worktree",
};

/* Words that change the meaning of a setting, and those by which plan/git/clean.c detects a script
 * that prints a password. */
static const char *const kept_words[] = {
	"default",  "direct", "false", "no",   "off", "on",
	"password", "secret", "token", "true", "yes",
};

static bool is_one_of(const char *const *list, size_t n, const char *s, size_t len) {
	for (size_t i = 0; i < n; i++) {
		if (strlen(list[i]) == len && strncasecmp(list[i], s, len) == 0) {
			return true;
		}
	}
	return false;
}

static size_t prefix_of_token(const char *s, size_t len) {
	for (size_t i = 0; i < token_prefixes_count; i++) {
		size_t n = strlen(token_prefixes[i].prefix);
		if (len >= n && memcmp(s, token_prefixes[i].prefix, n) == 0) {
			return n;
		}
	}
	return 0;
}

/* The length of "${NAME}" or of an XML entity such as "&amp;"; 0 for another text. */
static size_t reference_length(const char *s, size_t len) {
	size_t n = len > 2 && s[0] == '$' && s[1] == '{' ? 2 : len > 1 && s[0] == '&' ? 1 : 0;
	char end = n == 2 ? '}' : ';';
	if (n == 0) {
		return 0;
	}
	while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.')) {
		n++;
	}
	return n < len && s[n] == end ? n + 1 : 0;
}

/* Replaces letters and digits.  A character after a backslash stays: it may be an escape. */
static void hide(struct span w) {
	for (size_t i = prefix_of_token(w.s, w.len); i < w.len; i++) {
		size_t skip = reference_length(w.s + i, w.len - i);
		if (skip > 0 || w.s[i] == '\\') {
			i += skip > 0 ? skip - 1 : 1;
		} else if (isalpha((unsigned char)w.s[i]) || (unsigned char)w.s[i] >= 0x80) {
			w.s[i] = 'x';
		} else if (isdigit((unsigned char)w.s[i])) {
			w.s[i] = '1';
		}
	}
}

static struct span from(struct span w, size_t at) {
	return (struct span){w.s + at, w.len - at};
}

static size_t until(struct span w, const char *stops) {
	size_t n = 0;
	while (n < w.len && strchr(stops, w.s[n]) == NULL) {
		n++;
	}
	return n;
}

static size_t last_at(struct span w) {
	size_t n = w.len;
	while (n > 0 && w.s[n - 1] != '@') {
		n--;
	}
	return n;
}

static bool is_number(struct span w) {
	size_t n = 0;
	while (n < w.len && isdigit((unsigned char)w.s[n])) {
		n++;
	}
	return n == w.len;
}

/* The length of the userinfo with its "@".  A password may contain a slash: then the text after
 * the first colon is not a port. */
static size_t userinfo_length(struct span w) {
	struct span authority = {w.s, until(w, "/?#")};
	size_t n = last_at(authority), colon = until(authority, ":");
	if (n == 0 && colon < authority.len && w.s[0] != '[' &&
	    !is_number(from(authority, colon + 1))) {
		n = last_at(w);
	}
	return n;
}

/* The part of a URL behind the host; the names of parameters stay. */
static void hide_tail(struct span w) {
	while (w.len > 0) {
		size_t n = until(w, "&?/#");
		struct span part = {w.s, n};
		size_t name = until(part, "=");
		hide(name < n ? from(part, name) : part);
		w = from(w, n < w.len ? n + 1 : n);
	}
}

/* "host:port/path" behind a scheme, or "host:path" of ssh. */
static void hide_address(struct span w, const char *ends_host) {
	size_t info = userinfo_length(w);
	hide((struct span){w.s, info});
	w = from(w, info);
	size_t host = until(w, ends_host);
	hide_tail(from(w, host));
}

static size_t scheme_length(struct span w) {
	const char *at = w.len < 4 ? NULL : memmem(w.s, w.len, "://", 3);
	return at == NULL ? 0 : (size_t)(at - w.s) + 3;
}

#define DELIMITERS " \t\r\n\"'`<>,;|()[]"

/* Of a text: all but URLs is kept; all but addresses with a login; nothing. */
enum keep { KEEP_KEY, KEEP_PATH, KEEP_NOTHING };

static void hide_word(struct span w, enum keep keep) {
	size_t scheme = scheme_length(w);
	if (scheme > 0) {
		hide_address(from(w, scheme), "/?#");
	} else if (prefix_of_token(w.s, w.len) > 0 ||
		   (keep == KEEP_NOTHING &&
		    !is_one_of(kept_words, ARRAY_LEN(kept_words), w.s, w.len))) {
		hide(w);
	} else if (keep == KEEP_PATH && last_at(w) > 0) {
		hide_address(w, ":/");
	}
}

static void hide_words(struct span w, enum keep keep) {
	while (w.len > 0) {
		size_t n = until(w, DELIMITERS);
		bool tag = n < w.len && w.s[n] == '<';
		hide_word((struct span){w.s, n}, keep);
		w = from(w, n < w.len ? n + 1 : n);
		if (tag) { /* its name stays */
			w = from(w, until(w, "> \t"));
		}
	}
}

/* The end of the key: at "=", before a URL or a quote; else at ": "; else, in a line that is not
 * indented, at a blank.  The length of the line when it has no key. */
static size_t key_length(struct span w, bool indented) {
	size_t equals = until(w, "=\"'"), blank = until(w, " \t");
	bool url = scheme_length((struct span){w.s, equals}) > 0;
	if (equals < w.len && w.s[equals] == '=' && !url) {
		return equals;
	}
	if (blank > 0 && w.s[blank - 1] == ':') {
		return blank - 1;
	}
	return indented ? w.len : blank;
}

static bool is_kept_key(struct span key) {
	while (key.len > 0 && strchr(" \t\"':", key.s[key.len - 1]) != NULL) {
		key.len--;
	}
	size_t start = key.len; /* of the last part of a dotted key */
	while (start > 0 && strchr(".\"'", key.s[start - 1]) == NULL) {
		start--;
	}
	key = from(key, start);
	return is_one_of(kept_keys, ARRAY_LEN(kept_keys), key.s, key.len);
}

/* The form of a text: its only line may be a path; an element of XML may hold any line. */
enum form { FORM_LINES, FORM_ONE_LINE, FORM_XML };

static void hide_line(struct span w, enum form form) {
	size_t indent = 0;
	while (indent < w.len && (w.s[indent] == ' ' || w.s[indent] == '\t')) {
		indent++;
	}
	w = from(w, indent);
	if (w.len == 0) {
		return;
	}
	size_t key = key_length(w, indent > 0);
	if (form != FORM_XML && w.s[0] == '[') {
		key = until(w, "]");
		hide_words((struct span){w.s, key}, KEEP_KEY);
		hide_words(from(w, key), KEEP_NOTHING);
	} else if (form == FORM_ONE_LINE && (w.s[0] == '.' || w.s[0] == '/')) {
		hide_words(w, KEEP_PATH); /* git keeps such a path in a file */
	} else if (form == FORM_XML || strchr("#;<-", w.s[0]) != NULL || key == w.len) {
		hide_words(w, KEEP_NOTHING); /* a comment, an element, a continued value */
	} else {
		bool path = is_kept_key((struct span){w.s, key});
		hide_words((struct span){w.s, key}, KEEP_KEY);
		key += key < w.len; /* "=" or ":" is no part of the first word */
		hide_words(from(w, key), path ? KEEP_PATH : KEEP_NOTHING);
	}
}

static enum form form_of(struct span w) {
	size_t start = 0;
	while (start < w.len && isspace((unsigned char)w.s[start])) {
		start++;
	}
	if (start < w.len && w.s[start] == '<') {
		return FORM_XML;
	}
	return until(w, "\n") + 1 >= w.len ? FORM_ONE_LINE : FORM_LINES;
}

static void hide_lines(struct span w) {
	enum form form = form_of(w);
	while (w.len > 0) {
		size_t n = until(w, "\n");
		hide_line((struct span){w.s, n}, form);
		w = from(w, n < w.len ? n + 1 : n);
	}
}

void snapshot_mask(char *text, size_t len) {
	hide_lines((struct span){text, len});
}

void snapshot_mask_value(const char *name, char *text, size_t len) {
	bool kept = is_one_of(kept_keys, ARRAY_LEN(kept_keys), name, strlen(name));
	hide_words((struct span){text, len}, kept ? KEEP_PATH : KEEP_NOTHING);
}
