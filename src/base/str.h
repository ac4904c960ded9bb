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

/* Length of the control character that begins at p, and its number, or 0: C0, DEL, C1,
 * which a terminal obeys as it does an escape, be it in UTF-8 or one byte that is no part
 * of a character; and what turns the direction of a text, ends a line or is not seen. */
size_t str_control_at(const unsigned char *p, size_t left, unsigned long *ret_code);

/* The same of a string. */
size_t str_control_length(const char *s);

/* Length of the character that a string begins with, 1 for a byte that begins none; 0 at
 * its end. */
size_t str_char_length(const char *s);

/* Puts '?' in the place of every control character, or of all but newlines: the
 * text is somebody else's, and the terminal is a person's. */
void str_hide_controls(char *text, bool keep_newlines);

#endif
