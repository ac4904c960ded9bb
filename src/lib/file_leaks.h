/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that a client of the file tools found, until their audit records are written. */
#ifndef CORRAL_LIB_FILE_LEAKS_H
#define CORRAL_LIB_FILE_LEAKS_H

#include "lib/internal.h"

struct file_leaks;

/* Adds a finding; *leaks is NULL before the first one.  Findings in another file than the last one
 * write its records. */
int file_leaks_add(struct file_leaks **leaks, const struct prepared *p, const char *path,
		   const struct leak_record *found, struct err *e);

/* Writes the records and frees it; accepts NULL. */
void file_leaks_end(struct file_leaks *leaks, const struct prepared *p);

#endif
