/* Strings and absolute paths, compared by component and never by prefix. */
#ifndef CORRAL_BASE_STR_H
#define CORRAL_BASE_STR_H

#include "base/arena.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static inline bool streq(const char *a, const char *b) {
	return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *s, const char *prefix) {
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* True when path is dir itself or lies beneath it: "/ws-evil" is not in "/ws".
 * Both are absolute and normal (path_normal). */
bool path_within(const char *path, const char *dir);

/* Lexical normal form of an absolute path: no "//", ".", ".." or trailing
 * slash.  NULL when memory is out or the path is not absolute. */
char *path_normal(struct arena *a, const char *path);

/* dir + "/" + rest, in normal form; rest may be absolute and then stands alone. */
char *path_join(struct arena *a, const char *dir, const char *rest);

/* Number of components: 0 for "/". */
size_t path_depth(const char *path);

/* Orders paths so that a directory stands directly before what lies in it: a separator
 * sorts before every other byte. */
int path_order(const char *a, const char *b);

/* The directory that holds an absolute path; false when that is the root, or too long. */
bool path_parent(const char *path, char out[PATH_MAX]);

/* Length of the UTF-8 sequence that starts at p, or 0 when it is not one:
 * overlong forms, surrogates and numbers past U+10FFFF are refused. */
size_t utf8_length(const unsigned char *p, size_t left);

/* Length of the control character that begins at p, and its number, or 0: C0, DEL, C1,
 * which a terminal obeys as it does an escape, be it in UTF-8 or one byte that is no part
 * of a character; and what turns the direction of a text, ends a line or is not seen. */
size_t control_at(const unsigned char *p, size_t left, unsigned long *ret_code);

/* The same of a string. */
size_t control_length(const char *s);

/* Length of the character that a string begins with, 1 for a byte that begins none; 0 at
 * its end. */
size_t char_length(const char *s);

/* Puts '?' in the place of every control character, or of all but newlines: the
 * text is somebody else's, and the terminal is a person's. */
void hide_controls(char *text, bool keep_newlines);

#endif
