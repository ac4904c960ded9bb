/* SPDX-License-Identifier: Apache-2.0 */
/* Translates a glob pattern (base/glob.h) into a regular expression for Seatbelt.
 *
 * Should:   match the same paths, for names that are UTF-8, as APFS and HFS+ require.
 * Must not: use more than literals, classes, groups, "|", "*", "+", "^" and "$": the expressions of
 *           Seatbelt are not documented, and these are the ones that profiles of Apple have.
 * Fails:    never; buf.h records that memory is out.
 *
 * Seatbelt compares bytes.  So a class of characters above ASCII becomes alternatives of classes of
 * bytes, one for each length and prefix of their UTF-8 forms. */
#include "plan/seatbelt/internal.h"

#include "base/auto.h"
#include "base/str.h"

#include <string.h>

#define LAST_CHARACTER 0x10ffffU
#define SURROGATE_FIRST 0xd800U
#define SURROGATE_LAST 0xdfffU

static void add_byte(struct buf *out, unsigned char c) {
	if (strchr("\\^$.[]|()*+?{}", c) != NULL) {
		buf_puts(out, "\\");
	}
	buf_add(out, &c, 1);
}

static bool is_letter(unsigned char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void add_literal(struct buf *out, const char *text, size_t len, bool fold) {
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (fold && is_letter(c)) {
			const char both[] = {'[', (char)(c | 0x20U), (char)(c & ~0x20U), ']'};
			buf_add(out, both, sizeof both);
		} else {
			add_byte(out, c);
		}
	}
}

/* ---- classes ---- */

/* Special in a class, in one dialect or another: they become alternatives beside it. */
static bool is_special(unsigned c) {
	return c == '\\' || c == ']' || c == '[' || c == '^' || c == '-';
}

/* The bytes low to high, within a class; the special ones are left out. */
static void add_bytes(struct buf *out, unsigned low, unsigned high) {
	for (unsigned at = low; at <= high;) {
		unsigned end = at;
		if (is_special(at)) {
			at++;
			continue;
		}
		while (end < high && !is_special(end + 1)) {
			end++;
		}
		const unsigned char range[] = {(unsigned char)at, '-', (unsigned char)end};
		buf_add(out, range, end == at ? 1 : sizeof range);
		at = end + 1;
	}
}

static void add_byte_class(struct buf *out, unsigned low, unsigned high) {
	if (low == high) {
		add_byte(out, (unsigned char)low);
		return;
	}
	buf_puts(out, "[");
	add_bytes(out, low, high);
	buf_puts(out, "]");
}

static size_t utf8_length(unsigned c) {
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static void utf8_bytes(unsigned c, size_t n, unsigned char out[4]) {
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n; i-- > 1;) {
		out[i] = (unsigned char)(0x80U | (c & 0x3fU));
		c >>= 6;
	}
	out[0] = (unsigned char)(lead[n] | c);
}

/* Characters of one piece (piece_end): one class for each byte of their form. */
static void add_sequence(struct buf *out, unsigned low, unsigned high) {
	size_t n = utf8_length(low);
	unsigned char from[4], to[4];
	utf8_bytes(low, n, from);
	utf8_bytes(high, n, to);
	buf_puts(out, "|");
	for (size_t i = 0; i < n; i++) {
		add_byte_class(out, from[i], to[i]);
	}
}

/* The last character of the greatest piece from `low` on that is one sequence of byte classes. */
static unsigned piece_end(unsigned low, unsigned high) {
	static const unsigned ends[] = {0x7f, 0x7ff, 0xffff, LAST_CHARACTER};
	unsigned limit = ends[utf8_length(low) - 1];
	unsigned end = low;
	if (limit > high) {
		limit = high;
	}
	/* Widths of the last one, two and three continuation bytes, from the widest. */
	for (unsigned bits = 18;; bits -= 6) {
		unsigned width = bits == 0 ? 1 : 1U << bits, mask = width - 1;
		if ((low & mask) == 0 && limit - low >= mask) {
			/* Whole blocks, as long as the byte before them does not carry over. */
			unsigned room = 64 - ((low >> bits) & 0x3fU);
			if (bits == 6 * (unsigned)(utf8_length(low) - 1)) {
				room = UINT32_MAX; /* the lead byte */
			}
			unsigned blocks = (limit - low + 1) / width;
			end = low + (blocks < room ? blocks : room) * width - 1;
			return end;
		}
		if (bits == 0) {
			return end;
		}
	}
}

static void add_range_above(struct buf *out, unsigned low, unsigned high) {
	while (low <= high) {
		unsigned end = piece_end(low, high);
		add_sequence(out, low, end);
		low = end + 1;
	}
}

struct char_set {
	const char *class; /* NULL: every character */
	size_t len;
	bool fold;
};

static bool set_has(const struct char_set *s, unsigned c) {
	bool has = true;
	if (c == '/' || c == 0 || (c >= SURROGATE_FIRST && c <= SURROGATE_LAST)) {
		return false; /* not in a name */
	}
	if (s->class != NULL) {
		(void)glob_class(s->class, s->len, c, s->fold, &has);
	}
	return has;
}

