/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and shows the extended attributes of changed files: user.* and the POSIX ACL.
 *
 * Should:   select the same attributes for diff and for apply.
 * Must not: copy the overlay's own marks (user.overlay.*) into a workspace.
 * Fails:    open: an attribute that the workspace's file system does not support is skipped. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/str.h"

#include <fcntl.h>
#include <sys/xattr.h>

#define ACL "system.posix_acl_access"
#define USER "user."
#define OVERLAY "user.overlay."
#define OURS "user.corral."

#define NAMES_MAX 4096
#define VALUE_MAX 4096

static bool is_wanted(const char *name) {
	return streq(name, ACL) ||
	       (str_starts(name, USER) && !str_starts(name, OVERLAY) && !str_starts(name, OURS));
}

void cow_copy_attributes(int from, int to) {
	char names[NAMES_MAX], value[VALUE_MAX];
	ssize_t len = flistxattr(from, names, sizeof names);
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;
		ssize_t n = is_wanted(name) ? fgetxattr(from, name, value, sizeof value) : -1;
		if (n >= 0) {
			(void)fsetxattr(to, name, value, (size_t)n, 0);
		}
	}
}

static bool is_same(int from, int to, const char *name) {
	char left[VALUE_MAX], right[VALUE_MAX];
	ssize_t n = fgetxattr(from, name, left, sizeof left);
	ssize_t m = to < 0 ? -1 : fgetxattr(to, name, right, sizeof right);
	return n < 0 || (n == m && memcmp(left, right, (size_t)n) == 0);
}

void cow_show_attributes(const struct cow *c, const struct cow_change *change, struct buf *out) {
	char names[NAMES_MAX];
	if (!S_ISREG(change->is.mode) || change->kind == COW_MODE) {
		return; /* a change of the mode applies nothing else */
	}
	int flags = O_RDONLY | O_NONBLOCK;
	auto_fd from = cow_open_upper(c, change->path, flags);
	ssize_t len = from < 0 ? 0 : flistxattr(from, names, sizeof names);
	if (len <= 0) {
		return;
	}
	const char *old = change->from != NULL ? change->from : change->path;
	auto_fd to = S_ISREG(change->was.mode) ? cow_open_beneath(c->lower, old, flags) : -1;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;
		if (!is_wanted(name) || is_same(from, to, name)) {
			continue;
		}
		buf_puts(out, streq(name, ACL) ? "# access control list set: " : "# attribute ");
		if (!streq(name, ACL)) {
			cow_quote(out, "", name);
			buf_puts(out, " set: ");
		}
		cow_quote(out, "", change->path);
		buf_puts(out, "\n");
	}
}
