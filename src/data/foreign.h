/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of other products' configuration files, and the policy key of each. */
#ifndef CORRAL_DATA_FOREIGN_H
#define CORRAL_DATA_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

struct foreign_row {
	const char *from;  /* dotted, in the product's file: "sandbox.timeout_secs" */
	const char *when;  /* only for this value; NULL: any */
	const char *key;   /* of a policy; NULL: it needs none, for the reason `why` */
	const char *value; /* instead of the product's value; NULL: the same */
	const char *unit;  /* after a number: "M"; NULL */
	const char *why;   /* a comment; NULL */
};

/* Sorted by `from`; the first row that matches decides. */
extern const struct foreign_row foreign_rows[];
extern const size_t foreign_rows_count;

/* A section that is read, and the difference between the product's sandbox and Corral's. */
struct foreign_section {
	const char *name;
	const char *what; /* for the first line of `policy import` */
	const char *differs;
};

extern const struct foreign_section foreign_sections[];
extern const size_t foreign_sections_count;

/* The section of that name, or NULL. */
const struct foreign_section *foreign_section_by_name(const char *name);

#endif
