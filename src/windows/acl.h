/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a run in the DACLs of files and directories. */
#ifndef CORRAL_WINDOWS_ACL_H
#define CORRAL_WINDOWS_ACL_H

#include "windows/api.h"

#include "base/arena.h"
#include "base/err.h"
#include "windows/grants.h"

/* The DACL as SDDL text in the arena. */
int acl_text(struct arena *a, const char *path, const char **ret, struct err *e);

/* Adds the entries of the grant for this SID, and checks that the file system kept them. */
int acl_grant(struct arena *a, const struct path_grant *g, const char *sid, struct err *e);

/* Removes every entry of this SID; the rest of the DACL stays.  If only the flags of the DACL
 * differ from `before` afterwards, they are restored, too.  A path that is gone is no error (X2).
 * *ret_changed: someone else changed the DACL since `before`. */
int acl_revoke(struct arena *a, const char *path, const char *sid, const char *before,
	       bool *ret_changed, struct err *e);

#endif
