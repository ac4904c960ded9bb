/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 and control characters.
 *
 * Should:   find every character that a terminal interprets or that hides text.
 * Must not: read past the given length or NUL.
 * Fails:    closed: a byte that is not UTF-8 counts as a character of its own. */
#include "base/str.h"

size_t str_utf8_length(const unsigned char *p, size_t left) {
	static const unsigned long smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;

	if (len < 2) {
		return len;
	}
	if (len > left || p[0] > 0xF4) {
		return 0;
	}
	unsigned long code = p[0] & (0x7FU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xC0) != 0x80) {
			return 0;
		}
		code = code << 6 | (p[i] & 0x3F);
	}
	bool surrogate = code >= 0xD800 && code <= 0xDFFF;
	return code < smallest[len] || code > 0x10FFFF || surrogate ? 0 : len;
}

/* Characters that a terminal interprets or that change the order of the text: C0 and C1 controls,
 * DEL, the bidirectional marks, embeddings, overrides and isolates, the separators of lines and
 * paragraphs, and the invisible tags. */
static bool is_control(unsigned long code) {
	static const struct {
		unsigned long first, last;
	} ranges[] = {
		{0x01, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},     {0x200E, 0x200F},
		{0x2028, 0x202E}, {0x2066, 0x2069}, {0xE0000, 0xE007F},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
		if (code >= ranges[i].first && code <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

static unsigned long utf8_code(const unsigned char *p, size_t len) {
	unsigned long code = len < 2 ? p[0] : p[0] & (0x7FU >> len);
	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (p[i] & 0x3F);
	}
	return code;
}

size_t str_control_at(const unsigned char *p, size_t left, unsigned long *ret_code) {
	size_t len = left == 0 ? 0 : str_utf8_length(p, left);
	if (left == 0 || (len == 1 && p[0] >= 0x20 && p[0] != 0x7F)) {
		return 0;
	}
	/* A byte that is not UTF-8: an 8-bit terminal takes it for C1. */
	unsigned long code = utf8_code(p, len);
	if (!is_control(code)) {
		return 0;
	}
	*ret_code = code;
	return len == 0 ? 1 : len;
}

size_t str_control_length(const char *s) {
	unsigned long code;
	return str_control_at((const unsigned char *)s, strnlen(s, 4), &code);
}

size_t str_char_length(const char *s) {
	size_t len = str_utf8_length((const unsigned char *)s, strnlen(s, 4));
	return len == 0 ? *s != '\0' : len;
}

void str_hide_controls(char *text, bool keep_newlines) {
	for (char *p = text; *p != '\0';) {
		size_t n = keep_newlines && *p == '\n' ? 0 : str_control_length(p);
		memset(p, '?', n);
		p += n > 0 ? n : str_char_length(p);
	}
}
