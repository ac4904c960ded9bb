/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the objects of a snapshot file by tables: one row a key, with its type and the member of a
 * struct that it fills.
 *
 * Should:   name the key of a value that is wrong, such as files./etc/passwd.mode.
 * Must not: accept an unknown key, or a value out of its range.
 * Fails:    closed, with a usage error. */
#ifndef CORRAL_PLAN_SNAPSHOT_FIELD_H
#define CORRAL_PLAN_SNAPSHOT_FIELD_H

#include "plan/snapshot.h"
#include "policy/doc.h"

struct field_reader {
	struct snapshot *s;
	const char *file; /* for messages */
	struct err *e;
};

/* The path of keys to a value, for messages. */
struct field_place {
	const struct field_place *outer;
	const char *key; /* NULL: an element of an array */
};

enum field_type {
	FIELD_BOOL,
	FIELD_INT,  /* int, 0 to ABI_MAX */
	FIELD_ID,   /* uint32_t */
	FIELD_LONG, /* uint64_t */
	FIELD_TEXT, /* const char *; null is NULL */
	FIELD_PATH, /* the same, a path */
	FIELD_MODE, /* uint32_t, four octal digits */
	FIELD_DOC,  /* const struct doc *, read by the caller */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
	bool required;
};

/* All return 0, or -1 with r->e filled. */
int snapshot_field_refuse(const struct field_reader *r, const struct field_place *at,
			  const char *why);

/* fields ends with a row without a key; to is the struct that the rows fill. */
int snapshot_field_object(const struct field_reader *r, const struct field_place *at,
			  const struct doc *object, const struct field *fields, void *to);

/* Reads one element of an array, or one member of an object. */
typedef int field_read(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d, void *arg);

/* Reads each member of an object, each element of an array; NULL has none. */
int snapshot_field_members(const struct field_reader *r, const struct field_place *at,
			   const struct doc *object, field_read *read, void *arg);
int snapshot_field_elements(const struct field_reader *r, const struct field_place *at,
			    const struct doc *array, field_read *read, void *arg);

/* A string with its escapes resolved; NULL when one is wrong, or out of memory. */
const char *snapshot_field_unescaped(const struct field_reader *r, const char *s, size_t len,
				     size_t *ret_len);
/* Any bytes; the same without NUL; the same or NULL for null. */
int snapshot_field_text(const struct field_reader *r, const struct field_place *at,
			const struct doc *d, const char **ret, size_t *ret_len);
int snapshot_field_string(const struct field_reader *r, const struct field_place *at,
			  const struct doc *d, const char **ret);
int snapshot_field_pointer(const struct field_reader *r, const struct field_place *at,
			   const struct doc *d, bool path, const char **ret);

/* Checks that a path is absolute and in normal form. */
int snapshot_field_path(const struct field_reader *r, const struct field_place *at,
			const char *path);

#endif
