/* SPDX-License-Identifier: Apache-2.0 */
/* Decides about mount(2) of a nested sandbox.
 *
 * Theory.  The kernel locks the run's mounts in the mount namespace of a nested sandbox, so that
 * bind mounts, and flags and propagation of its own mounts, need no check.  A new file system holds
 * files of its own, except overlayfs: the kernel empties the directory "work" in the directory that
 * the option workdir names, without a notification for the names in it.  An overlay cannot be
 * mounted without options, and none of the file systems that a nested sandbox needs takes a path as
 * one.  So a call with options is made by a child of the guard, in the namespaces of the caller,
 * with the type and options that were checked: the caller could change its memory after a check.
 *
 * Should:   let pass what the registers show to be harmless.
 * Must not: let pass a call whose type or options matter.
 * Fails:    closed: EPERM for any other type with options. */
#include "linux/broker/domain.h"
#include "linux/broker/view.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>

/* As the kernel's copy_mount_options(). */
#define OPTIONS_MAX 4096
#define TYPE_MAX 32

/* The kernel removes an old magic number, whose bits are flags today. */
#define MAGIC 0xC0ED0000UL
#define MAGIC_MASK 0xffff0000UL

/* No new file system: another mount of one, or a change of one. */
#define NOT_NEW (MS_BIND | MS_MOVE | MS_REMOUNT | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE)

/* File systems whose options name no path. */
static const char *const harmless[] = {"devpts", "ramfs", "tmpfs"};

static bool is_harmless(const char *type) {
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
		if (streq(type, harmless[i])) {
			return true;
		}
	}
	return false;
}

static int open_namespace(const struct call *c, const char *name) {
	struct text path = {.len = 0};

	caller_text_number(&path, (uint64_t)caller_entry(c));
	caller_text_add(&path, name);
	return openat(c->b->proc, path.s, O_RDONLY | O_CLOEXEC);
}

static long mount_there(struct call *c, const char *type, const char *target, const char *options,
			unsigned long flags) {
	auto_fd userns = open_namespace(c, "/ns/user");
	auto_fd mounts = open_namespace(c, "/ns/mnt");
	auto_fd cwd = caller_fd(c, AT_FDCWD);
	const struct domain_place at = {userns, mounts, c->b->view, cwd};

	if (userns < 0 || mounts < 0 || cwd < 0) {
		return -EPERM;
	}
	if (!caller_waits(c)) {
		return -ESRCH;
	}
	return domain_call_at(&at, SYS_mount,
			      (const long[6]){domain_pointer(type), domain_pointer(target),
					      domain_pointer(type), (long)flags,
					      domain_pointer(options)});
}

long serve_mount(struct call *c) {
	static char target[PATH_MAX], options[OPTIONS_MAX]; /* too large for the guard's stack */
	char type[TYPE_MAX];
	unsigned long flags = c->args[3];

	if ((flags & MAGIC_MASK) == MAGIC) {
		flags &= ~MAGIC_MASK;
	}
	/* In the run's own user namespace no process has CAP_SYS_ADMIN. */
	if ((flags & NOT_NEW) != 0 || c->args[4] == 0 || !view_is_foreign(c->b)) {
		return call_let_pass(c);
	}
	int r = domain_is_set() ? -EPERM : caller_string(c, c->args[2], type, sizeof type);
	if (r == 0 && !is_harmless(type)) {
		r = -EPERM;
	}
	r = r != 0 ? r : caller_string(c, c->args[4], options, sizeof options);
	r = r != 0 ? r : caller_string(c, c->args[1], target, sizeof target);
	return r != 0 ? r : mount_there(c, type, target, options, flags);
}
