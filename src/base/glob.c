/* SPDX-License-Identifier: Apache-2.0 */
/* Parses glob patterns and matches them against paths.
 *
 * Should:   take names as bytes; "?" and "[…]" match one UTF-8 character.
 * Must not: allocate, recurse or take more time than the product of both lengths when it
 *           matches: the broker does it while a system call of the command waits.
 * Fails:    closed: an ambiguous pattern is an error, because a rule that silently matches
 *           nothing protects nothing. */
#include "base/glob.h"

#include "base/auto.h"
#include "base/str.h"

#include <string.h>

#define WHERE "pattern"

bool glob_has_magic(const char *text) {
	return strpbrk(text, "*?[{\\") != NULL;
}

char *glob_escape(struct arena *a, const char *text) {
	char *out = arena_alloc(a, 2 * strlen(text) + 1);
	size_t n = 0;

	for (const char *p = text; out != NULL && *p != '\0'; p++) {
		if (strchr("*?[{\\", *p) != NULL) {
			out[n++] = '\\';
		}
		out[n++] = *p;
	}
	return out;
}

/* ---- characters ---- */

static unsigned folded(unsigned c) {
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

unsigned glob_character(const char *s, size_t left, size_t *ret_len) {
	const unsigned char *p = (const unsigned char *)s;
	size_t n = str_utf8_length(p, left);
	static const unsigned lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};

	*ret_len = n == 0 ? 1 : n;
	if (n == 0) {
		return GLOB_NOT_TEXT + p[0];
	}
	unsigned c = p[0] & lead[n];
	for (size_t i = 1; i < n; i++) {
		c = c << 6 | (p[i] & 0x3fU);
	}
	return c;
}

/* ---- classes ---- */

static bool is_lower(unsigned c) {
	return c >= 'a' && c <= 'z';
}

