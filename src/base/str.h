/* SPDX-License-Identifier: Apache-2.0 */
/* Strings: comparison, UTF-8, control characters. */
#ifndef CORRAL_BASE_STR_H
#define CORRAL_BASE_STR_H

#include <stdbool.h>
#include <string.h>

static inline bool streq(const char *a, const char *b) {
	return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *s, const char *prefix) {
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Length of the UTF-8 sequence that starts at p, or 0 when it is not one:
 * overlong forms, surrogates and numbers past U+10FFFF are refused. */
size_t str_utf8_length(const unsigned char *p, size_t left);

/* Length of the control character that begins at p, and its code point, or 0: DEL, C0 and C1
 * controls (in UTF-8 or as one byte, which an 8-bit terminal interprets), and characters that
 * change the text's direction, separate lines or are invisible. */
size_t str_control_at(const unsigned char *p, size_t left, unsigned long *ret_code);

/* The same at the start of a string. */
size_t str_control_length(const char *s);

/* Length of the first character of a string, 1 for a byte that is not UTF-8; 0 at its end. */
size_t str_char_length(const char *s);

/* Replaces every control character by '?', newlines optionally not: untrusted text must not
 * control the user's terminal. */
void str_hide_controls(char *text, bool keep_newlines);

#endif
