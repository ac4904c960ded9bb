/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of the caller's audit log, for corral_audit_print() and its like, and for
 * corral_why_run(). */
#ifndef CORRAL_LIB_AUDIT_READ_H
#define CORRAL_LIB_AUDIT_READ_H

#include "lib/internal.h"

#include "audit/read.h"

#include <sys/utsname.h>

struct audit_reading {
	struct arena arena;
	struct host host;
	struct audit_place place;
	struct utsname name;
};

/* Finds the log, and checks that it is the caller's own.  Call audit_reading_end() in either case;
 * it returns rc, and fills err from e. */
int audit_reading_begin(struct audit_reading *r, struct err *e);
int audit_reading_end(struct audit_reading *r, int rc, const struct err *e,
		      struct corral_error *err);

#endif