static bool is_upper(unsigned c) {
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(unsigned c) {
	return c >= '0' && c <= '9';
}

static bool is_alpha(unsigned c) {
	return is_lower(c) || is_upper(c);
}

static bool is_alnum(unsigned c) {
	return is_alpha(c) || is_digit(c);
}

static bool is_space(unsigned c) {
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_punct(unsigned c) {
	return c > ' ' && c < 0x7f && !is_alnum(c);
}

static bool is_xdigit(unsigned c) {
	return is_digit(c) || (folded(c) >= 'a' && folded(c) <= 'f');
}

static const struct {
	const char *name; /* with its brackets and colons */
	bool (*has)(unsigned c);
} classes[] = {
	{"[:alnum:]", is_alnum}, {"[:alpha:]", is_alpha},   {"[:digit:]", is_digit},
	{"[:lower:]", is_lower}, {"[:punct:]", is_punct},   {"[:space:]", is_space},
	{"[:upper:]", is_upper}, {"[:xdigit:]", is_xdigit},
};

static size_t named_class(const char *p, size_t left, size_t *ret) {
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		size_t n = strlen(classes[i].name);
		if (left >= n && memcmp(p, classes[i].name, n) == 0) {
			*ret = i;
			return n;
		}
	}
	return 0;
}

/* One end of a range. */
static unsigned member(const char *p, size_t left, size_t *ret_len) {
	if (p[0] == '\\' && left > 1) {
		unsigned c = glob_character(p + 1, left - 1, ret_len);
		*ret_len += 1;
		return c;
	}
	return glob_character(p, left, ret_len);
}

static bool in_range(unsigned c, unsigned low, unsigned high, bool fold) {
	if (c >= low && c <= high) {
		return true;
	}
	if (!fold || !is_alpha(c)) {
		return false;
	}
	unsigned other = c ^ 0x20U;
	return other >= low && other <= high;
}

size_t glob_class(const char *p, size_t left, unsigned c, bool fold, bool *ret) {
	size_t at = 1;
	bool negated = left > 1 && (p[1] == '!' || p[1] == '^');
	bool has = false;

	at += negated;
	for (size_t first = at; at < left && (p[at] != ']' || at == first);) {
		size_t row, n = named_class(p + at, left - at, &row);
		if (n > 0) {
			has = has || classes[row].has(c) ||
			      (fold && is_alpha(c) && classes[row].has(c ^ 0x20U));
			at += n;
			continue;
		}
		unsigned low = member(p + at, left - at, &n), high = low;
		at += n;
		if (at + 1 < left && p[at] == '-' && p[at + 1] != ']') {
			high = member(p + at + 1, left - at - 1, &n);
			at += 1 + n;
		}
		if (high < low) {
			return 0;
		}
		has = has || in_range(c, low, high, fold);
	}
	if (at >= left) {
		return 0;
	}
	*ret = has != negated;
	return at + 1;
}

/* ---- one name ---- */

static bool same_bytes(const char *a, const char *b, size_t len, bool fold) {
	if (!fold) {
		return memcmp(a, b, len) == 0;
	}
	for (size_t i = 0; i < len; i++) {
		if (folded((unsigned char)a[i]) != folded((unsigned char)b[i])) {
			return false;
		}
	}
	return true;
}

struct bytes {
	const char *at;
	size_t len;
};

/* One piece of the pattern against the first character of a text that is not empty.
 * Returns the piece's length, 0 when it does not match. */
static size_t piece_match(struct bytes p, struct bytes text, bool fold, size_t *ret_taken) {
	bool has = false;
	unsigned c = glob_character(text.at, text.len, ret_taken);

	if (p.at[0] == '?') {
		return 1;
	}
	if (p.at[0] == '[') {
		size_t n = glob_class(p.at, p.len, c, fold, &has);
		return has ? n : 0;
	}
	size_t n;
	unsigned want = member(p.at, p.len, &n);
	return want == c || (fold && folded(want) == folded(c)) ? n : 0;
}

/* Backtracks to the last star only: a match never needs an earlier star to grow. */
static bool pattern_match(const struct glob_name *g, const char *s, size_t len, bool fold) {
	const char *p = g->text;
	size_t at = 0, in = 0, star = SIZE_MAX, star_in = 0, taken;

	while (in < len || at < g->len) {
		if (at < g->len && p[at] == '*') {
			star = ++at;
			star_in = in;
			continue;
		}
		size_t n = 0;
		if (at < g->len && in < len) {
			n = piece_match((struct bytes){p + at, g->len - at},
					(struct bytes){s + in, len - in}, fold, &taken);
		}
		if (n > 0) {
			at += n;
			in += taken;
			continue;
		}
		if (star == SIZE_MAX || star_in >= len) {
			return false;
		}
		(void)glob_character(s + star_in, len - star_in, &taken);
		star_in += taken;
		at = star;
		in = star_in;
	}
	return true;
}

static bool name_match(const struct glob_name *g, const char *s, size_t len, bool fold) {
	switch (g->kind) {
	case GLOB_DEPTH:
		return true;
	case GLOB_LITERAL:
		return len == g->len && same_bytes(g->text, s, len, fold);
	case GLOB_ENDING:
		return len >= g->len && same_bytes(g->text, s + len - g->len, g->len, fold);
	case GLOB_PATTERN:
		break;
	}
	return pattern_match(g, s, len, fold);
}

/* ---- parsing ---- */

static int bad(const char *text, const char *why, const char *fix, struct err *e) {
	err_set(e, ERR_USAGE, WHERE, "%s: %s", text, why);
	return err_fix(e, "%s", fix);
}

static int check_name(const char *whole, const char *p, size_t len, struct err *e) {
	bool has;

	for (size_t at = 0; at < len;) {
		size_t n = 1;
		if (p[at] == '[') {
			n = glob_class(p + at, len - at, 0, false, &has);
			if (n == 0) {
				return bad(whole,
					   "a class that begins with [ has no end, or is empty",
					   "close it with ], or write \\[ for the character", e);
			}
		} else if (p[at] == '{') {
			return bad(whole, "patterns do not support braces",
				   "write one pattern for each, or \\{ for the character", e);
		} else if (p[at] == '*' && at + 1 < len && p[at + 1] == '*') {
			return bad(whole, "** stands for whole names",
				   "write it between slashes, as in **/*.key", e);
		} else if (p[at] == '\\') {
			if (at + 1 == len) {
				return bad(whole, "the pattern ends with a backslash",
					   "write \\\\ for the character", e);
			}
			n = 2;
		}
		at += n;
	}
	return 0;
}

static bool is_magic(char c) {
	return c == '*' || c == '?' || c == '[';
}

static bool is_plain(const char *p, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if (is_magic(p[i]) || p[i] == '\\') {
			return false;
		}
	}
	return true;
}

