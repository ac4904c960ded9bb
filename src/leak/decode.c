/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the regions of view.h, and maps decoded bytes to the encoded ones.
 *
 * Should:   decode as Python's decoders do, the characters of both base64 alphabets alike.
 * Must not: write more bytes than the region has.
 * Fails:    never: an incomplete group at the end decodes to nothing, and a JSON escape of a
 *           character that is not ASCII to one byte that no pattern has. */
#include "leak/view.h"

#include <string.h>

/* clang-format off */
static const unsigned char sextets[256] = {
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 62, 255, 62, 255, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 255, 255, 255, 255, 255, 255,
	255, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 255, 255, 255, 255, 63,
	255, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

static const unsigned char digits[256] = {
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 255, 255, 255, 255, 255,
	255, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};
/* clang-format on */

struct cursor {
	const unsigned char *data;
	size_t at, end;
	bool final;          /* nothing follows the end */
	unsigned bits, have; /* base64: left of the last character */
	size_t held;         /* base64: where that character is */
	/* The byte that was decoded last: */
	size_t from, to;
	unsigned char byte;
};

static bool is_break(unsigned char c) {
	return c == '\n' || c == '\r';
}

static bool next_base64(struct cursor *c) {
	bool begun = c->have > 0;

	c->from = c->held;
	while (c->at < c->end) {
		unsigned char ch = c->data[c->at];
		if (is_break(ch)) {
			c->at++;
			continue;
		}
		c->from = begun ? c->from : c->at;
		begun = true;
		c->held = c->at++;
		c->bits = c->bits << 6 | sextets[ch];
		c->have += 6;
		if (c->have >= 8) {
			c->have -= 8;
			c->byte = (unsigned char)(c->bits >> c->have);
			c->to = c->at;
			return true;
		}
	}
	return false;
}

static bool next_hex(struct cursor *c) {
	unsigned value = 0, n = 0;

	for (; c->at < c->end && n < 2; c->at++) {
		if (is_break(c->data[c->at])) {
			continue;
		}
		c->from = n == 0 ? c->at : c->from;
		value = value << 4 | digits[c->data[c->at]];
		n++;
	}
	c->to = c->at;
	c->byte = (unsigned char)value;
	return n == 2;
}

static bool next_utf16(struct cursor *c, size_t low) {
	if (c->end - c->at < 2) {
		return false;
	}
	c->from = c->at;
	c->byte = c->data[c->at + low];
	c->at += 2;
	c->to = c->at;
	return true;
}

/* True when the text ends inside of an escape of `len` bytes, whose digits begin at `digit`. */
static bool is_cut(const struct cursor *c, size_t digit, size_t len) {
	size_t left = c->end - c->at;

	for (size_t i = digit; i < left && i < len; i++) {
		if (digits[c->data[c->at + i]] > 15) {
			return false;
		}
	}
	return left < len;
}

static void url_escape(struct cursor *c, const unsigned char *p) {
	if (c->end - c->from >= 3 && digits[p[1]] < 16 && digits[p[2]] < 16) {
		c->byte = (unsigned char)(digits[p[1]] << 4 | digits[p[2]]);
		c->at += 2;
	}
}

static void json_escape(struct cursor *c, const unsigned char *p) {
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	size_t left = c->end - c->from;
	const char *found = left < 2 || p[1] == '\0' ? NULL : strchr(from, p[1]);
	unsigned code = 0;

	if (found != NULL) {
		c->byte = (unsigned char)to[found - from];
		c->at++;
		return;
	}
	if (left < 6 || p[1] != 'u') {
		return;
	}
	for (size_t i = 2; i < 6; i++) {
		if (digits[p[i]] > 15) {
			return;
		}
		code = code << 4 | digits[p[i]];
	}
	c->byte = code < 0x80 ? (unsigned char)code : 0xff;
	c->at += 5;
}

/* More bytes of this escape may follow the end. */
static bool is_open(const struct cursor *c, const unsigned char *p) {
	if (p[0] == '%') {
		return is_cut(c, 1, 3);
	}
	return c->end - c->at < 2 || (p[1] == 'u' && is_cut(c, 2, 6));
}

static bool next_escaped(struct cursor *c, unsigned char escape) {
	const unsigned char *p = c->data + c->at;

	if (c->at == c->end) {
		return false;
	}
	c->from = c->at;
	c->byte = p[0];
	if (p[0] == escape && !c->final && is_open(c, p)) {
		return false;
	}
	c->at++;
	if (p[0] == escape) {
		(escape == '%' ? url_escape : json_escape)(c, p);
	}
	c->to = c->at;
	return true;
}

static bool next(struct cursor *c, enum leak_view view) {
	switch (view) {
	case LEAK_BASE64:
		return next_base64(c);
	case LEAK_HEX:
		return next_hex(c);
	case LEAK_URL:
		return next_escaped(c, '%');
	case LEAK_JSON:
		return next_escaped(c, '\\');
	case LEAK_UTF16LE:
		return next_utf16(c, 0);
	case LEAK_UTF16BE:
		return next_utf16(c, 1);
	default:
		return false;
	}
}

/* Four characters at once, while there is no line break. */
static size_t decode_groups(struct cursor *c, unsigned char *out) {
	size_t n = 0, at = c->at;
	const unsigned char *p = c->data;

	while (c->end - at >= 4) {
		unsigned a = sextets[p[at]], b = sextets[p[at + 1]], d = sextets[p[at + 2]],
			 e = sextets[p[at + 3]];
		if (((a | b | d | e) & 0xc0) != 0) {
			break;
		}
		unsigned bits = a << 18 | b << 12 | d << 6 | e;
		out[n] = (unsigned char)(bits >> 16);
		out[n + 1] = (unsigned char)(bits >> 8);
		out[n + 2] = (unsigned char)bits;
		n += 3;
		at += 4;
	}
	c->at = at;
	return n;
}

/* The bytes up to the next one that begins an escape. */
static size_t copy_plain(struct cursor *c, unsigned char escape, unsigned char *out) {
	const unsigned char *p = c->data + c->at, *found = memchr(p, escape, c->end - c->at);
	size_t n = found == NULL ? c->end - c->at : (size_t)(found - p);

	memcpy(out, p, n);
	c->at += n;
	return n;
}

static struct cursor cursor_at(const struct leak_text *text, const struct leak_region *region) {
	return (struct cursor){.data = text->data,
			       .at = region->start,
			       .end = region->end,
			       .final = region->final};
}

size_t leak_decode(const struct leak_text *text, const struct leak_region *region,
		   unsigned char *out) {
	struct cursor c = cursor_at(text, region);
	size_t n = 0;

	for (;;) {
		if (region->view == LEAK_BASE64 && c.have == 0) {
			n += decode_groups(&c, out + n);
		} else if (region->view == LEAK_URL || region->view == LEAK_JSON) {
			n += copy_plain(&c, region->view == LEAK_URL ? '%' : '\\', out + n);
		}
		if (!next(&c, region->view)) {
			return n;
		}
		out[n++] = c.byte;
	}
}

bool leak_encoded(const struct leak_text *text, const struct leak_region *region,
		  struct leak_place decoded, struct leak_place *ret) {
	size_t from = decoded.from, to = decoded.to;
	struct cursor c = cursor_at(text, region);
	bool escapes = region->view == LEAK_URL || region->view == LEAK_JSON;
	bool found = !escapes, apart = false;
	size_t start = region->end, end = start, last = 0;

	for (size_t i = 0; i < to && next(&c, region->view); i++) {
		bool escaped = escapes && i >= from && c.to - c.from > 1;
		if (i == from) {
			start = c.from;
		}
		if (i <= from) {
			last = c.from;
		}
		end = c.to;
		apart = apart || (escaped && c.from - last > LEAK_ESCAPE_GAP);
		if (escaped) {
			last = c.to;
			found = true;
		}
	}
	*ret = (struct leak_place){start, end};
	return found && !apart && (!escapes || end - last <= LEAK_ESCAPE_GAP);
}
