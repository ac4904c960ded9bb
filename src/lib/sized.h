/* SPDX-License-Identifier: Apache-2.0 */
/* Public structs that begin with their own size, so that program and library may be of
 * different versions.
 *
 * Should:   do as clone3(2) and openat2(2) do.  A field is only ever appended, and zero means
 *           "as before it existed".  A caller's struct that is smaller than ours is one of an
 *           older header: the rest is zero.  A larger one is of a newer header: a set field
 *           that this library does not have is an error.
 * Must not: read or write beyond the size that the caller gave, or trust a size that no
 *           version has: it is probably not initialised.
 * Fails:    closed: CORRAL_E_USAGE, and nothing ran. */
#ifndef CORRAL_LIB_SIZED_H
#define CORRAL_LIB_SIZED_H

#include "base/err.h"

#include <stddef.h>

struct sized {
	const char *name; /* "corral_options" */
	size_t first;     /* sizeof in the first version that had it: it never changes */
	size_t now;       /* sizeof in this version */
};

extern const struct sized sized_options, sized_probe, sized_decision, sized_url_options,
	sized_cow_options, sized_home_options, sized_leak, sized_scan_options, sized_scan_calls,
	sized_secret_options, sized_denial, sized_identity, sized_audit_options, sized_question,
	sized_session_options, sized_exec_options, sized_stat;

/* A struct of the caller's, in *to; from NULL leaves *to, which holds the defaults. */
int sized_in(const struct sized *type, const void *from, void *to, struct err *e);

/* The field that fills the padding at the end is 0, so that a later version can use it. */
int sized_reserved(const struct sized *type, int reserved, struct err *e);

/* Whether the size that the caller has set is one that sized_out() can fill. */
int sized_check(const struct sized *type, const void *to, struct err *e);

/* Stores *from in a struct of the caller's.  Fields that this library does not have become
 * zero, and the size stays the caller's. */
int sized_out(const struct sized *type, const void *from, void *to, struct err *e);

#endif