/* Removes the backslashes of a literal name. */
static int unescape(struct arena *a, struct glob_name *g) {
	char *out = arena_alloc(a, g->len + 1);
	size_t n = 0;

	if (out == NULL) {
		return -1;
	}
	for (size_t i = 0; i < g->len; i++) {
		i += g->text[i] == '\\';
		out[n++] = g->text[i];
	}
	g->text = out;
	g->len = n;
	return 0;
}

static bool only_escapes(const char *p, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '\\') {
			i++;
		} else if (is_magic(p[i])) {
			return false;
		}
	}
	return true;
}

/* Equal names have the same bit, also if they differ in the case of ASCII letters: by its length
 * and three of its characters, with the bit that such letters differ in. */
static uint64_t bit_of(const char *name, size_t len) {
	if (len == 0) {
		return 0;
	}
	size_t first = (unsigned char)name[0] | 0x20U,
	       middle = (unsigned char)name[len / 2] | 0x20U,
	       last = (unsigned char)name[len - 1] | 0x20U;

	return (uint64_t)1 << ((len + 5 * first + 11 * middle + 23 * last) & 63);
}

static uint64_t bits_needed(const struct glob_name *names, size_t count) {
	uint64_t bits = 0;

	for (size_t i = 0; i < count; i++) {
		bits |= names[i].kind == GLOB_LITERAL ? bit_of(names[i].text, names[i].len) : 0;
	}
	return bits;
}

/* The bytes up to the next slash.  Not strcspn(): a plan parses hundreds of short names. */
static size_t name_length(const char *p) {
	size_t n = 0;

	while (p[n] != '/' && p[n] != '\0') {
		n++;
	}
	return n;
}

static const char *after_slashes(const char *p) {
	while (*p == '/') {
		p++;
	}
	return p;
}

static int parse_name(struct arena *a, const char *p, size_t len, struct glob_name *ret) {
	*ret = (struct glob_name){.kind = GLOB_PATTERN, .text = p, .len = len};
	if (len == 2 && memcmp(p, "**", 2) == 0) {
		ret->kind = GLOB_DEPTH;
	} else if (only_escapes(p, len)) {
		ret->kind = GLOB_LITERAL;
		return is_plain(p, len) ? 0 : unescape(a, ret);
	} else if (p[0] == '*' && is_plain(p + 1, len - 1)) {
		*ret = (struct glob_name){.kind = GLOB_ENDING, .text = p + 1, .len = len - 1};
	}
	return 0;
}

static size_t count_names(const char *text) {
	size_t n = 0;
	for (const char *p = after_slashes(text); *p != '\0'; p = after_slashes(p)) {
		p += name_length(p);
		n++;
	}
	return n;
}

