/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values and objects of a snapshot file.
 *
 * Should:   name the path of keys to a value that is wrong.
 * Must not: accept an unknown key, a missing one that is required, or a value out of its range.
 * Fails:    closed, with a usage error. */
#include "plan/snapshot_field.h"

#include "base/path.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>

#define ABI_MAX 1000

static size_t place_text(const struct field_place *at, char *out, size_t cap) {
	size_t n = at->outer == NULL ? 0 : place_text(at->outer, out, cap);
	const char *key = at->key == NULL ? "[]" : at->key;
	if (n < cap) {
		int more = snprintf(out + n, cap - n, "%s%s", n == 0 ? "" : ".", key);
		n += more < 0 ? 0 : (size_t)more;
	}
	return n;
}

int snapshot_field_refuse(const struct field_reader *r, const struct field_place *at,
			  const char *why) {
	char key[160];
	(void)place_text(at, key, sizeof key);
	str_hide_controls(key, false);
	(void)err_set(r->e, ERR_USAGE, "snapshot", "%.120s: %s: %s", r->file, key, why);
	return err_fix(r->e, "record it again: corral status --snapshot");
}

/* ---- strings ---- */

static int digit(char c) {
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes that put_escaped() wrote; NULL when an escape is wrong. */
const char *snapshot_field_unescaped(const struct field_reader *r, const char *s, size_t len,
				     size_t *ret_len) {
	char *out = arena_alloc(r->s->a, len + 1);
	size_t n = 0;
	for (size_t i = 0; out != NULL && i < len; i++) {
		bool hex = s[i] == '\\' && i + 3 < len && s[i + 1] == 'x' && digit(s[i + 2]) >= 0 &&
			   digit(s[i + 3]) >= 0;
		if (hex) {
			out[n++] = (char)(digit(s[i + 2]) * 16 + digit(s[i + 3]));
			i += 3;
		} else if (s[i] == '\\' && i + 1 < len && s[i + 1] == '\\') {
			out[n++] = '\\';
			i++;
		} else if (s[i] == '\\') {
			return NULL;
		} else {
			out[n++] = s[i];
		}
	}
	if (out == NULL) {
		r->s->out_of_memory = true;
		return NULL;
	}
	*ret_len = n;
	return out;
}

int snapshot_field_text(const struct field_reader *r, const struct field_place *at,
			const struct doc *d, const char **ret, size_t *ret_len) {
	if (d->type != DOC_STRING) {
		return snapshot_field_refuse(r, at, "a string is expected");
	}
	*ret = snapshot_field_unescaped(r, d->str, d->len, ret_len);
	if (*ret == NULL) {
		return r->s->out_of_memory
			       ? err_memory(r->e, "snapshot")
			       : snapshot_field_refuse(r, at,
						       "an escape is wrong: use \\\\ or \\xNN");
	}
	return 0;
}

/* Without NUL: a path, a name, a reason. */
int snapshot_field_string(const struct field_reader *r, const struct field_place *at,
			  const struct doc *d, const char **ret) {
	size_t len = 0;
	if (snapshot_field_text(r, at, d, ret, &len) != 0) {
		return -1;
	}
	return strlen(*ret) == len ? 0 : snapshot_field_refuse(r, at, "a NUL byte is not allowed");
}

int snapshot_field_path(const struct field_reader *r, const struct field_place *at,
			const char *path) {
	const char *normal = path[0] == '/' ? path_normal(r->s->a, path) : NULL;
	bool right = normal != NULL && streq(normal, path) && strlen(path) < PATH_MAX;
	return right ? 0
		     : snapshot_field_refuse(r, at, "an absolute path in normal form is expected");
}

/* ---- objects ---- */

static int read_number(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d, int64_t max, int64_t *ret) {
	if (d->type != DOC_INT || d->num < 0 || d->num > max) {
		return snapshot_field_refuse(r, at,
					     "a number is expected, not negative, in its range");
	}
	*ret = d->num;
	return 0;
}

static int read_mode(const struct field_reader *r, const struct field_place *at,
		     const struct doc *d, uint32_t *ret) {
	bool right = d->type == DOC_STRING && d->len == 4;
	uint32_t mode = 0;
	for (size_t i = 0; right && i < 4; i++) {
		right = d->str[i] >= '0' && d->str[i] <= '7';
		mode = mode * 8 + (uint32_t)(d->str[i] - '0');
	}
	if (!right) {
		return snapshot_field_refuse(
			r, at, "a mode of four octal digits is expected, such as \"0755\"");
	}
	*ret = mode;
	return 0;
}

int snapshot_field_pointer(const struct field_reader *r, const struct field_place *at,
			   const struct doc *d, bool path, const char **ret) {
	if (d->type == DOC_NULL) {
		*ret = NULL;
		return 0;
	}
	return snapshot_field_string(r, at, d, ret) != 0 ||
			       (path && snapshot_field_path(r, at, *ret) != 0)
		       ? -1
		       : 0;
}

static int read_value(const struct field_reader *r, const struct field_place *at,
		      const struct doc *d, enum field_type type, void *to) {
	int64_t n = 0;
	switch (type) {
	case FIELD_BOOL:
		*(bool *)to = d->yes;
		return d->type == DOC_BOOL
			       ? 0
			       : snapshot_field_refuse(r, at, "true or false is expected");
	case FIELD_INT:
		if (read_number(r, at, d, ABI_MAX, &n) != 0) {
			return -1;
		}
		*(int *)to = (int)n;
		return 0;
	case FIELD_ID:
		if (read_number(r, at, d, UINT32_MAX, &n) != 0) {
			return -1;
		}
		*(uint32_t *)to = (uint32_t)n;
		return 0;
	case FIELD_LONG:
		if (read_number(r, at, d, INT64_MAX, &n) != 0) {
			return -1;
		}
		*(uint64_t *)to = (uint64_t)n;
		return 0;
	case FIELD_TEXT:
	case FIELD_PATH:
		return snapshot_field_pointer(r, at, d, type == FIELD_PATH, to);
	case FIELD_MODE:
		return read_mode(r, at, d, to);
	case FIELD_DOC:
		*(const struct doc **)to = d;
		return 0;
	}
	return -1;
}

#define FIELDS_MAX 16

static int read_each(const struct field_reader *r, const struct field_place *at,
		     const struct doc *all, field_read *read, void *arg) {
	for (const struct doc *d = all == NULL ? NULL : all->first; d != NULL; d = d->next) {
		struct field_place inner = {at, all->type == DOC_TABLE ? d->key : NULL};
		if (read(r, &inner, d, arg) != 0) {
			return -1;
		}
	}
	return 0;
}

int snapshot_field_members(const struct field_reader *r, const struct field_place *at,
			   const struct doc *object, field_read *read, void *arg) {
	return object != NULL && object->type != DOC_TABLE
		       ? snapshot_field_refuse(r, at, "an object is expected")
		       : read_each(r, at, object, read, arg);
}

int snapshot_field_elements(const struct field_reader *r, const struct field_place *at,
			    const struct doc *array, field_read *read, void *arg) {
	return array != NULL && array->type != DOC_ARRAY
		       ? snapshot_field_refuse(r, at, "an array is expected")
		       : read_each(r, at, array, read, arg);
}

int snapshot_field_object(const struct field_reader *r, const struct field_place *at,
			  const struct doc *object, const struct field *fields, void *to) {
	bool seen[FIELDS_MAX] = {false};
	if (object->type != DOC_TABLE) {
		return snapshot_field_refuse(r, at, "an object is expected");
	}
	for (const struct doc *d = object->first; d != NULL; d = d->next) {
		struct field_place inner = {at, d->key};
		size_t i = 0;
		while (fields[i].key != NULL && !streq(fields[i].key, d->key)) {
			i++;
		}
		if (fields[i].key == NULL) {
			return snapshot_field_refuse(r, &inner, "unknown key");
		}
		seen[i] = true;
		if (read_value(r, &inner, d, fields[i].type, (char *)to + fields[i].offset) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; fields[i].key != NULL; i++) {
		if (fields[i].required && !seen[i]) {
			struct field_place inner = {at, fields[i].key};
			return snapshot_field_refuse(r, &inner, "the key is missing");
		}
	}
	return 0;
}
