/* SPDX-License-Identifier: Apache-2.0 */
/* Absolute paths, compared by whole components, not by prefix. */
#ifndef CORRAL_BASE_PATH_H
#define CORRAL_BASE_PATH_H

#include "base/arena.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef NAME_MAX /* the C library of Windows does not define it; NTFS has the same bound */
#define NAME_MAX 255
#endif

/* True when path is dir itself or lies beneath it: "/ws-evil" is not in "/ws".
 * Both are absolute and normal (path_normal). */
bool path_within(const char *path, const char *dir);

/* Lexical normal form of an absolute path: no "//", ".", ".." or trailing
 * slash.  NULL when memory is out or the path is not absolute. */
char *path_normal(struct arena *a, const char *path);

/* The same into `out`, which has room for the path and two bytes, or is the path itself. */
void path_normalize(const char *path, char *out);

/* dir + "/" + rest, in normal form; an absolute rest replaces dir. */
char *path_join(struct arena *a, const char *dir, const char *rest);

/* The part of a path that follows dir, which it lies within: "" or "/…". */
const char *path_rest(const char *path, const char *dir);

/* Replaces dir at the start of a path that lies within it; false: the result is too long.  No
 * system call. */
bool path_rebase(const char *path, const char *dir, const char *to, char *out, size_t cap);

/* Number of components: 0 for "/". */
size_t path_depth(const char *path);

/* Orders paths so that a directory comes directly before its entries: a separator
 * sorts before every other byte. */
int path_order(const char *a, const char *b);

/* Whether a component is "." or "..". */
bool path_is_dots(const char *name, size_t len);

/* Whether a path has such a component. */
bool path_has_dots(const char *path);

/* Whether it is absolute, not the root, and in normal form: if no component is a symlink, it is
 * canonical. */
bool path_is_normal(const char *path);

/* Appends a component to a path in normal form, of which "" is the root; false: it does not fit. */
bool path_push(char *path, size_t cap, const char *name);

/* Removes the last component; the root stays. */
void path_pop(char *path);

/* The parent directory of an absolute path; false when that is the root, or too long. */
bool path_parent(const char *path, char out[PATH_MAX]);

#endif