int glob_parse(struct arena *a, const char *text, bool fold, struct glob *ret, struct err *e) {
	static const struct glob_name any = {.kind = GLOB_ENDING, .text = "", .len = 0};
	size_t count = count_names(text), n = 0;

	if (count == 0) {
		return bad(text, "the pattern is empty", "write a name or a path", e);
	}
	if (count >= GLOB_NAMES_MAX) {
		return bad(text, "the pattern has too many names", "shorten it", e);
	}
	char *copy = arena_strdup(a, text);
	struct glob_name *names = arena_array(a, count + 1, sizeof *names);
	if (copy == NULL || names == NULL) {
		return err_memory(e, WHERE);
	}
	for (const char *p = after_slashes(copy); *p != '\0'; p = after_slashes(p)) {
		size_t len = name_length(p);
		bool depth = len == 2 && memcmp(p, "**", 2) == 0;
		if (!depth && check_name(text, p, len, e) != 0) {
			return -1;
		}
		if (parse_name(a, p, len, &names[n]) != 0) {
			return err_memory(e, WHERE);
		}
		/* A second "**" in a row adds nothing. */
		n += !(depth && n > 0 && names[n - 1].kind == GLOB_DEPTH);
		p += len;
	}
	if (names[n - 1].kind == GLOB_DEPTH) {
		names[n++] = any; /* matches entries of the directory, not itself */
	}
	*ret = (struct glob){
		.names = names, .count = n, .fold = fold, .need = bits_needed(names, n)};
	return 0;
}

struct glob glob_from(const struct glob *g, size_t first) {
	struct glob part = {.names = g->names + first, .count = g->count - first, .fold = g->fold};

	part.need = bits_needed(part.names, part.count);
	return part;
}

/* ---- walking ---- */

/* "**" also matches zero names. */
static glob_set closed(const struct glob *g, glob_set at) {
	for (size_t i = 0; i < g->count; i++) {
		if ((at >> i & 1) != 0 && g->names[i].kind == GLOB_DEPTH) {
			at |= (glob_set)1 << (i + 1);
		}
	}
	return at;
}

glob_set glob_start(const struct glob *g) {
	return closed(g, 1);
}

glob_set glob_step(const struct glob *g, glob_set at, const char *name, size_t len) {
	glob_set next = 0;

	if (glob_matched(g, at)) {
		return at;
	}
	for (size_t i = 0; i < g->count && at >> i != 0; i++) {
		if ((at >> i & 1) == 0) {
			continue;
		}
		if (g->names[i].kind == GLOB_DEPTH) {
			next |= (glob_set)1 << i;
		} else if (name_match(&g->names[i], name, len, g->fold)) {
			next |= (glob_set)1 << (i + 1);
		}
	}
	return closed(g, next);
}

glob_set glob_walk(const struct glob *g, const char *path) {
	glob_set at = glob_start(g);

	for (const char *p = after_slashes(path); *p != '\0' && at != 0;) {
		size_t len = name_length(p);
		at = glob_step(g, at, p, len);
		p = after_slashes(p + len);
	}
	return at;
}

/* ---- many patterns on one path ---- */

void glob_path_split(struct glob_path *p, const char *path) {
	p->count = 0;
	p->deeper = false;
	p->has = 0;
	for (path += *path == '/'; *path != '\0'; path += *path == '/') {
		const char *end = path;
		while (*end != '\0' && *end != '/') {
			end++;
		}
		if (p->count == GLOB_PATH_NAMES) {
			p->deeper = true;
			p->has = UINT64_MAX;
			return;
		}
		p->names[p->count].at = path;
		p->names[p->count++].len = (size_t)(end - path);
		p->has |= bit_of(path, (size_t)(end - path));
		path = end;
	}
}

/* The fast path for "**" and one name, the most frequent form. */
static bool any_name_matches(const struct glob *g, const struct glob_path *p, size_t skip) {
	for (size_t i = skip; i < p->count; i++) {
		if (name_match(&g->names[1], p->names[i].at, p->names[i].len, g->fold)) {
			return true;
		}
	}
	return false;
}

bool glob_matches(const struct glob *g, const struct glob_path *p, size_t skip) {
	if (g->count == 2 && g->names[0].kind == GLOB_DEPTH) {
		return any_name_matches(g, p, skip);
	}
	glob_set at = glob_start(g);
	for (size_t i = skip; i < p->count && at != 0 && !glob_matched(g, at); i++) {
		at = glob_step(g, at, p->names[i].at, p->names[i].len);
	}
	return glob_matched(g, at);
}
