/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the parts of a text that may be encoded.
 *
 * Base64: LEAK_BASE64_MIN characters of either alphabet.  A line break joins two lines when that
 * many characters stand directly before it (base64(1) wraps its output); each line is also a part
 * of its own, because two secrets may stand on two lines.  Hexadecimal lies inside of such a part.
 * Percent-encoding and JSON escapes: the text around each escape.  UTF-16: every second byte is
 * NUL.
 *
 * Should:   find every encoded secret of view.h, also one whose end is not known yet.
 * Must not: depend on where the text was cut, beyond LEAK_VIEW_BACK bytes.
 * Fails:    never. */
#include "leak/view.h"

#include <string.h>

/* \uXXXX; an escape directly before a secret counts. */
#define ESCAPE_MAX 6U

enum {
	BASE64 = 1,
	HEX = 2,
	/* Base64: the character fits at this place of a group of three bytes of ASCII. */
	FIRST = 4,
	SECOND = 8,
	THIRD = 16,
};

/* clang-format off */
static const unsigned char classes[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1,
	27, 27, 11, 11, 19, 19, 3, 3, 19, 19, 0, 0, 0, 0, 0, 0,
	0, 31, 31, 15, 15, 31, 31, 13, 13, 21, 21, 5, 5, 21, 21, 5,
	5, 29, 29, 13, 13, 29, 29, 13, 13, 21, 21, 0, 0, 0, 0, 1,
	0, 7, 7, 23, 23, 7, 7, 25, 25, 9, 9, 25, 25, 9, 9, 17,
	17, 1, 1, 17, 17, 1, 1, 25, 25, 9, 9, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};
/* clang-format on */

static bool is(unsigned char c, unsigned class) {
	return (classes[c] & class) != 0;
}

static size_t least(unsigned class) {
	return class == BASE64 ? LEAK_BASE64_MIN : LEAK_HEX_MIN;
}

/* The end of the characters of a class that begin at `at`, and of the lines that continue them. */
static size_t part_end(const struct leak_text *t, size_t at, unsigned class, bool *ret_final) {
	size_t min = least(class);

	for (;;) {
		size_t line = at;
		while (at < t->len && is(t->data[at], class)) {
			at++;
		}
		size_t next = at;
		if (at - line >= min && next < t->len && t->data[next] == '\r') {
			next++;
		}
		if (at - line >= min && next < t->len && t->data[next] == '\n') {
			next++;
		}
		if (next == t->len) {
			*ret_final = t->final;
			return t->final ? at : next;
		}
		if (next == at || t->data[next - 1] != '\n' || !is(t->data[next], class)) {
			*ret_final = true;
			return at;
		}
		at = next;
	}
}

/* False when no secret can be in base64 of this alignment: every kind is ASCII, and bytes of ASCII
 * leave three bits of each group of four characters 0.  Most names and paths fail here. */
static bool may_be_ascii(const struct leak_finder *f, size_t at, size_t end) {
	const unsigned char *p = f->text->data;
	unsigned good = 0;

	for (; at + 4 <= end; at += 4) {
		bool ascii = (classes[p[at]] & FIRST) != 0 && (classes[p[at + 1]] & SECOND) != 0 &&
			     (classes[p[at + 2]] & THIRD) != 0;
		good = ascii ? good + 1 : 0;
		if (good >= f->groups) {
			return true;
		}
	}
	return false;
}

/* One region for each alignment: the first characters begin one each. */
static void each_alignment(const struct leak_finder *f, enum leak_view view, size_t start,
			   size_t end, bool final) {
	const unsigned char *p = f->text->data;
	unsigned count = view == LEAK_BASE64 ? 4 : 2;
	bool check = view == LEAK_BASE64 && final && memchr(p + start, '\n', end - start) == NULL;

	for (size_t at = start; at < end && count > 0; at++) {
		if (p[at] == '\n' || p[at] == '\r') {
			continue;
		}
		if (!check || may_be_ascii(f, at, end)) {
			f->fn(f->arg, &(struct leak_region){view, at, end, final});
		}
		count--;
	}
}

