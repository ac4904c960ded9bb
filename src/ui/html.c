/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes values.
 *
 * Should:   show each byte that a command printed, so that a person sees all of it.
 * Must not: write a character of a value that is markup, part of a terminal sequence, or a
 *           directional mark.
 * Fails:    closed: bytes that are not UTF-8 become U+FFFD. */
#include "ui/html.h"

#include "base/auto.h"
#include "base/rfc3339.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- characters ---- */

#define MARKS_MAX 3 /* on one character: Vietnamese has two, Hebrew and Arabic three */

/* The length of a valid sequence of UTF-8; 0: it is none.  *ret is the character. */
static size_t utf8(const unsigned char *s, size_t len, uint32_t *ret) {
	static const struct {
		unsigned char mask, lead;
		size_t len;
		uint32_t least;
	} forms[] = {{0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

	for (size_t i = 0; i < 3; i++) {
		if ((s[0] & forms[i].mask) != forms[i].lead || forms[i].len > len) {
			continue;
		}
		uint32_t c = s[0] & (unsigned char)~forms[i].mask;
		for (size_t k = 1; k < forms[i].len; k++) {
			if ((s[k] & 0xc0) != 0x80) {
				return 0;
			}
			c = c << 6 | (s[k] & 0x3f);
		}
		*ret = c;
		bool surrogate = c >= 0xd800 && c <= 0xdfff;
		return c < forms[i].least || c > 0x10ffff || surrogate ? 0 : forms[i].len;
	}
	return 0;
}

struct range {
	uint32_t first, last;
};

static bool is_in(uint32_t c, const struct range *ranges, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (c >= ranges[i].first && c <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

/* Characters that are invisible, or that change the order of the text around them. */
static bool is_hidden(uint32_t c) {
	static const struct range ranges[] = {
		{0x80, 0x9f},     /* C1: CSI, OSC and others as one character */
		{0xad, 0xad},     /* soft hyphen */
		{0x34f, 0x34f},   /* combining grapheme joiner */
		{0x61c, 0x61c},   /* Arabic letter mark */
		{0x115f, 0x1160}, /* Hangul fillers */
		{0x17b4, 0x17b5}, /* Khmer vowels without a sign */
		{0x180b, 0x180f}, /* Mongolian selectors and separator */
		{0x200b, 0x200f}, /* zero width, LRM, RLM */
		{0x2028, 0x202e}, /* line separators, directional embeddings */
		{0x2060, 0x206f}, /* word joiner, directional isolates */
		{0x2800, 0x2800}, /* Braille without dots */
		{0x3164, 0x3164}, /* Hangul filler */
		{0xfe00, 0xfe0f}, /* variation selectors */
		{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}, /* tags */
	};

	return is_in(c, ranges, ARRAY_LEN(ranges));
}

/* Marks that are drawn over the character before them.  Many of them cover the lines around. */
static bool is_mark(uint32_t c) {
	static const struct range ranges[] = {
		{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
		{0x64b, 0x65f},   {0xe31, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff},
		{0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f},
	};

	return is_in(c, ranges, ARRAY_LEN(ranges));
}

static const char *entity(unsigned char c) {
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&#34;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* As `cat -v`: ESC is ^[. */
static void control_sign(struct buf *b, unsigned char c) {
	const char sign[] = {(char)(c == 0x7f ? '?' : c + '@'), '\0'};

	html_put(b, "<b class=c>^%s</b>", sign);
}

/* One byte below 0x80. */
static void ascii(struct buf *b, unsigned char c) {
	const char *name = entity(c);

	if (name != NULL) {
		buf_puts(b, name);
	} else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
		control_sign(b, c);
	} else {
		buf_add(b, &c, 1);
	}
}

void html_text(struct buf *b, const char *text, size_t len) {
	const unsigned char *s = (const unsigned char *)text;
	size_t marks = 0; /* in a row */

	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = 1;
		if (s[i] < 0x80) {
			bool before_newline = s[i] == '\r' && i + 1 < len && s[i + 1] == '\n';
			if (!before_newline) {
				ascii(b, s[i]);
			}
		} else if ((n = utf8(s + i, len - i, &c)) == 0) {
			buf_puts(b, "&#xfffd;");
			n = 1;
		} else if (is_hidden(c) || (is_mark(c) && marks >= MARKS_MAX)) {
			buf_printf(b, "<b class=c>U+%04X</b>", c);
		} else {
			buf_add(b, s + i, n);
		}
		marks = is_mark(c) ? marks + 1 : 0;
		i += n;
	}
}

void html_url(struct buf *b, const char *text) {
	for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++) {
		bool plain = (*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') ||
			     (*s >= 'a' && *s <= 'z') || strchr("-._~", *s) != NULL;
		buf_printf(b, plain ? "%c" : "%%%02X", *s);
	}
}

/* ---- formats ---- */

void html_put(struct buf *b, const char *format, ...) {
	va_list ap;

	va_start(ap, format);
	for (const char *p = format; *p != '\0';) {
		size_t plain = strcspn(p, "%");
		buf_add(b, p, plain);
		p += plain;
		if (*p == '\0') {
			break;
		}
		const char *text;
		switch (p[1]) {
		case 's':
			text = va_arg(ap, const char *);
			text = text == NULL ? "" : text;
			html_text(b, text, strlen(text));
			break;
		case 'd':
			buf_printf(b, "%lld", va_arg(ap, long long));
			break;
		case 'u':
			buf_printf(b, "%zu", va_arg(ap, size_t));
			break;
		default:
			buf_puts(b, "%");
		}
		p += 2;
	}
	va_end(ap);
}

/* ---- times ---- */

void html_duration(struct buf *b, int64_t ms) {
	if (ms < 1000) {
		buf_printf(b, "%lld ms", (long long)(ms < 0 ? 0 : ms));
	} else if (ms < 60000) {
		buf_printf(b, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
	} else if (ms < 3600000) {
		buf_printf(b, "%lld min %lld s", (long long)(ms / 60000),
			   (long long)(ms % 60000 / 1000));
	} else if (ms < 86400000) {
		buf_printf(b, "%lld h %lld min", (long long)(ms / 3600000),
			   (long long)(ms % 3600000 / 60000));
	} else {
		buf_printf(b, "%lld d %lld h", (long long)(ms / 86400000),
			   (long long)(ms % 86400000 / 3600000));
	}
}

void html_time(struct buf *b, int64_t ms, int64_t now) {
	char text[RFC3339_LENGTH + 1];
	int64_t s = (now - ms) / 1000;

	if (ms <= 0) {
		buf_puts(b, "–");
		return;
	}
	rfc3339_text(ms, text);
	buf_printf(b, "<time datetime=\"%s\" title=\"%s\">", text, text);
	if (s < 5) {
		buf_puts(b, "now");
	} else if (s < 60) {
		buf_printf(b, "%lld s ago", (long long)s);
	} else if (s < 3600) {
		buf_printf(b, "%lld min ago", (long long)(s / 60));
	} else if (s < 86400) {
		buf_printf(b, "%lld h ago", (long long)(s / 3600));
	} else {
		buf_printf(b, "%.10s", text);
	}
	buf_puts(b, "</time>");
}

/* ---- JSON ---- */

const char *html_json_text(const json_t *object, const char *key) {
	const char *text = json_string_value(json_object_get(object, key));
	return text == NULL ? "" : text;
}

int64_t html_json_number(const json_t *object, const char *key) {
	const json_t *value = json_object_get(object, key);
	return json_is_real(value) ? (int64_t)json_real_value(value) : json_integer_value(value);
}

int64_t html_json_time(const json_t *object, const char *key) {
	int64_t ms = html_json_number(object, key);

	return ms == 0 && rfc3339_read(html_json_text(object, key), &ms) != 0 ? 0 : ms;
}
