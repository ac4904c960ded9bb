/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers the ucount limits in /proc/sys/user of the new user namespace.
 *
 * The kernel charges namespaces and inotify instances to every user namespace
 * up the chain, against a limit that each namespace's root can lower for itself.
 * A limit below the present count refuses only new ones, so the run's own
 * namespaces stay.
 *
 * Should:   forbid nested user namespaces (one would give capabilities back, and with
 *           them most of the kernel's attack surface), or with --allow-nested bound their
 *           number; and leave the user's other
 *           programs a share of the inotify instances.
 * Must not: run before the user namespace exists (it would lower the caller's
 *           limits), or after mounts.c (the new /proc/sys is read-only) or
 *           capabilities.c (writing needs CAP_SYS_RESOURCE in the namespace).
 * Fails:    closed.  Only a limit that this kernel was built without is skipped.  Where /proc/sys
 * is read-only, as in containers, a procfs of its own has the files, too.  If the kernel allows
 * none, the run is planned again (plan.shares_proc) and has no limits of this layer: the seccomp
 * filter and the missing capabilities forbid nested user namespaces. */
#include "linux/layer.h"

#include "base/auto.h"
#include "base/raw_call.h"
#include "linux/early.h"
#include "linux/layers/unplanned.h"
#include "linux/mount_api.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define QUOTA_DIR "/proc/sys/user"

struct quota {
	const char *file, *value;
	const char *nested; /* with --allow-nested; NULL: the same */
	bool optional;      /* a kernel may be built without it */
};

/* User namespaces at once with --allow-nested: an agent has few commands at a time, and each
 * sandbox one or two. */
#define NESTED_SANDBOXES "128"

/* Each row costs every run some microseconds.  The other kinds of namespace have no row:
 * creating one needs a capability, and no process of the sandbox has one or, after the
 * first row, can get one. */
static const struct quota quotas[] = {
	/* Without a user namespace no other namespace can be created either. */
	{"max_user_namespaces", "0", NESTED_SANDBOXES, false},
	/* Half of the kernel's default per user; build watchers and dev servers use a
	 * handful.  max_inotify_watches stays: large trees need many. */
	{"max_inotify_instances", "64", NULL, true},
};

static long write_quota(long dir, const struct quota *q, bool nested) {
	const char *value = nested && q->nested != NULL ? q->nested : q->value;
	long len = (long)strlen(value);
	long fd = raw_call(SYS_openat, dir, raw_pointer(q->file), O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		return fd == -ENOENT && q->optional ? 0 : fd;
	}
	long n = raw_call(SYS_write, fd, raw_pointer(value), len);
	(void)raw_call(SYS_close, fd); /* nothing useful can be done about a failing close */
	return n == len ? 0 : n < 0 ? n : -EIO;
}

static long lower_in(int at, const char *path, bool nested) {
	long dir = raw_call(SYS_openat, at, raw_pointer(path), O_PATH | O_DIRECTORY | O_CLOEXEC);
	long rc = dir < 0 ? dir : 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(quotas); i++) {
		rc = write_quota(dir, &quotas[i], nested);
	}
	if (dir >= 0) {
		(void)raw_call(SYS_close, dir); /* likewise */
	}
	return rc;
}

long quotas_lower(bool nested) {
	return lower_in(AT_FDCWD, QUOTA_DIR, nested);
}

/* The kernel allows a new procfs where another mount of one has no entry covered, as LXC makes one
 * for nested containers. */
static long lower_in_own_procfs(bool nested) {
	auto_fd tree =
		tree_new("proc", NULL, 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return tree < 0 ? -EROFS : lower_in(tree, "sys/user", nested);
}

static int quotas_enter(struct kit *k, struct err *e) {
	if (k->plan->shares_proc || (early_has_quotas(k->early) && !k->plan->inner)) {
		return 0;
	}
	long rc = quotas_lower(k->plan->inner);
	if (rc == -EROFS) {
		rc = lower_in_own_procfs(k->plan->inner);
	}
	if (rc != 0) {
		errno = (int)-rc;
		return err_host(e, rc == -EROFS ? ERR_NO_PROC : ERR_NO_NAMESPACES, "quotas",
				"cannot lower the quotas in " QUOTA_DIR);
	}
	return 0;
}

const struct layer layer_quotas = {
	.name = "quotas",
	.namespaces = true,
	.enter = quotas_enter,
};