/* The next character above ASCII at which the answer may change: the class names it or the one
 * before it. */
static unsigned next_edge(const struct char_set *s, unsigned after) {
	unsigned edge = LAST_CHARACTER + 1;
	const unsigned fixed[] = {SURROGATE_FIRST, SURROGATE_LAST + 1};
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		edge = fixed[i] > after && fixed[i] < edge ? fixed[i] : edge;
	}
	for (size_t at = 0, n; s->class != NULL && at < s->len; at += n) {
		unsigned c = glob_character(s->class + at, s->len - at, &n);
		edge = c > after && c < edge ? c : edge;
		edge = c >= after && c + 1 > after && c + 1 < edge ? c + 1 : edge;
	}
	return edge;
}

static bool add_above_ascii(struct buf *out, const struct char_set *s) {
	bool any = false;
	for (unsigned low = 0x80; low <= LAST_CHARACTER;) {
		unsigned next = next_edge(s, low);
		if (set_has(s, low)) {
			add_range_above(out, low, next - 1);
			any = true;
		}
		low = next;
	}
	return any;
}

static bool add_ascii(struct buf *out, const struct char_set *s) {
	struct buf class;
	buf_init(&class);
	for (unsigned low = 1; low < 0x80;) {
		unsigned high = low;
		while (high + 1 < 0x80 && set_has(s, high + 1) == set_has(s, low)) {
			high++;
		}
		if (set_has(s, low)) {
			add_bytes(&class, low, high);
		}
		low = high + 1;
	}
	if (class.len > 0) {
		buf_puts(out, "|[");
		buf_add(out, class.data, class.len);
		buf_puts(out, "]");
	}
	bool any = class.len > 0;
	out->failed = out->failed || class.failed;
	buf_done(&class);
	return any;
}

/* The alternatives; each begins with "|". */
static bool add_alternatives(struct buf *out, const struct char_set *s) {
	bool any = add_ascii(out, s);
	for (unsigned c = 1; c < 0x80; c++) {
		if (is_special(c) && set_has(s, c)) {
			buf_puts(out, "|");
			add_byte(out, (unsigned char)c);
			any = true;
		}
	}
	return add_above_ascii(out, s) || any;
}

/* A set without a member becomes "//", which no canonical path has. */
static void add_set(struct buf *out, const struct char_set *s) {
	struct buf all;
	buf_init(&all);
	bool any = add_alternatives(&all, s);
	buf_puts(out, "(");
	buf_puts(out, !any || all.failed ? "//" : all.data + 1);
	buf_puts(out, ")");
	out->failed = out->failed || all.failed;
	buf_done(&all);
}

/* ---- names ---- */

static size_t class_length(const char *p, size_t left) {
	bool has;
	return glob_class(p, left, 'a', false, &has);
}

static void add_pattern(struct buf *out, const char *p, size_t len, bool fold) {
	for (size_t at = 0, n; at < len; at += n) {
		n = 1;
		switch (p[at]) {
		case '*':
			buf_puts(out, "[^/]*");
			break;
		case '?':
			add_set(out, &(struct char_set){NULL, 0, false});
			break;
		case '[':
			n = class_length(p + at, len - at);
			add_set(out, &(struct char_set){p + at, n, fold});
			break;
		case '\\':
			n = 2;
			add_literal(out, p + at + 1, 1, fold);
			break;
		default:
			add_literal(out, p + at, 1, fold);
		}
	}
}

static void add_name(struct buf *out, const struct glob_name *name, bool fold) {
	switch (name->kind) {
	case GLOB_DEPTH:
		return;
	case GLOB_LITERAL:
		add_literal(out, name->text, name->len, fold);
		return;
	case GLOB_ENDING:
		/* "*" alone matches no empty name, and a path has none. */
		buf_puts(out, name->len == 0 ? "[^/]+" : "[^/]*");
		add_literal(out, name->text, name->len, fold);
		return;
	case GLOB_PATTERN:
		break;
	}
	add_pattern(out, name->text, name->len, fold);
}

void seatbelt_regex_path(struct buf *out, const char *path) {
	buf_puts(out, "^");
	add_literal(out, path, strlen(path), false);
	buf_puts(out, "$");
}

void seatbelt_regex(struct buf *out, const char *anchor, const struct glob *g, size_t count,
		    bool whole) {
	buf_puts(out, "^");
	if (!streq(anchor, "/")) {
		add_literal(out, anchor, strlen(anchor), false);
	}
	buf_puts(out, "/");
	for (size_t i = 0; i < count; i++) {
		if (g->names[i].kind == GLOB_DEPTH) {
			buf_puts(out, "([^/]+/)*");
			continue;
		}
		add_name(out, &g->names[i], g->fold);
		if (i + 1 < count) {
			buf_puts(out, "/");
		}
	}
	buf_puts(out, whole ? "($|/)" : "$");
}
