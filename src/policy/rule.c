/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one rule of fs.deny or fs.protect: a path, a pattern, a set, or an exception.
 *
 * Should:   convert a pattern to one of two forms: absolute, or with "**" first,
 *           which matches beneath the workspace and every granted tree.
 * Must not: look at the file system: a rule also holds for files that are created later.
 * Fails:    closed: a text that cannot be parsed is an error, never a rule without effect. */
#include "policy/internal.h"

#include "base/glob.h"
#include "base/str.h"
#include "data/names.h"

#include <stdio.h>

/* A '?' at the very end is no pattern: it means that the path may be missing. */
static bool is_pattern(const char *text) {
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\\') {
			p += p[1] != '\0';
		} else if (strchr("*[{", *p) != NULL || (*p == '?' && p[1] != '\0')) {
			return true;
		}
	}
	return false;
}

static int append_item(const struct where *w, const struct key *k, struct item item,
		       struct value *v, struct err *e) {
	item.origin = w->origin;
	return value_put(w->a, k, v, &item, e);
}

/* ---- sets ---- */

static int append_set(const struct where *w, const struct key *k, const char *name, bool except,
		      struct value *v, struct err *e) {
	if (name_set_find(name) == NULL) {
		char known[200] = "";
		size_t at = 0;
		for (size_t i = 0; i < name_sets_count && at < sizeof known; i++) {
			at += (size_t)snprintf(known + at, sizeof known - at, "%s@%s",
					       i > 0 ? ", " : "", name_sets[i].name);
		}
		(void)value_refuse(w, k, name, "unknown set", e);
		return err_fix(e, "use one of %s", known);
	}
	return append_item(w, k, (struct item){.str = name, .kind = ITEM_SET, .except = except}, v,
			   e);
}

/* ---- patterns ---- */

/* Removes "//", "." and trailing slashes; NULL for "..", which patterns do not support. */
static char *normalize(struct arena *a, const char *text) {
	char *out = arena_alloc(a, strlen(text) + 2);
	size_t n = 0;
	for (const char *p = text; out != NULL && *p != '\0';) {
		size_t len = strcspn(p, "/");
		if (len == 2 && memcmp(p, "..", 2) == 0) {
			return NULL;
		}
		if (len > 0 && !(len == 1 && *p == '.')) {
			if (n > 0 || text[0] == '/') {
				out[n++] = '/';
			}
			memcpy(out + n, p, len);
			n += len;
		}
		p += len + (p[len] == '/');
	}
	return out;
}

/* The pattern made absolute, or with "**" first. */
static const char *anchor(const struct where *w, const char *text) {
	const char *base = w->base;
	if (text[0] == '/' || str_starts(text, "**/") || streq(text, "**")) {
		return text;
	}
	if (strchr(text, '/') == NULL) {
		return arena_printf(w->a, "**/%s", text);
	}
	if (str_starts(text, "~/")) {
		base = w->home;
		text += 2;
	}
	const char *dir = base == NULL ? NULL : glob_escape(w->a, base);
	return dir == NULL ? NULL : arena_printf(w->a, "%s/%s", streq(dir, "/") ? "" : dir, text);
}

static int append_pattern(const struct where *w, const struct key *k, const char *text, bool except,
			  struct value *v, struct err *e) {
	struct glob probe;
	if (str_starts(text, "~/") && w->home == NULL) {
		return value_refuse(w, k, text, "cannot expand ~: there is no home directory", e);
	}
	char *clean = normalize(w->a, text);
	if (clean == NULL) {
		(void)value_refuse(w, k, text, "a pattern must not contain ..", e);
		return err_fix(e, "write the path without ..");
	}
	if (clean[0] == '\0') {
		return value_refuse(w, k, text, "the pattern is empty", e);
	}
	struct err inner = {0};
	const char *pattern = anchor(w, clean);
	if (pattern == NULL) {
		return err_memory(e, "policy");
	}
	if (glob_parse(w->a, pattern, false, &probe, &inner) != 0) {
		(void)value_refuse(w, k, text, inner.what, e);
		return err_fix(e, "%s", inner.fix);
	}
	return append_item(
		w, k, (struct item){.str = pattern, .kind = ITEM_PATTERN, .except = except}, v, e);
}

/* ---- paths ---- */

static int append_path(const struct where *w, const struct key *k, const char *text,
		       struct value *v, struct err *e) {
	char *plain = arena_alloc(w->a, strlen(text) + 1);
	struct item item = {.kind = ITEM_PLAIN};
	size_t len = 0;
	if (plain == NULL) {
		return err_memory(e, "policy");
	}
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\\' && (p[1] == '\0' || strchr("*?[{\\!@", p[1]) == NULL)) {
			return value_refuse(
				w, k, text,
				"a backslash is allowed only before *, ?, [, {, !, @ or \\", e);
		}
		if (*p == '?' && p[1] == '\0') {
			item.optional = true;
			break;
		}
		p += *p == '\\';
		plain[len++] = *p;
	}
	if (value_path(w, k, plain, &item.str, e) != 0) {
		return -1;
	}
	return append_item(w, k, item, v, e);
}

int rule_from_text(const struct where *w, const struct key *k, const char *text, struct value *v,
		   struct err *e) {
	bool except = text[0] == '!';
	const char *rest = text + except;
	if (rest[0] == '@') {
		char *name = arena_strdup(w->a, rest + 1);
		return name == NULL ? err_memory(e, "policy")
				    : append_set(w, k, name, except, v, e);
	}
	if (except || is_pattern(rest)) {
		return append_pattern(w, k, rest, except, v, e);
	}
	return append_path(w, k, rest, v, e);
}