/* The whole part, and each of its lines if there are several. */
static void each_line(const struct leak_finder *f, enum leak_view view, size_t start, size_t end,
		      bool final) {
	const unsigned char *p = f->text->data;
	unsigned class = view == LEAK_BASE64 ? BASE64 : HEX;

	each_alignment(f, view, start, end, final);
	if (memchr(p + start, '\n', end - start) == NULL) {
		return;
	}
	for (size_t at = start; at < end;) {
		size_t line = at;
		while (at < end && is(p[at], class)) {
			at++;
		}
		bool known = final || at < end;
		if (at > f->low && at > line && (at - line >= least(class) || !known)) {
			each_alignment(f, view, line, at, known);
		}
		while (at < end && !is(p[at], class)) {
			at++;
		}
	}
}

static void hex_parts(const struct leak_finder *f, size_t start, size_t end) {
	const struct leak_text *t = f->text;

	for (size_t at = start; at < end;) {
		if (!is(t->data[at], HEX)) {
			at++;
			continue;
		}
		bool final;
		size_t first = at, line = at, stop = part_end(t, at, HEX, &final);
		while (line < stop && is(t->data[line], HEX)) {
			line++;
		}
		if (line - first >= LEAK_HEX_MIN || (!final && stop == t->len)) {
			each_line(f, LEAK_HEX, first, stop, final);
		}
		at = stop > at ? stop : at + 1;
	}
}

/* A part that begins at start; returns its end. */
static size_t base64_part(const struct leak_finder *f, size_t start) {
	bool final;
	size_t end = part_end(f->text, start, BASE64, &final);

	if (end > f->low) {
		each_line(f, LEAK_BASE64, start, end, final);
		if (end - start >= LEAK_HEX_MIN || !final) {
			hex_parts(f, start, end);
		}
	}
	return end;
}

/* ---- escapes ---- */

static bool is_percent(const struct leak_text *t, size_t at) {
	for (size_t i = at + 1; i < at + 3; i++) {
		if (i >= t->len) {
			return !t->final;
		}
		if (!is(t->data[i], HEX)) {
			return false;
		}
	}
	return true;
}

/* Enough characters of base64 for a line that continues. */
static bool ends_line(const struct leak_text *t, size_t at) {
	size_t n = 0;

	while (n < LEAK_BASE64_MIN && n < at && is(t->data[at - 1 - n], BASE64)) {
		n++;
	}
	return n == LEAK_BASE64_MIN;
}

/* Escapes of white space end a word in any case (match.c): they count only after a line of base64,
 * or if a kind that spans lines is near. */
static bool is_backslash(const struct leak_finder *f, size_t at) {
	const struct leak_text *t = f->text;
	size_t before = 0;

	if (at + 1 >= t->len) {
		return !t->final;
	}
	unsigned char c = t->data[at + 1];
	bool blank = c == 'n' || c == 't' || c == 'r';
	if (c != '"' && c != '\\' && c != '/' && c != 'u' &&
	    !(blank && (f->breaks || ends_line(t, at)))) {
		return false;
	}
	while (before < 64 && before < at && t->data[at - 1 - before] == '\\') {
		before++;
	}
	return before % 2 == 0;
}

struct segment {
	enum leak_view view;
	bool any;
	size_t start, last;
};

static void segment_done(const struct leak_finder *f, struct segment *s) {
	const struct leak_text *t = f->text;

	if (!s->any) {
		return;
	}
	size_t end = t->len - s->last > LEAK_ESCAPE_GAP + ESCAPE_MAX
			     ? s->last + LEAK_ESCAPE_GAP + ESCAPE_MAX
			     : t->len;
	f->fn(f->arg, &(struct leak_region){s->view, s->start, end, t->final && end == t->len});
	s->any = false;
}

static void segment_add(const struct leak_finder *f, struct segment *s, size_t at) {
	if (at + ESCAPE_MAX < f->low) {
		return;
	}
	if (s->any && at - s->last > 2 * LEAK_ESCAPE_GAP) {
		segment_done(f, s);
	}
	if (!s->any) {
		s->any = true;
		s->start = at - f->from > LEAK_ESCAPE_GAP + ESCAPE_MAX
				   ? at - LEAK_ESCAPE_GAP - ESCAPE_MAX
				   : f->from;
		while (s->start > f->from && f->text->data[s->start - 1] == '\\') {
			s->start--;
		}
	}
	s->last = at;
}

/* ---- UTF-16 ---- */

static bool is_pair(const struct leak_text *t, size_t at, bool big) {
	unsigned char low = t->data[at + big], high = t->data[at + !big];

	return high == 0 && low >= '\t' && low < 0x7f;
}

/* Both byte orders from a NUL on; returns where the search goes on. */
static size_t utf16_part(const struct leak_finder *f, size_t nul) {
	const struct leak_text *t = f->text;
	size_t next = nul + 1;

	for (int big = 0; big < 2; big++) {
		size_t start = big ? nul : nul - 1, end;
		if (!big && nul == f->from) {
			continue;
		}
		for (end = start; end + 1 < t->len && is_pair(t, end, big); end += 2) {
		}
		bool open = !t->final && t->len - end < 2 &&
			    (!big || end == t->len || t->data[end] == 0);
		if (end - start >= (size_t)2 * LEAK_UTF16_MIN || open) {
			f->fn(f->arg, &(struct leak_region){big ? LEAK_UTF16BE : LEAK_UTF16LE,
							    start, open ? t->len : end, !open});
			next = end > next ? end : next;
		}
	}
	return next;
}

/* ---- all ---- */

/* Bits where 24 characters of the class begin; `next` is the mask of the following 64 bytes. */
static uint64_t run_starts(uint64_t mask, uint64_t next) {
	__extension__ unsigned __int128 m = (unsigned __int128)next << 64 | mask;

	m &= m >> 1;
	m &= m >> 2;
	m &= m >> 4;
	m &= m >> 8;
	return (uint64_t)(m & m >> 8);
}

/* The masks of the bytes from `at` on; bytes beyond the end are NUL and not counted. */
static void masks_at(const struct leak_finder *f, leak_masks_fn *masks, size_t at,
		     struct leak_masks *ret) {
	unsigned char part[64] = {0};
	const struct leak_text *t = f->text;

	if (t->len - at >= 64) {
		masks(t->data + at, ret);
		return;
	}
	memcpy(part, t->data + at, t->len - at);
	masks(part, ret);
	ret->nul &= (UINT64_C(1) << (t->len - at)) - 1;
}

struct progress {
	size_t base64, utf16; /* where the search for the next part begins */
	struct segment url, json;
};

static void block(const struct leak_finder *f, size_t at, const struct leak_masks *m, uint64_t next,
		  struct progress *p) {
	uint64_t starts = m->base64 == 0 ? 0 : run_starts(m->base64, next);

	for (; starts != 0; starts &= starts - 1) {
		size_t start = at + (size_t)__builtin_ctzll(starts);
		if (start >= p->base64) {
			p->base64 = base64_part(f, start);
		}
	}
	for (uint64_t bits = m->percent; bits != 0; bits &= bits - 1) {
		size_t i = at + (size_t)__builtin_ctzll(bits);
		if (is_percent(f->text, i)) {
			segment_add(f, &p->url, i);
		}
	}
	for (uint64_t bits = m->backslash; bits != 0; bits &= bits - 1) {
		size_t i = at + (size_t)__builtin_ctzll(bits);
		if (is_backslash(f, i)) {
			segment_add(f, &p->json, i);
		}
	}
	for (uint64_t bits = m->nul; bits != 0; bits &= bits - 1) {
		size_t i = at + (size_t)__builtin_ctzll(bits);
		if (i >= p->utf16) {
			p->utf16 = utf16_part(f, i);
		}
	}
}

/* Characters at the end of an unfinished text may become a part. */
static void unfinished_base64(const struct leak_finder *f, size_t done) {
	const struct leak_text *t = f->text;
	size_t start = t->len;

	while (start > f->from && is(t->data[start - 1], BASE64)) {
		start--;
	}
	if (start < t->len && start >= done) {
		(void)base64_part(f, start);
	}
}

void leak_regions(const struct leak_finder *f) {
	const struct leak_text *text = f->text;
	struct progress p = {.url = {.view = LEAK_URL}, .json = {.view = LEAK_JSON}};
	leak_masks_fn *masks = leak_masks_choose();
	struct leak_masks now, next = {0};

	if (f->from < text->len) {
		masks_at(f, masks, f->from, &next);
	}
	for (size_t at = f->from; at < text->len; at += 64) {
		now = next;
		next = (struct leak_masks){0};
		if (text->len - at > 64) {
			masks_at(f, masks, at + 64, &next);
		}
		block(f, at, &now, next.base64, &p);
	}
	segment_done(f, &p.url);
	segment_done(f, &p.json);
	if (!text->final) {
		unfinished_base64(f, p.base64);
	}
}
